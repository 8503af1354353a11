// SPDX-License-Identifier: Apache-2.0
//
// Pools that are changed in all directions while they are full of work: every task that was
// accepted runs once, none that was refused runs, and the pool ends as it was told last.

#include <gtest/gtest.h>

#include <random>

#include "support/pools.hpp"
#include <cadre/errors.hpp>
#include <cadre/manage/pool_registry.hpp>

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int changes_each = 500;
#else
constexpr int changes_each = 2000;
#endif
constexpr int changers = 2;
constexpr int submitters = 2;

/// Who was accepted, and who ran how often.
class ledger {
public:
    explicit ledger(std::size_t most) : ran_(most) {}
    /// False if there is no page left.
    bool submit(executor& pool) {
        const auto page = next_.fetch_add(1);
        if (page >= ran_.size()) return false;
        try {
            pool.execute([this, page] { ++ran_[page]; });
            ++accepted_;
        } catch (const rejected_execution&) {
            refused_pages_.fetch_add(1);
            ran_[page] += 1000;
        }
        return true;
    }
    std::int64_t accepted() const { return accepted_; }
    void balance() const {
        std::int64_t once = 0;
        std::int64_t refused = 0;
        for (const auto& runs : ran_) {
            if (runs == 1)
                ++once;
            else if (runs == 1000)
                ++refused;
            else if (runs != 0)
                ADD_FAILURE() << "a task has the mark " << runs;
        }
        EXPECT_EQ(once, accepted_);
        EXPECT_EQ(refused, refused_pages_);
    }

private:
    std::vector<std::atomic<int>> ran_;
    std::atomic<std::size_t> next_ = 0;
    std::atomic<std::int64_t> accepted_ = 0;
    std::atomic<std::int64_t> refused_pages_ = 0;
};

pool_settings any_settings(std::mt19937& random) {
    const int core = static_cast<int>(random() % 5);
    const int maximum = std::max(1, core + static_cast<int>(random() % 5));
    const char* const policies[] = {"abort", "caller_runs", "block"};
    return {.core_pool_size = core,
            .maximum_pool_size = maximum,
            .keep_alive = 1ms * (1 + random() % 3),
            .allow_core_thread_time_out = random() % 2 == 0,
            .queue_capacity = 1 + random() % 64,
            .rejection = policies[random() % 3],
            .prestart_core_threads = random() % 2 == 0};
}

TEST(resize_under_load, loses_and_doubles_nothing_and_ends_at_the_last_settings) {
    pool_registry registry({.history_size = 16});
    std::atomic<bool> enough = false;
    const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 1}});
    const auto executor = pool->executor();
    ledger book(4'000'000);
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < submitters; ++i)
            threads.emplace_back([&] {
                while (!enough && book.submit(*executor)) {}
            });
        {
            std::vector<std::jthread> changing;
            for (int i = 0; i < changers; ++i)
                changing.emplace_back([&, i] {
                    std::mt19937 random(static_cast<unsigned>(i));
                    for (int n = 0; n < changes_each; ++n) pool->reconfigure(any_settings(random));
                });
        }
        enough = true;
    }
    const pool_settings last{.core_pool_size = 2,
                             .maximum_pool_size = 3,
                             .keep_alive = 1ms,
                             .allow_core_thread_time_out = false,
                             .queue_capacity = 7,
                             .rejection = "abort",
                             .prestart_core_threads = true};
    pool->reconfigure(last);
    EXPECT_TRUE(testing::eventually([&] {
        const auto now = executor->snapshot();
        return now.queue_size == 0 && now.active_count == 0 && now.pool_size == 2;
    }));
    EXPECT_EQ(pool->settings().core_pool_size, 2);
    EXPECT_EQ(pool->settings().queue_capacity, 7u);
    registry.remove("p");
    executor->close();
    book.balance();
    EXPECT_GT(book.accepted(), 0);
}

}  // namespace
}  // namespace cadre::manage
