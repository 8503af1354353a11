// SPDX-License-Identifier: Apache-2.0
#include <cadre/cadre.hpp>

#include <chrono>
#include <sstream>

#include "trust/episode.hpp"

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;

/// What is drawn for a pool.
struct pool_plan {
    pool_plan(std::size_t number, std::mt19937& random);
    std::string told() const;
    std::unique_ptr<blocking_queue<task>> make_queue() const;
    rejected_execution_handler make_policy(std::atomic<std::size_t>& discarded) const;

    int queue;
    int policy;
    int core;
    int most;
    std::chrono::microseconds keep_alive;
    ending end;
    bool resizes;
    bool with_futures;
    bool remove_on_cancel;
    bool fails;
    std::size_t tasks;
};

class any_pool final : public episode {
public:
    explicit any_pool(const pool_plan& plan, unsigned seed)
        : episode(plan.tasks), random_(seed), plan_(plan) {}

    std::string play() override;
    std::string snapshot() const override {
        const std::lock_guard lock(mutex_);
        return plan_.told() + (pool_ ? "\n" + pool_->to_string() : "\nno pool");
    }

private:
    using given = std::vector<std::pair<std::size_t, future<void>>>;
    void submit(std::size_t begin, std::size_t end, unsigned seed, given& kept);
    void disturb(unsigned long seed);
    /// Not under the mutex: the watchdog tells what it was doing if it hangs.
    void destroy_pool() {
        std::unique_ptr<thread_pool_executor> last;
        const std::lock_guard lock(mutex_);
        last = std::move(pool_);
    }

    std::mt19937 random_;
    const pool_plan plan_;
    std::atomic<std::size_t> discarded_ = 0;
    std::atomic<bool> submitted_ = false;
    mutable std::mutex mutex_;  // guards pool_ against the watchdog
    std::unique_ptr<thread_pool_executor> pool_;
};

pool_plan::pool_plan(std::size_t number, std::mt19937& random)
    : queue(static_cast<int>(number % 9)),
      policy(static_cast<int>(number % 5)),
      core(static_cast<int>(random() % 3)),
      most(core + 1 + static_cast<int>(random() % 3)),
      keep_alive(random() % 200),
      end(static_cast<ending>(random() % 4)),
      resizes(random() % 2 == 0),
      with_futures(random() % 4 == 0),
      remove_on_cancel(random() % 2 == 0),
      fails(random() % 2 == 0),
      tasks(std::size_t{2000} << random() % 5) {
    // A queue that never has a place: each refusal takes a thousand looks.
    if (policy == 3 && (queue == 3 || queue == 4)) tasks = 500;
}

std::string pool_plan::told() const {
    static constexpr const char* queues[] = {"linked",      "array",       "array, fair",
                                             "synchronous", "synchronous", "priority",
                                             "deque",       "transfer",    "bounded linked"};
    static constexpr const char* policies[] = {"abort", "caller runs", "discard", "discard oldest",
                                               "block"};
    std::ostringstream out;
    out << tasks << " tasks, queue " << queues[queue] << ", policy " << policies[policy]
        << ", core " << core << " of " << most << ", keep-alive " << keep_alive.count()
        << " us, ending " << static_cast<int>(end) << (resizes ? ", resized" : "")
        << (with_futures ? ", futures" : "") << (fails ? ", some throw" : "");
    return out.str();
}

std::unique_ptr<blocking_queue<task>> pool_plan::make_queue() const {
    switch (queue) {
        case 0:
            return std::make_unique<linked_blocking_queue<task>>();
        case 1:
            return std::make_unique<array_blocking_queue<task>>(64);
        case 2:
            return std::make_unique<array_blocking_queue<task>>(64, true);
        case 3:
            return std::make_unique<synchronous_queue<task>>();
        case 4:
            return std::make_unique<synchronous_queue<task>>(true);
        case 5:
            return std::make_unique<priority_blocking_queue<task>>();
        case 6:
            return std::make_unique<linked_blocking_deque<task>>(64);
        case 7:
            return std::make_unique<linked_transfer_queue<task>>();
        default:
            return std::make_unique<linked_blocking_queue<task>>(1000);
    }
}

