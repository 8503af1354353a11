// SPDX-License-Identifier: Apache-2.0
#include <cadre/cadre.hpp>

#include <chrono>

#include "trust/episode.hpp"

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;

class mass final : public episode {
public:
    mass(std::mt19937& random, std::size_t tasks)
        : episode(tasks),
          queue_(static_cast<int>(random() % 4)),
          workers_(1 + static_cast<int>(random() % 3)),
          submitters_(1 + random() % 2),
          end_(static_cast<ending>(random() % 4)),
          early_(random() % 4 == 0 && end_ != ending::destructor) {}

    std::string play() override {
        {
            auto pool = std::make_unique<thread_pool_executor>(
                thread_pool_options{.core_pool_size = workers_,
                                    .maximum_pool_size = workers_,
                                    .queue = make_queue(),
                                    .rejection = block_policy{},
                                    .hooks = {.uncaught_exception = count_failures()}});
            const std::lock_guard lock(mutex_);
            pool_ = std::move(pool);
        }
        std::atomic<std::size_t> submitting = submitters_;
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < submitters_; ++i)
            threads.emplace_back([&, i] {
                const std::size_t share = tasks_.size() / submitters_;
                submit(i * share, (i + 1) * share);
                --submitting;
            });
        await_fact(
            [&] { return submitting == 0 || (early_ && tasks_.settled() >= tasks_.size() / 2); });
        explained_ = finish(*pool_, end_);
        for (auto& each : threads) each.join();
        destroy_pool();
        told_ = failures_told_;
        return {};
    }

    std::string snapshot() const override {
        const std::lock_guard lock(mutex_);
        return std::to_string(tasks_.size()) + " tasks by " + std::to_string(submitters_) +
               " threads, queue " + std::to_string(queue_) + ", ending " +
               std::to_string(static_cast<int>(end_)) + "\n" +
               (pool_ ? pool_->to_string() : "no pool");
    }

private:
    std::unique_ptr<blocking_queue<task>> make_queue() const {
        switch (queue_) {
            case 0:
                return std::make_unique<linked_blocking_queue<task>>(16384);
            case 1:
                return std::make_unique<array_blocking_queue<task>>(4096);
            default:
                return std::make_unique<linked_blocking_queue<task>>();
        }
    }

    /// Not under the mutex: the watchdog tells what it was doing if it hangs.
    void destroy_pool() {
        std::unique_ptr<thread_pool_executor> last;
        const std::lock_guard lock(mutex_);
        last = std::move(pool_);
    }
    void submit(std::size_t begin, std::size_t end) {
        for (auto i = begin; i < end; ++i) try {
                pool_->execute(i % 4096 == 7 ? tasks_.failing_task(i) : tasks_.task(i));
                tasks_.accept(i);
            } catch (const rejected_execution&) {
                for (; ++i < end;) (void)tasks_.task(i);  // refused as well: it has been shut down
            }
    }

    const int queue_;
    const int workers_;
    const std::size_t submitters_;
    const ending end_;
    const bool early_;
    mutable std::mutex mutex_;  // guards pool_ against the watchdog
    std::unique_ptr<thread_pool_executor> pool_;
};

}  // namespace

std::unique_ptr<episode> mass_episode(std::mt19937& random) {
    const std::size_t tasks = std::size_t{1} << (17 + random() % 5);
    return std::make_unique<mass>(random, tasks);
}

}  // namespace cadre::testing
