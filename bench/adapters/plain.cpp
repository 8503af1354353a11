// SPDX-License-Identifier: Apache-2.0
//
// The pool everybody writes first: a deque of std::function, a mutex and a condition variable, and
// a second one when the queue is to be bounded.

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "peer.hpp"

namespace {

class plain_pool {
public:
    explicit plain_pool(int workers, int capacity = std::numeric_limits<int>::max())
        : capacity_(static_cast<std::size_t>(capacity)) {
        for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { run(); });
    }
    ~plain_pool() {
        {
            std::lock_guard lock(mutex_);
            ended_ = true;
        }
        changed_.notify_all();
        for (auto& worker : workers_) worker.join();
    }
    void execute(std::function<void()> f) {
        {
            std::unique_lock lock(mutex_);
            not_full_.wait(lock, [this] { return queue_.size() < capacity_; });
            queue_.push_back(std::move(f));
        }
        changed_.notify_one();
    }
    template <class F>
    std::future<int> submit(F f) {
        auto task = std::make_shared<std::packaged_task<int()>>(std::move(f));
        auto result = task->get_future();
        execute([task] { (*task)(); });
        return result;
    }

private:
    void run() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return ended_ || !queue_.empty(); });
            if (queue_.empty()) return;
            auto next = std::move(queue_.front());
            queue_.pop_front();
            lock.unlock();
            if (bounded()) not_full_.notify_one();
            next();
            lock.lock();
        }
    }

    bool bounded() const { return capacity_ < std::numeric_limits<int>::max(); }

    const std::size_t capacity_;
    std::mutex mutex_;  // guards queue_ and ended_
    std::condition_variable changed_;
    std::condition_variable not_full_;
    std::deque<std::function<void()>> queue_;
    bool ended_ = false;
    std::vector<std::thread> workers_;
};

}  // namespace

bench::peer bench::this_peer() {
    return bench::peer("std::mutex and std::condition_variable")
        .pool<plain_pool>()
        .blocking<plain_pool>();
}
