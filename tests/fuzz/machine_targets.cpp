// SPDX-License-Identifier: Apache-2.0
//
// Bytes are calls. Queues and a pool with one worker, which is held while the calls are made, do
// what a model of a few lines does.

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <semaphore>
#include <vector>

#include "fuzz/scheduler_machine.hpp"
#include "fuzz/targets.hpp"
#include <cadre/cadre.hpp>

namespace cadre::fuzz {
namespace {

/// Elements as they leave, the next one first.
struct queue_model {
    std::vector<int> items;
    std::size_t capacity;
    bool sorted;

    bool offer(int x) {
        if (items.size() >= capacity) return false;
        const auto place = sorted ? std::upper_bound(items.begin(), items.end(), x) : items.end();
        items.insert(place, x);
        return true;
    }
    std::optional<int> poll() {
        if (items.empty()) return {};
        const int first = items.front();
        items.erase(items.begin());
        return first;
    }
};

std::unique_ptr<blocking_queue<int>> make_queue(unsigned kind, std::size_t capacity) {
    switch (kind) {
        case 0:
            return std::make_unique<linked_blocking_queue<int>>(static_cast<int>(capacity));
        case 1:
            return std::make_unique<array_blocking_queue<int>>(static_cast<int>(capacity));
        case 2:
            return std::make_unique<linked_blocking_deque<int>>(static_cast<int>(capacity));
        case 3:
            return std::make_unique<linked_transfer_queue<int>>();
        default:
            return std::make_unique<priority_blocking_queue<int>>();
    }
}

void play_queues(std::string_view input) {
    choices from(input);
    const unsigned kind = from.below(5);
    const bool bounded = kind < 3;
    const std::size_t capacity = 1 + from.below(20);
    const auto queue = make_queue(kind, capacity);
    queue_model model{{}, bounded ? capacity : std::string::npos, kind == 4};
    while (!from.empty()) {
        const unsigned call = from.below(8);
        const int x = static_cast<int>(from.byte());
        const auto wanted = [x](int i) { return i % 7 == x % 7; };
        std::vector<int> got;
        switch (call) {
            case 0:
            case 1:
                require(queue->offer(x) == model.offer(x), "offer");
                break;
            case 2:
                require(queue->poll() == model.poll(), "poll");
                break;
            case 3: {
                const auto most = static_cast<std::size_t>(x % 5);
                require(queue->drain_to(got, most) == got.size(), "drain_to: count");
                for (const int i : got) require(model.poll() == i, "drain_to");
                require(got.size() == most || model.items.empty(), "drain_to: too few");
                break;
            }
            case 4:
                require(queue->remove_if(wanted) == std::erase_if(model.items, wanted),
                        "remove_if");
                break;
            case 5:
                require(queue->contains(x) == (std::find(model.items.begin(), model.items.end(),
                                                         x) != model.items.end()),
                        "contains");
                break;
            case 6:
                if (x == 0) {
                    queue->clear();
                    model.items.clear();
                }
                if (auto* linked = dynamic_cast<linked_blocking_queue<int>*>(queue.get())) {
                    linked->set_capacity(1 + x % 30);
                    model.capacity = 1 + static_cast<std::size_t>(x % 30);
                }
                break;
            default: {
                queue->for_each([&](const int& i) { got.push_back(i); });
                std::sort(got.begin(), got.end());
                auto all = model.items;
                std::sort(all.begin(), all.end());
                require(got == all, "for_each");
            }
        }
        require(queue->size() == model.items.size(), "size");
        require(queue->empty() == model.items.empty(), "empty");
        const auto peeked = queue->peek();
        require(peeked.has_value() != model.items.empty(), "peek");
        require(!peeked || *peeked == model.items.front(), "peek: another");
        if (bounded)
            require(queue->remaining_capacity() == (model.items.size() >= model.capacity
                                                        ? 0
                                                        : model.capacity - model.items.size()),
                    "remaining_capacity");
    }
    while (const auto next = model.poll()) require(queue->poll() == next, "what is left");
    require(!queue->poll(), "something is left");
}

/// A pool of one worker that a gate holds, and the list of what it should do.
class pool_machine {
public:
    explicit pool_machine(choices& from)
        : policy_(from.below(4)), capacity_(1 + from.below(6)), removes_(from.below(2) == 0) {
        auto queue = std::make_unique<linked_blocking_queue<task>>(static_cast<int>(capacity_));
        queue_ = queue.get();
        rejected_execution_handler policies[] = {abort_policy{}, discard_policy{},
                                                 discard_oldest_policy{}, caller_runs_policy{}};
        pool_ = std::make_unique<thread_pool_executor>(
            thread_pool_options{.core_pool_size = 1,
                                .maximum_pool_size = 1,
                                .queue = std::move(queue),
                                .rejection = std::move(policies[policy_]),
                                .remove_on_cancel = removes_});
        hold();
    }
    ~pool_machine() { gate_.release(); }