/// The policy itself, and how many tasks it dropped.
template <class Policy>
rejected_execution_handler counted(Policy policy, std::atomic<std::size_t>& discarded) {
    return [policy, &discarded](task t, thread_pool_executor& pool) {
        struct at_the_end {
            std::atomic<std::size_t>& sum;
            const std::size_t before = ledger::dropped_here();
            ~at_the_end() { sum += ledger::dropped_here() - before; }
        } const count{discarded};
        policy(std::move(t), pool);
    };
}

rejected_execution_handler pool_plan::make_policy(std::atomic<std::size_t>& discarded) const {
    switch (policy) {
        case 0:
            return abort_policy{};
        case 1:
            return counted(caller_runs_policy{}, discarded);
        case 2:
            return counted(discard_policy{}, discarded);
        case 3:
            return counted(discard_oldest_policy{}, discarded);
        default:
            return block_policy{};
    }
}

/// Gives tasks to the pool; cancels or removes some of those it gave.
void any_pool::submit(std::size_t begin, std::size_t end, unsigned seed, given& kept) {
    std::mt19937 random(seed);
    for (auto i = begin; i < end; ++i) {
        try {
            auto next = plan_.fails && random() % 16 == 0 ? tasks_.failing_task(i) : tasks_.task(i);
            if (plan_.with_futures) {
                auto result = pool_->submit(std::move(next));
                tasks_.accept(i);
                kept.emplace_back(i, std::move(result));
            } else {
                pool_->execute(std::move(next));
                tasks_.accept(i);
            }
        } catch (const rejected_execution&) {
        } catch (const ledger::failure&) {  // the caller ran it
            tasks_.accept(i);
            ++failures_told_;
        }
        if (!kept.empty() && random() % 8 == 0) {
            auto& [number, result] = kept[random() % kept.size()];
            if (random() % 4 == 0 ? pool_->remove(result) : result.cancel(random() % 2 == 0))
                tasks_.call_off(number);
        }
    }
}

void any_pool::disturb(unsigned long seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    while (!submitted_ && plan_.resizes) {
        const int core = static_cast<int>(random() % 4);
        pool_->resize(core, core + 1);
        pool_->set_keep_alive(std::chrono::microseconds(1 + random() % 50));
        if (random() % 4 == 0) pool_->prestart_all_core_threads();
        if (random() % 8 == 0) pool_->purge();
        if (random() % 64 == 0) (void)pool_->snapshot();
        // A pause, for the others are to get on between two of these.
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
    }
}

std::string any_pool::play() {
    {
        const std::lock_guard lock(mutex_);
        pool_ = std::make_unique<thread_pool_executor>(
            thread_pool_options{.core_pool_size = plan_.core,
                                .maximum_pool_size = plan_.most,
                                .keep_alive = plan_.keep_alive,
                                .queue = plan_.make_queue(),
                                .rejection = plan_.make_policy(discarded_),
                                .hooks = {.uncaught_exception = count_failures()},
                                .remove_on_cancel = plan_.remove_on_cancel});
    }
    const std::size_t half = plan_.tasks / 2;
    std::atomic<int> submitting = 2;
    given kept[2];
    const auto side = [&](std::size_t from, std::size_t to, unsigned seed, given& mine) {
        submit(from, to, seed, mine);
        --submitting;
    };
    std::thread one([&, seed = random_()] { side(0, half, unsigned(seed), kept[0]); });
    std::thread other([&, seed = random_()] { side(half, plan_.tasks, unsigned(seed), kept[1]); });
    std::thread disturber([this, seed = random_()] { disturb(seed); });
    // Now and then the end comes while they still submit.
    const bool early = random_() % 3 == 0 && plan_.end != ending::destructor;
    await_fact([&] { return submitting == 0 || (early && tasks_.settled() >= plan_.tasks / 4); });
    explained_ = finish(*pool_, plan_.end);
    submitted_ = true;
    disturber.join();
    one.join();
    other.join();
    destroy_pool();
    explained_ += discarded_;
    if (!plan_.with_futures) told_ = failures_told_;
    for (const auto& side_kept : kept)
        for (const auto& [number, result] : side_kept)
            if (auto wrong = check(number, result); !wrong.empty()) return wrong;
    return {};
}

}  // namespace

std::unique_ptr<episode> pool_episode(std::size_t number, std::mt19937& random) {
    const auto seed = static_cast<unsigned>(random());
    return std::make_unique<any_pool>(pool_plan(number, random), seed);
}

}  // namespace cadre::testing
