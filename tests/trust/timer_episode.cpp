// SPDX-License-Identifier: Apache-2.0
#include <cadre/cadre.hpp>

#include <chrono>

#include "trust/episode.hpp"

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;

class timers final : public episode {
public:
    timers(std::mt19937& random, std::size_t tasks)
        : episode(tasks),
          seed_(static_cast<unsigned>(random())),
          core_(static_cast<int>(random() % 3)),
          runs_delayed_(random() % 2 == 0),
          remove_on_cancel_(random() % 2 == 0),
          end_(static_cast<ending>(random() % 4)),
          early_(random() % 3 == 0 && end_ != ending::destructor) {}

    std::string play() override {
        {
            auto pool = std::make_unique<scheduled_thread_pool_executor>(scheduled_pool_options{
                .core_pool_size = core_,
                .keep_alive = 100us,
                .remove_on_cancel = remove_on_cancel_,
                .execute_existing_delayed_tasks_after_shutdown = runs_delayed_});
            const std::lock_guard lock(mutex_);
            pool_ = std::move(pool);
        }
        const auto periodic = pool_->schedule_at_fixed_rate([] {}, 0s, 50us);
        given kept[2];
        std::atomic<int> submitting = 2;
        const std::size_t half = tasks_.size() / 2;
        std::thread one([&] {
            submit(0, half, seed_, kept[0]);
            --submitting;
        });
        std::thread other([&] {
            submit(half, tasks_.size(), seed_ + 1, kept[1]);
            --submitting;
        });
        await_fact([&] {
            if (remove_on_cancel_) pool_->resize(1 + static_cast<int>(++resized_ % 3), 4);
            return submitting == 0 || (early_ && tasks_.settled() >= tasks_.size() / 4);
        });
        explained_ = finish(*pool_, end_);
        one.join();
        other.join();
        destroy_pool();
        if (!periodic.is_done()) return "the periodic task is not done after the end";
        for (const auto& side : kept)
            for (const auto& [number, result] : side) {
                if (auto wrong = check(number, result); !wrong.empty()) return wrong;
                if (!tasks_.was_called_off(number) && result.is_cancelled()) ++explained_;
            }
        return {};
    }

    std::string snapshot() const override {
        const std::lock_guard lock(mutex_);
        return std::to_string(tasks_.size()) + " timers, core " + std::to_string(core_) +
               ", ending " + std::to_string(static_cast<int>(end_)) + "\n" +
               (pool_ ? pool_->to_string() : "no pool");
    }

private:
    using given = std::vector<std::pair<std::size_t, scheduled_future<void>>>;

    /// Not under the mutex: the watchdog tells what it was doing if it hangs.
    void destroy_pool() {
        std::unique_ptr<scheduled_thread_pool_executor> last;
        const std::lock_guard lock(mutex_);
        last = std::move(pool_);
    }
    void submit(std::size_t begin, std::size_t end, unsigned seed, given& kept) {
        std::mt19937 random(seed);
        for (auto i = begin; i < end; ++i) {
            try {
                if (random() % 4 == 0) {
                    pool_->execute(tasks_.task(i));
                    tasks_.accept(i);
                } else {
                    auto next = random() % 16 == 0 ? tasks_.failing_task(i) : tasks_.task(i);
                    auto result = pool_->schedule(std::move(next), delay(random));
                    tasks_.accept(i);
                    kept.emplace_back(i, std::move(result));
                }
            } catch (const rejected_execution&) {}
            if (!kept.empty() && random() % 8 == 0) {
                auto& [number, result] = kept[random() % kept.size()];
                if (random() % 4 == 0 ? pool_->remove(result) : result.cancel(random() % 2 == 0))
                    tasks_.call_off(number);
            }
        }
    }
    /// Due at once, soon, or at an end that is not waited for.
    std::chrono::nanoseconds delay(std::mt19937& random) const {
        const bool is_waited_for = runs_delayed_ && end_ != ending::shutdown_now;
        if (random() % 16 == 0) return is_waited_for ? 5ms : 1h;
        return random() % 2 * std::chrono::microseconds(random() % 300);
    }

    const unsigned seed_;
    const int core_;
    const bool runs_delayed_;
    const bool remove_on_cancel_;
    const ending end_;
    const bool early_;
    unsigned resized_ = 0;
    mutable std::mutex mutex_;  // guards pool_ against the watchdog
    std::unique_ptr<scheduled_thread_pool_executor> pool_;
};

}  // namespace

std::unique_ptr<episode> timer_episode(std::mt19937& random) {
    const std::size_t tasks = std::size_t{2000} << random() % 5;
    return std::make_unique<timers>(random, tasks);
}

}  // namespace cadre::testing
