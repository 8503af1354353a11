// SPDX-License-Identifier: Apache-2.0
//
// What every executor_service promises of invoke_all and invoke_any.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include "support/service_kinds.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"
#include <cadre/executors.hpp>

namespace cadre::testing {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

template <class Kind>
class every_invoking_service : public ::testing::Test {
protected:
    const std::unique_ptr<executor_service> service_ = Kind::make(2);
    executor_service& service = *service_;
};
TYPED_TEST_SUITE(every_invoking_service, service_kinds, service_names);

template <class Kind>
class every_asynchronous_service : public every_invoking_service<Kind> {};
TYPED_TEST_SUITE(every_asynchronous_service, thread_kinds, service_names);

template <class Kind>
class every_concurrent_service : public every_invoking_service<Kind> {};
TYPED_TEST_SUITE(every_concurrent_service, concurrent_kinds, service_names);

// EXS-008, STP-026
TYPED_TEST(every_invoking_service, refuses_to_invoke_any_of_none) {
    const std::vector<callable> none;
    EXPECT_THROW(this->service.invoke_any(none), std::invalid_argument);
    EXPECT_THROW(this->service.invoke_any(none, long_delay), std::invalid_argument);
}

// EXS-009, STP-026
TYPED_TEST(every_invoking_service, refuses_to_invoke_any_when_one_is_empty) {
    EXPECT_THROW(this->service.invoke_any({fails, callable()}), std::invalid_argument);
    EXPECT_THROW(this->service.invoke_any({fails, callable()}, long_delay), std::invalid_argument);
}

// EXS-010, STP-026
TYPED_TEST(every_invoking_service, invoke_any_rethrows_the_failure_of_the_only_one) {
    EXPECT_THROW(this->service.invoke_any({fails}), std::out_of_range);
}

// EXS-011, STP-026
TYPED_TEST(every_invoking_service, invoke_any_gives_the_value_of_one_that_succeeded) {
    EXPECT_EQ(this->service.invoke_any({text, text}), "text");
    EXPECT_EQ(this->service.invoke_any({fails, text}), "text");
    EXPECT_EQ(this->service.invoke_any({text, fails}), "text");
}

// EXS-012, STP-026
TYPED_TEST(every_invoking_service, timed_invoke_any_returns_as_soon_as_one_succeeds) {
    const auto waited = time_of([&] {
        EXPECT_EQ(this->service.invoke_any({text, text}, long_delay), "text");
        EXPECT_EQ(this->service.invoke_any({fails, text}, long_delay), "text");
    });
    EXPECT_LT(waited, long_delay);
}

// EXS-013, STP-026
TYPED_TEST(every_invoking_service, timed_invoke_any_fails_as_soon_as_all_have_failed) {
    const auto waited = time_of([&] {
        EXPECT_THROW(this->service.invoke_any({fails}, long_delay), std::out_of_range);
        EXPECT_THROW(this->service.invoke_any({fails, fails, fails}, long_delay),
                     std::out_of_range);
    });
    EXPECT_LT(waited, long_delay);
}

// EXS-014, STP-026
TYPED_TEST(every_asynchronous_service, timed_invoke_any_times_out_not_early) {
    const auto sleeps = [] { sleep_until_interrupted(); };
    const auto waited = time_of([&] {
        EXPECT_THROW(this->service.invoke_any({sleeps, sleeps}, short_delay), timeout);
    });
    EXPECT_GE(waited, short_delay);
    EXPECT_LT(waited, guard);
}

TYPED_TEST(every_concurrent_service, invoke_any_cancels_and_interrupts_the_losers) {
    gate loser_runs;
    std::atomic<bool> loser_interrupted = false;
    const std::vector<std::function<int()>> callables = {[&] {
                                                             loser_runs.open();
                                                             try {
                                                                 sleep_until_interrupted();
                                                             } catch (const interrupted&) {
                                                                 loser_interrupted = true;
                                                             }
                                                             return 1;
                                                         },
                                                         [&] {
                                                             loser_runs.wait();
                                                             return 2;
                                                         }};
    EXPECT_EQ(this->service.invoke_any(callables), 2);
    this->service.close();
    EXPECT_TRUE(loser_interrupted);
}

TYPED_TEST(every_concurrent_service, invoke_any_does_not_wait_for_a_loser_that_goes_on) {
    gate loser_runs;
    gate loser_may_end;
    const std::vector<std::function<int()>> callables = {[&] {
                                                             loser_runs.open();
                                                             loser_may_end.wait();
                                                             return 1;
                                                         },
                                                         [&] {
                                                             loser_runs.wait();
                                                             return 2;
                                                         }};
    EXPECT_EQ(this->service.invoke_any(callables), 2);
    loser_may_end.open();
    this->service.close();
}

// EXS-015, STP-026
TYPED_TEST(every_invoking_service, invokes_all_of_none) {
    const std::vector<callable> none;
    EXPECT_TRUE(this->service.invoke_all(none).empty());
    for (const nanoseconds timeout :
         {nanoseconds::min(), -1ns, 0ns, nanoseconds(long_delay), nanoseconds::max()})
        EXPECT_TRUE(this->service.invoke_all(none, timeout).empty());
}

// EXS-016, STP-026
TYPED_TEST(every_invoking_service, refuses_to_invoke_all_when_one_is_empty) {
    EXPECT_THROW(this->service.invoke_all({text, callable()}), std::invalid_argument);
    EXPECT_THROW(this->service.invoke_all({text, callable()}, long_delay), std::invalid_argument);
}

// EXS-017, STP-026
TYPED_TEST(every_invoking_service, invoke_all_leaves_failures_to_the_futures) {
    for (const bool timed : {false, true}) {
        auto results = timed ? this->service.invoke_all({text, fails}, long_delay)
                             : this->service.invoke_all({text, fails});
        ASSERT_EQ(results.size(), 2u);
        EXPECT_TRUE(results[0].is_done());
        EXPECT_TRUE(results[1].is_done());
        EXPECT_EQ(results[0].get(), "text");
        EXPECT_THROW(results[1].get(), std::out_of_range);
    }
}

// EXS-018, STP-026
TYPED_TEST(every_invoking_service, invoke_all_gives_the_futures_in_the_order_of_the_callables) {
    std::vector<std::function<int()>> callables;
    for (int i = 0; i < 20; ++i) callables.emplace_back([i] { return i; });
    for (const bool timed : {false, true}) {
        auto results = timed ? this->service.invoke_all(callables, long_delay)
                             : this->service.invoke_all(callables);
        ASSERT_EQ(results.size(), 20u);
        for (int i = 0; i < 20; ++i) {
            EXPECT_TRUE(results[static_cast<std::size_t>(i)].is_done());
            EXPECT_EQ(results[static_cast<std::size_t>(i)].get(), i);
        }
    }
}

// EXS-019, STP-026
TYPED_TEST(every_invoking_service, invoke_all_runs_each_once) {
    for (int n = 1; n <= 6; ++n) {
        const auto of_n = TypeParam::make(n);
        for (const bool timed : {false, true}) {
            std::atomic<int> calls = 0;
            const std::vector<std::function<int()>> callables(static_cast<std::size_t>(n),
                                                              [&] { return ++calls; });
            std::vector<future<int>> results;
            const auto waited = time_of([&] {
                results =
                    timed ? of_n->invoke_all(callables, long_delay) : of_n->invoke_all(callables);
            });
            EXPECT_LT(waited, long_delay);
            EXPECT_EQ(calls, n);
            int sum = 0;
            for (auto& result : results) sum += result.get();
            EXPECT_EQ(sum, n * (n + 1) / 2);
        }
    }
}

// EXS-020, STP-026
TYPED_TEST(every_concurrent_service, timed_invoke_all_cancels_what_is_not_done_in_time) {
    const callable blocks = [] {
        sleep_until_interrupted();
        return "late";
    };
    // A pause in which no quick one gets a processor would be a timeout too: try a longer one.
    for (nanoseconds patience = short_delay;; patience *= 2) {
        std::vector<future<std::string>> results;
        const auto waited = time_of([&] {
            results = this->service.invoke_all({text, blocks, text}, patience);
        });
        EXPECT_GE(waited, patience);
        EXPECT_LT(waited, guard);
        ASSERT_EQ(results.size(), 3u);
        for (const auto& result : results) EXPECT_TRUE(result.is_done());
        EXPECT_TRUE(results[1].is_cancelled());
        EXPECT_THROW(results[1].get(), cancellation);
        if (patience < long_delay && (results[0].is_cancelled() || results[2].is_cancelled()))
            continue;
        EXPECT_EQ(results[0].get(), "text");
        EXPECT_EQ(results[2].get(), "text");
        return;
    }
}

TYPED_TEST(every_asynchronous_service, takes_extreme_timeouts) {
    EXPECT_EQ(this->service.invoke_any({text}, nanoseconds::max()), "text");
    EXPECT_EQ(this->service.invoke_any({text}, hours::max()), "text");
    EXPECT_EQ(this->service.invoke_all({text}, hours::max())[0].get(), "text");
    const callable sleeps = [] {
        sleep_until_interrupted();
        return "late";
    };
    for (const nanoseconds timeout_given : {nanoseconds::min(), -1ns, 0ns}) {
        EXPECT_THROW(this->service.invoke_any({sleeps}, timeout_given), timeout);
        EXPECT_TRUE(this->service.invoke_all({sleeps}, timeout_given)[0].is_cancelled());
        EXPECT_FALSE(this->service.await_termination(timeout_given));
    }
    EXPECT_FALSE(this->service.await_termination(hours::min()));
    this->service.shutdown();
    EXPECT_TRUE(this->service.await_termination(hours::max()));
    EXPECT_TRUE(this->service.await_termination(nanoseconds::max()));
}

TYPED_TEST(every_asynchronous_service, an_interrupted_invoke_all_cancels_and_interrupts_all) {
    std::atomic<bool> was_interrupted = false;
    gate started;
    const auto sleeps = [&] {
        started.open();
        try {
            sleep_until_interrupted();
        } catch (const interrupted&) {
            was_interrupted = true;
        }
    };
    waiting_call call([&] { this->service.invoke_all({sleeps}); });
    EXPECT_TRUE(started.wait());
    call.interrupt();
    EXPECT_TRUE(call.was_interrupted());
    this->service.close();
    EXPECT_TRUE(was_interrupted);
}

/// As std::views::transform gives them, which clang 14 cannot compile.
struct made_callables {
    struct callable {
        std::unique_ptr<int> value;
        int operator()() const { return *value; }
    };
    struct iterator {
        using value_type = callable;
        using difference_type = std::ptrdiff_t;
        int i = 0;
        callable operator*() const { return {std::make_unique<int>(i)}; }
        iterator& operator++() {
            ++i;
            return *this;
        }
        void operator++(int) { ++i; }
        bool operator==(const iterator&) const = default;
    };
    iterator begin() const { return {0}; }
    iterator end() const { return {3}; }
};

TYPED_TEST(every_invoking_service, takes_callables_that_only_move_from_a_view_that_makes_them) {
    const made_callables made;
    auto results = this->service.invoke_all(made);
    ASSERT_EQ(results.size(), 3U);
    EXPECT_EQ(results[2].get(), 2);
    EXPECT_LT(this->service.invoke_any(made), 3);
}

TYPED_TEST(every_invoking_service, gives_a_reference_where_the_callables_do) {
    struct rooted {
        rooted() = default;
        rooted(const rooted&) = delete;
    } referent;
    std::vector<std::function<rooted&()>> callables{[&]() -> rooted& { return referent; }};
    EXPECT_EQ(&this->service.invoke_all(callables)[0].get(), &referent);
    EXPECT_EQ(&this->service.invoke_any(callables), &referent);
    EXPECT_EQ(&this->service.invoke_any(callables, hours(1)), &referent);
}

}  // namespace
}  // namespace cadre::testing