    void call(choices& from) {
        const unsigned which = from.below(12);
        const std::size_t one = results_.empty() ? 0 : from.byte() % results_.size();
        if (which < 5) {
            submit();
        } else if (results_.empty() || which == 5) {
            go_on();
        } else if (which == 6) {
            const bool waits = is_queued(one) && !cancelled_[one];
            require(results_[one].cancel(from.below(2) == 0) == waits, "cancel");
            if (waits) cancel(one);
        } else if (which == 7) {
            const bool waits = is_queued(one);
            require(pool_->remove(results_[one]) == waits, "remove");
            if (waits) {
                std::erase(waiting_, one);
                cancelled_[one] = true;
            }
        } else if (which == 8) {
            pool_->purge();
            std::erase_if(waiting_, [&](std::size_t i) { return cancelled_[i]; });
        } else if (which == 9) {
            capacity_ = 1 + from.below(8);
            queue_->set_capacity(static_cast<int>(capacity_));
        } else if (which == 10 && from.below(8) == 0) {
            pool_->shutdown();
            shut_ = true;
        } else if (which == 11 && from.below(8) == 0) {
            stop();
        }
        check();
    }

    void finish() {
        pool_->shutdown();
        shut_ = true;
        go_on();
        pool_->close();
        check();
        require(pool_->is_terminated() && pool_->pool_size() == 0, "it did not end");
        require(pool_->task_count() == pool_->completed_task_count(), "the counts differ");
    }

private:
    void hold() {
        pool_->execute([this] {
            held_.release();
            gate_.acquire();
        });
        held_.acquire();
    }
    void submit() {
        const std::size_t id = results_.size();
        expect_submitted(id);
        try {
            results_.push_back(pool_->submit([this, id] {
                const std::lock_guard lock(mutex_);
                trace_.push_back(id);
            }));
            require(!refused_, "a task was taken that should have been refused");
        } catch (const rejected_execution&) {
            require(refused_, "a task was refused that should have been taken");
            cancelled_.pop_back();
        }
    }
    /// What the model does with a task.
    void expect_submitted(std::size_t id) {
        refused_ = false;
        cancelled_.push_back(false);
        if (!shut_ && waiting_.size() < capacity_) {
            waiting_.push_back(id);
            return;
        }
        switch (policy_) {
            case 0:
                refused_ = true;
                return;
            case 1:
                cancelled_[id] = true;
                return;
            case 2:
                if (shut_) {
                    cancelled_[id] = true;
                    return;
                }
                while (waiting_.size() >= capacity_) {  // more than one if it was made smaller
                    cancelled_[waiting_.front()] = true;
                    waiting_.pop_front();
                }
                waiting_.push_back(id);
                return;
            default:
                if (shut_)
                    cancelled_[id] = true;
                else
                    expected_.push_back(id);
        }
    }
    /// Lets the worker run all that waits, and holds it again.
    void go_on() {
        for (const auto id : waiting_)
            if (!cancelled_[id]) expected_.push_back(id);
        for (const auto id : waiting_) ran_.push_back(id);
        waiting_.clear();
        if (stopped_) return;
        gate_.release();
        if (shut_) {
            pool_->await_termination(std::chrono::minutes(10));
            stopped_ = true;
            return;
        }
        for (const auto id : ran_) results_[id].wait();
        ran_.clear();
        while (!pool_->queue().empty()) std::this_thread::yield();  // cancelled ones, at the end
        hold();
    }
    void stop() {
        if (stopped_) return;
        shut_ = true;
        const auto returned = pool_->shutdown_now();
        require(returned.size() == waiting_.size(), "shutdown_now: count");
        for (const auto id : waiting_) cancelled_[id] = true;
        waiting_.clear();
    }
    void cancel(std::size_t id) {
        cancelled_[id] = true;
        if (removes_) std::erase(waiting_, id);
    }
    bool is_queued(std::size_t id) const {
        return std::find(waiting_.begin(), waiting_.end(), id) != waiting_.end();
    }
    void check() {
        require(pool_->queue().size() == waiting_.size(), "the size of the queue");
        for (std::size_t i = 0; i < results_.size(); ++i) {
            require(results_[i].is_cancelled() == cancelled_[i], "is_cancelled");
            require(results_[i].is_done() == (cancelled_[i] || !is_queued(i)), "is_done");
        }
        const std::lock_guard lock(mutex_);
        require(trace_ == expected_, "the order of runs");
    }

    const unsigned policy_;
    std::size_t capacity_;
    const bool removes_;
    linked_blocking_queue<task>* queue_ = nullptr;
    std::counting_semaphore<> gate_{0};
    std::counting_semaphore<> held_{0};

    std::deque<std::size_t> waiting_;
    std::vector<std::size_t> ran_;
    std::vector<std::size_t> expected_;
    std::vector<bool> cancelled_;
    bool refused_ = false;
    bool shut_ = false;
    bool stopped_ = false;

    std::mutex mutex_;  // guards trace_
    std::vector<std::size_t> trace_;
    std::vector<future<void>> results_;
    std::unique_ptr<thread_pool_executor> pool_;  // the last: its tasks use the others
};

void play_pool(std::string_view input) {
    choices from(input);
    pool_machine machine(from);
    for (int calls = 0; calls < 100 && !from.empty(); ++calls) machine.call(from);
    machine.finish();
}

constexpr target all[] = {
    {"queues", play_queues}, {"pool", play_pool}, {"scheduler", play_scheduler}};

}  // namespace

std::span<const target> machine_targets() { return all; }

}  // namespace cadre::fuzz
