// SPDX-License-Identifier: Apache-2.0
//
// Strands on a pool that refuses, drops and shuts down under them: what was accepted runs or is
// cancelled, each key alone and in order, and nothing is left.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <cadre/strand.hpp>
#include <cadre/thread_pool_executor.hpp>

#include "support/ledger.hpp"
#include "support/race.hpp"
#include "support/watched.hpp"

namespace cadre::testing {
namespace {

constexpr int submitters = 3;
constexpr int keys = 4;

struct per_key {
    std::atomic<int> inside = 0;
    int last[submitters] = {-1, -1, -1};  // guarded by the strand
};

constexpr int share = 400;  // tasks of each submitter

struct lane_books {
    per_key lanes[keys];
    ledger tasks{submitters * share};
    std::atomic<int> given = 0;
    std::atomic<int> wrong = 0;
};

/// A task of the ledger that sees whether it is alone and in order.
auto job(lane_books& b, int submitter, int number) {
    return [&b, submitter, number,
            own = b.tasks.task(static_cast<std::size_t>(submitter * share + number))]() mutable {
        per_key& lane = b.lanes[number % keys];
        if (++lane.inside != 1 || lane.last[submitter] >= number) ++b.wrong;
        lane.last[submitter] = number;
        own();
        --lane.inside;
        if (number % 50 == 49) throw number;
    };
}

void submit_all(lane_books& b, keyed_strands<int>& lanes, int submitter) {
    for (int i = 0; i < share; ++i) {
        const auto accept = [&] {
            b.tasks.accept(static_cast<std::size_t>(submitter * share + i));
        };
        ++b.given;
        try {
            lanes.execute(i % keys, job(b, submitter, i));
            accept();
        } catch (const rejected_execution&) {
        } catch (int) {
            accept();  // the caller ran it
        }
    }
}

void play(rejected_execution_handler policy, bool stop_meanwhile) {
    lane_books b;
    {
        thread_pool_executor pool(
            {.core_pool_size = 3,
             .queue = std::make_unique<array_blocking_queue<task>>(16),
             .rejection = std::move(policy),
             .hooks = {.uncaught_exception = [](const auto&, const auto&) {}}});
        const watched_scope watched_pool(pool);
        keyed_strands<int> lanes(pool);
        std::vector<std::thread> threads;
        for (int s = 0; s < submitters; ++s)
            threads.emplace_back([&, s] { submit_all(b, lanes, s); });
        if (stop_meanwhile) {
            while (b.given < 300) std::this_thread::yield();
            pool.shutdown_now();
        }
        for (auto& each : threads) each.join();
        pool.close();
        EXPECT_EQ(lanes.active_keys(), 0u);
    }
    EXPECT_EQ(b.wrong, 0);
    EXPECT_EQ(b.tasks.close().error, "");
}

TEST(strand_stress, loses_nothing_and_keeps_the_order_whatever_the_pool_does) {
    for (rounds left(200); left.another();) {
        const bool stop_meanwhile = left.number() % 2 == 0;
        switch (left.number() / 2 % 4) {
            case 0:
                play(abort_policy{}, stop_meanwhile);
                break;
            case 1:
                play(caller_runs_policy{}, stop_meanwhile);
                break;
            case 2:
                play(discard_oldest_policy{}, stop_meanwhile);
                break;
            default:
                play(block_policy{}, stop_meanwhile);
        }
    }
}

}  // namespace
}  // namespace cadre::testing
