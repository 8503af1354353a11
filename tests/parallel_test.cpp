// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <forward_list>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <numeric>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/held_task.hpp"
#include "support/manual_executor.hpp"
#include "support/pools.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"
#include <cadre/executors.hpp>
#include <cadre/parallel.hpp>

namespace cadre::testing {
namespace {

std::vector<int> counted_to(int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

TEST(parallel_for, visits_every_element_once) {
    const auto pool = executors::fixed_thread_pool(3);
    for (const int count : {0, 1, 2, 7, 100, 1001}) {
        for (const std::size_t chunk : {0u, 1u, 7u, 5000u}) {
            std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
            parallel_for(*pool, visits, [](std::atomic<int>& n) { ++n; },
                         {.chunk = chunk, .concurrency = 4});
            for (const auto& n : visits) EXPECT_EQ(n, 1) << count << " in chunks of " << chunk;
        }
    }
}

TEST(parallel_for, runs_over_numbers) {
    std::atomic<long> sum = 0;
    std::atomic<int> bytes = 0;
    const auto pool = executors::fixed_thread_pool(2);
    parallel_for(*pool, -5, 1000, [&](int i) { sum += i; });
    EXPECT_EQ(sum, 499'485);
    parallel_for(*pool, 3, 3, [&](int) { ++sum; });
    parallel_for(*pool, 3, -3, [&](int) { ++sum; });
    EXPECT_EQ(sum, 499'485);
    parallel_for(*pool, std::int8_t(-128), std::int8_t(127), [&](std::int8_t) { ++bytes; });
    EXPECT_EQ(bytes, 255);
}

TEST(parallel_for, counts_in_the_common_type_of_its_ends) {
    std::atomic<std::size_t> sum = 0;
    std::atomic<int> visits = 0;
    const auto pool = executors::fixed_thread_pool(1);
    const std::vector<int> elements(10);
    parallel_for(*pool, 0, elements.size(), [&](auto i) {
        static_assert(std::is_same_v<decltype(i), std::size_t>);
        sum += i;
    });
    EXPECT_EQ(sum, 45u);

    parallel_for(*pool, -2, elements.size(), [&](int i) { visits += i < 10 ? 1 : 100; });
    EXPECT_EQ(visits, 12);
    parallel_for(*pool, 10u, -1, [&](int) { ++visits; });
    EXPECT_EQ(visits, 12);

    const std::size_t beyond_int = (std::size_t{1} << 32) + 5;  // 5, were it cut
    std::stop_source enough;
    EXPECT_THROW(parallel_for(*pool, 0, beyond_int,
                              [&](std::size_t i) {
                                  if (i > 5) enough.request_stop();
                              },
                              {.concurrency = 1, .stop = enough.get_token()}),
                 cancellation);
}

// The end of the last chunk, counted in whole chunks, would be beyond the largest number.
TEST(parallel_for, ends_at_the_largest_number) {
    const auto pool = executors::fixed_thread_pool(1);
    const auto end = std::numeric_limits<std::size_t>::max();
    std::atomic<bool> beyond = false;
    std::atomic<std::thread::id> had_the_last = std::thread::id();
    std::stop_source stop;
    int more = 10'000;
    const auto visit = [&](std::size_t number) {
        if (number == end - 1)
            had_the_last = std::this_thread::get_id();
        else if (had_the_last.load() == std::this_thread::get_id())
            beyond = true;
        else if (had_the_last.load() != std::thread::id() && (beyond || --more == 0))
            stop.request_stop();
    };
    EXPECT_THROW(parallel_for(*pool, std::size_t{0}, end, visit,
                              {.chunk = end - 1, .concurrency = 2, .stop = stop.get_token()}),
                 cancellation);
    EXPECT_FALSE(beyond);
}

TEST(parallel_for, is_spread_over_the_threads) {
    std::atomic<int> here = 0;
    const auto pool = executors::fixed_thread_pool(2);
    const auto meet = [&](int) {  // none of the three can go on alone
        ++here;
        EXPECT_TRUE(eventually([&] { return here == 3; }));
    };
    parallel_for(*pool, counted_to(3), meet, {.chunk = 1, .concurrency = 3});
    EXPECT_EQ(here, 3);
}

TEST(parallel_for, has_no_more_threads_at_work_than_it_may) {
    std::atomic<int> now = 0;
    std::atomic<int> most = 0;
    const auto pool = executors::fixed_thread_pool(4);
    const auto count = [&](int) {
        const int seen = ++now;
        if (seen > most) most = seen;
        --now;
    };
    parallel_for(*pool, counted_to(1000), count, {.chunk = 1, .concurrency = 2});
    EXPECT_LE(most, 2);
    parallel_for(*pool, counted_to(10), count, {.concurrency = 1});
    pool->close();
    EXPECT_EQ(pool->completed_task_count(), 1);
}

TEST(parallel_for, needs_no_thread_but_the_callers) {
    refusing_executor refuses;
    manual_executor never_runs;
    for (executor* where : std::initializer_list<executor*>{&refuses, &never_runs}) {
        int visits = 0;
        parallel_for(*where, counted_to(100), [&](int) { ++visits; }, {.concurrency = 4});
        EXPECT_EQ(visits, 100);
    }
    never_runs.run_all();  // the helpers find the loop closed
}

TEST(parallel_for, may_be_nested_in_a_pool_whose_threads_are_all_busy) {
    std::atomic<int> visits = 0;
    const auto pool = executors::fixed_thread_pool(2);
    const auto outer = [&](int) {
        parallel_for(*pool, counted_to(50), [&](int) { ++visits; }, {.concurrency = 4});
    };
    auto all = pool->submit(
        [&] { parallel_for(*pool, counted_to(20), outer, {.chunk = 1, .concurrency = 4}); });
    all.get();
    EXPECT_EQ(visits, 1000);
}

TEST(parallel_for, runs_in_the_caller_if_the_policy_says_so) {
    thread_pool_executor pool(
        {.core_pool_size = 1, .queue = no_room(), .rejection = caller_runs_policy{}});
    const held_task occupies_the_worker(pool);
    int visits = 0;
    parallel_for(pool, counted_to(100), [&](int) { ++visits; }, {.chunk = 3, .concurrency = 4});
    EXPECT_EQ(visits, 100);
}

TEST(parallel_for, throws_the_first_exception_and_starts_nothing_after_it) {
    const auto pool = executors::fixed_thread_pool(2);
    for (const int threads : {1, 3}) {
        std::atomic<int> visits = 0;
        const auto fail_at_three = [&](int i) {
            ++visits;
            if (i == 3) throw std::out_of_range("three");
        };
        EXPECT_THROW(parallel_for(*pool, counted_to(1000), fail_at_three,
                                  {.chunk = 1, .concurrency = threads}),
                     std::out_of_range);
        EXPECT_EQ(threads == 1 ? visits.load() : 4, 4);
    }
}

TEST(parallel_for, throws_what_was_thrown_on_another_thread) {
    gate thrown;
    const auto pool = executors::fixed_thread_pool(1);
    const auto caller = std::this_thread::get_id();
    const auto throw_elsewhere = [&](int) {
        if (std::this_thread::get_id() == caller) {
            thrown.wait();
        } else {
            thrown.open();
            throw std::out_of_range("elsewhere");
        }
    };
    EXPECT_THROW(
        parallel_for(*pool, counted_to(2), throw_elsewhere, {.chunk = 1, .concurrency = 2}),
        std::out_of_range);
}

/// Where the first element is visited, all others are offered to a helper first.
TEST(parallel_for, throws_what_failed_first_and_visits_nothing_after_it_in_any_chunk) {
    for (const bool first_fails_too : {false, true}) {
        manual_executor helpers;
        std::vector<int> visited;
        const auto fails = [&](int i) {
            visited.push_back(i);
            if (i == 0) helpers.run_all();
            if (i == 2) throw std::out_of_range("in the second chunk");
            if (first_fails_too) throw std::length_error("in the first chunk");
        };
        EXPECT_THROW(parallel_for(helpers, 0, 4, fails, {.chunk = 2, .concurrency = 2}),
                     std::out_of_range);
        EXPECT_EQ(visited, (std::vector<int>{0, 2}));
    }
}

TEST(parallel_for, ends_early_when_its_token_is_stopped) {
    const auto pool = executors::fixed_thread_pool(2);
    for (const int threads : {1, 3}) {
        std::stop_source stop;
        std::atomic<int> visits = 0;
        const auto stop_at_ten = [&](int i) {
            if (i >= 10) {  // when those before, which others may have taken, have been visited
                EXPECT_TRUE(eventually([&] { return visits >= 10; }));
                stop.request_stop();
            }
            ++visits;
        };
        EXPECT_THROW(parallel_for(*pool, counted_to(1000), stop_at_ten,
                                  {.chunk = 1, .concurrency = threads, .stop = stop.get_token()}),
                     cancellation);
        EXPECT_GE(visits, 11);
        EXPECT_LE(visits, 10 + threads);
    }
}

TEST(parallel_for, ends_within_a_chunk_when_its_token_is_stopped_or_a_call_throws) {
    const auto pool = executors::fixed_thread_pool(2);
    for (const bool throws : {false, true}) {
        std::stop_source stop;
        std::atomic<long> visits = 0;
        const auto end_at_1000 = [&](long) {
            if (++visits != 1000) return;
            if (throws) throw std::out_of_range("no such page");
            stop.request_stop();
        };
        const parallel_options how{.concurrency = 3, .stop = stop.get_token()};
        constexpr long count = 100'000'000'000;  // a chunk has 4 billion
        if (throws)
            EXPECT_THROW(parallel_for(*pool, 0L, count, end_at_1000, how), std::out_of_range);
        else
            EXPECT_THROW(parallel_for(*pool, 0L, count, end_at_1000, how), cancellation);
        // More than the others can visit while the one that ends it is held up.
        EXPECT_LT(visits, 2'000'000'000);
    }
}

TEST(parallel_for, looks_for_a_stop_after_each_element_that_takes_long) {
    refusing_executor nobody;
    std::stop_source stop;
    int visits = 0;
    const auto slow = [&](int) {
        take_at_least(100us);
        if (++visits == 10) stop.request_stop();
    };
    EXPECT_THROW(parallel_for(nobody, 0, 1000, slow, {.chunk = 1000, .stop = stop.get_token()}),
                 cancellation);
    EXPECT_EQ(visits, 10);
}

TEST(parallel_for, runs_over_ranges_without_random_access_or_size) {
    std::atomic<int> visits = 0;
    const auto pool = executors::fixed_thread_pool(2);
    std::list<int> list = {1, 2, 3};
    parallel_for(*pool, list, [](int& i) { i *= 2; }, {.chunk = 1});
    EXPECT_EQ(list, (std::list<int>{2, 4, 6}));

    std::map<std::string, int> map = {{"a", 1}, {"b", 2}};
    parallel_for(*pool, map, [](auto& entry) { entry.second += 10; });
    EXPECT_EQ(map["b"], 12);

    const auto numbers = counted_to(100);
    const std::forward_list<int> unsized(numbers.begin(), numbers.end());
    parallel_for(*pool, unsized, [&](int) { ++visits; }, {.chunk = 7});
    EXPECT_EQ(visits, 100);
    EXPECT_EQ(parallel_reduce(*pool, list, 0, std::plus<>()), 12);
    EXPECT_EQ(parallel_transform(*pool, list, [](int i) { return i + 1; }), (std::vector{3, 5, 7}));
}

TEST(parallel_for, ends_early_with_the_task_that_calls_it) {
    gate started;
    gate over;
    std::atomic<bool> cancelled = false;
    const auto pool = executors::fixed_thread_pool(1);
    auto caller = pool->submit([&] {
        const auto until_cancelled = [&](int) {
            started.open();
            EXPECT_TRUE(eventually([&] { return this_thread::stop_token().stop_requested(); }));
        };
        try {
            parallel_for(*pool, counted_to(5), until_cancelled, {.chunk = 1, .concurrency = 1});
        } catch (const cancellation&) {
            cancelled = true;
        }
        over.open();
    });
    started.wait();
    caller.cancel(true);
    over.wait();
    EXPECT_TRUE(cancelled);
}

TEST(parallel_for, returns_when_those_have_left_who_helped) {
    const auto pool = executors::fixed_thread_pool(1);
    gate helps;
    gate let_go;
    std::atomic<int> visits = 0;
    waiting_call loop([&] {
        const auto caller = std::this_thread::get_id();
        parallel_for(*pool, 0, 2,
                     [&](int) {
                         const bool is_helper = std::this_thread::get_id() != caller;
                         if (is_helper) helps.open();
                         (is_helper ? let_go : helps).wait();
                         ++visits;
                     },
                     {.chunk = 1, .concurrency = 2});
        EXPECT_EQ(visits, 2);
    });
    EXPECT_FALSE(loop.is_over());
    let_go.open();
    EXPECT_TRUE(loop.returned());
}

TEST(parallel_for, waits_for_those_at_work_when_it_is_interrupted) {
    const auto pool = executors::fixed_thread_pool(1);
    gate helper_is_in;
    gate let_go;
    waiting_call loop([&] {
        const auto caller = std::this_thread::get_id();
        const auto body = [&](int) {
            if (std::this_thread::get_id() == caller) {
                helper_is_in.wait();
            } else {
                helper_is_in.open();
                let_go.wait();
            }
        };
        parallel_for(*pool, counted_to(2), body, {.chunk = 1, .concurrency = 2});
    });
    loop.interrupt();
    loop.settle();
    EXPECT_FALSE(loop.is_over());
    let_go.open();
    EXPECT_TRUE(loop.was_interrupted());
}

TEST(parallel_for, has_those_at_work_end_early_when_it_is_interrupted) {
    constexpr int chunk = 100'000;  // of which each element takes a millisecond
    const auto pool = executors::fixed_thread_pool(1);
    gate helper_is_in;
    std::atomic<int> visits = 0;
    waiting_call loop([&] {
        const auto caller = std::this_thread::get_id();
        const auto body = [&](int) {
            if (std::this_thread::get_id() == caller) {
                helper_is_in.wait();
                return;
            }
            helper_is_in.open();
            ++visits;
            take_at_least(1ms);
        };
        parallel_for(*pool, 0, 2 * chunk, body, {.chunk = chunk, .concurrency = 2});
    });
    loop.interrupt();
    EXPECT_TRUE(loop.was_interrupted());
    EXPECT_LT(visits, chunk);
}

TEST(parallel_for, is_interrupted_by_an_executor_whose_caller_is) {
    class interrupting_executor : public executor {
        void execute(task) override { throw interrupted(); }
    } waits;
    EXPECT_THROW(parallel_for(waits, 0, 4, [](int) { ADD_FAILURE() << "visited"; },
                              {.chunk = 1, .concurrency = 2}),
                 interrupted);
}

TEST(parallel_for, refuses_a_negative_concurrency) {
    inline_executor here;
    EXPECT_EQ(message_of<std::invalid_argument>(
                  [&] { parallel_for(here, counted_to(2), [](int) {}, {.concurrency = -1}); }),
              "concurrency (-1) is negative");
}

TEST(parallel_for, refuses_an_empty_function_before_it_runs_anything) {
    inline_executor here;
    const std::function<int(int)> none;
    const std::function<int(int, int)> no_operation;
    const auto numbers = counted_to(2);
    std::vector<int> out(2);
    const auto refused = [](auto call) { return message_of<std::invalid_argument>(call); };
    EXPECT_EQ(refused([&] { parallel_for(here, numbers, none); }), "f is empty");
    EXPECT_EQ(refused([&] { parallel_for(here, 0, 2, none); }), "f is empty");
    EXPECT_EQ(refused([&] { parallel_for(here, counted_to(0), none); }), "f is empty");
    EXPECT_EQ(refused([&] { parallel_transform(here, numbers, none); }), "f is empty");
    EXPECT_EQ(refused([&] { parallel_transform(here, numbers, out.begin(), none); }), "f is empty");
    EXPECT_EQ(refused([&] { parallel_reduce(here, numbers, 0, no_operation); }), "op is empty");
    EXPECT_EQ(refused([&] { parallel_reduce(here, numbers, 0, std::plus<>(), none); }),
              "project is empty");
}

TEST(parallel_transform, puts_results_in_the_order_of_the_elements) {
    const auto pool = executors::fixed_thread_pool(3);
    const auto square = [](int i) { return std::to_string(i * i); };
    const auto squares = parallel_transform(*pool, counted_to(500), square, {.concurrency = 4});
    ASSERT_EQ(squares.size(), 500u);
    for (std::size_t i = 0; i < squares.size(); ++i) EXPECT_EQ(squares[i], std::to_string(i * i));

    std::vector<std::string> into(600);
    const auto end = parallel_transform(*pool, counted_to(500), into.begin(), square);
    EXPECT_EQ(end - into.begin(), 500);
    EXPECT_EQ(into[499], "249001");
    EXPECT_EQ(into[500], "");
}

TEST(parallel_transform, makes_results_of_any_type) {
    const auto pool = executors::fixed_thread_pool(2);
    const auto is_odd =
        parallel_transform(*pool, counted_to(100), [](int i) { return i % 2 == 1; });
    EXPECT_EQ(std::count(is_odd.begin(), is_odd.end(), true), 50);

    struct ticket {
        explicit ticket(int n) : number(n) {}
        const int number;
    };
    const auto tickets =
        parallel_transform(*pool, counted_to(100), [](int i) { return ticket(i); });
    EXPECT_EQ(tickets[99].number, 99);
}

TEST(parallel_reduce, combines_in_the_order_of_the_elements) {
    const auto pool = executors::fixed_thread_pool(3);
    std::string expected = ">";
    for (int i = 0; i < 200; ++i) expected += std::to_string(i);
    const auto text = [](int i) { return std::to_string(i); };
    EXPECT_EQ(parallel_reduce(*pool, counted_to(200), std::string(">"), std::plus<>(), text,
                              {.chunk = 3, .concurrency = 4}),
              expected);
    EXPECT_EQ(parallel_reduce(*pool, counted_to(1000), 1L, std::plus<>()), 499'501);
    EXPECT_EQ(parallel_reduce(*pool, std::vector<int>(), 7, std::plus<>()), 7);
}

TEST(parallel_reduce, projects_by_member) {
    struct order {
        int cents;
    };
    inline_executor here;
    const std::vector<order> orders = {{100}, {250}};
    EXPECT_EQ(parallel_reduce(here, orders, 0L, std::plus<>(), &order::cents), 350);
}

}  // namespace
}  // namespace cadre::testing
