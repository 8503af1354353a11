// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include <timer_heap.hpp>

namespace cadre::testing {
namespace {

using std::chrono::nanoseconds;
using time = detail::steady_time;

struct fake_timer {
    std::uint64_t sequence_ = 0;
    std::uint32_t place_ = ~std::uint32_t{0};
};
using heap = detail::timer_heap<fake_timer>;

time at(std::int64_t t) { return time(nanoseconds(t)); }

/// A heap beside what it should be: timers by time, those of one time in the order in which they
/// were first inserted.
class checked_heap {
public:
    void insert(time due) {
        if (unused_.empty()) unused_.push_back(&timers_.emplace_back());
        fake_timer& timer = *unused_.back();
        unused_.pop_back();
        timer.sequence_ = 0;
        put_in(timer, due);
    }
    /// One that was there before.
    void insert_again(time due) {
        if (unused_.empty()) return insert(due);
        fake_timer& timer = *unused_.front();
        unused_.pop_front();
        put_in(timer, due);
    }
    void pop() {
        const auto& [key, timer] = *model_.begin();
        ASSERT_EQ(heap_.front().timer, timer);
        ASSERT_EQ(heap_.front().due, key.first);
        erase(model_.begin());
    }
    void remove_one_of(std::mt19937_64& random) {
        // Near a random time, or the last.
        auto found = model_.lower_bound({at(static_cast<std::int64_t>(random() % 1'000'000)), 0});
        if (found == model_.end()) --found;
        erase(found);
    }
    void expect_all_there() {
        ASSERT_EQ(heap_.size(), model_.size());
        ASSERT_EQ(heap_.empty(), model_.empty());
        std::map<const fake_timer*, time> seen;
        heap_.for_each([&](const heap::entry& e) { seen.emplace(e.timer, e.due); });
        ASSERT_EQ(seen.size(), model_.size());
        for (const auto& [key, timer] : model_) {
            ASSERT_EQ(seen[timer], key.first);
            ASSERT_EQ(heap_.due_of(*timer), key.first);
        }
    }
    void drain() {
        while (!model_.empty() && !::testing::Test::HasFatalFailure()) pop();
        EXPECT_TRUE(heap_.empty());
        EXPECT_EQ(heap_.size(), 0u);
    }
    std::size_t size() const { return model_.size(); }
    time first() const { return model_.begin()->first.first; }

private:
    using model = std::map<std::pair<time, std::uint64_t>, fake_timer*>;  // by time and number

    void put_in(fake_timer& timer, time due) {
        const auto number = timer.sequence_ == 0 ? ++inserted_ : timer.sequence_;
        heap_.insert(timer, due);
        EXPECT_EQ(timer.sequence_, number);
        model_.emplace(std::pair(due, number), &timer);
    }
    void erase(model::iterator found) {
        heap_.remove(*found->second);
        EXPECT_EQ(found->second->place_, heap::nowhere);
        unused_.push_back(found->second);
        model_.erase(found);
    }

    std::deque<fake_timer> timers_;
    std::deque<fake_timer*> unused_;
    std::uint64_t inserted_ = 0;
    heap heap_;
    model model_;
};

TEST(timer_heap, gives_out_by_time_and_those_of_one_time_in_the_order_of_their_first_insertion) {
    std::mt19937_64 random(1);
    checked_heap timers;
    for (int i = 0; i < 15'000; ++i) timers.insert(at(static_cast<std::int64_t>(random() % 5000)));
    timers.expect_all_there();
    timers.drain();
}

TEST(timer_heap, gives_out_in_order_what_came_in_order_or_backwards) {
    checked_heap timers;
    for (int i = 0; i < 10'000; ++i) timers.insert(at(i));
    timers.drain();
    for (int i = 10'000; i > 0; --i) timers.insert(at(i));
    timers.drain();
}

/// What a phase of random operations likes to do, in percent: the rest are removals.
struct habit {
    unsigned insert;
    unsigned pop;
};

TEST(timer_heap, agrees_with_a_map_whatever_is_inserted_taken_and_removed) {
    std::mt19937_64 random(2);
    constexpr habit habits[] = {{90, 5}, {30, 60}, {70, 5}, {10, 10}, {50, 50}, {5, 90}, {80, 10}};
    constexpr std::uint64_t spans[] = {1'000'000, 1'000, 1};
    const auto latest_now = at(std::int64_t{1} << 60);
    for (const auto span : spans) {
        checked_heap timers;
        for (const habit likes : habits) {
            for (int i = 0; i < 12'000; ++i) {
                const auto what = random() % 100;
                if (what < likes.insert || timers.size() == 0) {
                    // As with real timers, later than what was taken last; now and then not.
                    const auto delay = nanoseconds(static_cast<std::int64_t>(random() % span));
                    const bool early = timers.size() == 0 || random() % 50 == 0;
                    const auto now = early ? at(0) : std::min(timers.first(), latest_now);
                    const auto due = random() % 100 == 0 ? time::max() : now + delay;
                    if (random() % 3 == 0)
                        timers.insert_again(due);
                    else
                        timers.insert(due);
                } else if (what < likes.insert + likes.pop) {
                    ASSERT_NO_FATAL_FAILURE(timers.pop());
                } else {
                    timers.remove_one_of(random);
                }
            }
            ASSERT_NO_FATAL_FAILURE(timers.expect_all_there());
        }
        timers.drain();
    }
}

TEST(timer_heap, takes_up_little_memory_when_most_were_removed) {
    std::mt19937_64 random(3);
    heap timers;
    std::vector<fake_timer> all(100'000);
    const auto before = bytes_in_use();
    for (auto& timer : all) timers.insert(timer, at(static_cast<std::int64_t>(random() >> 2)));
    EXPECT_LT(bytes_in_use() - before, 30 * 100'000);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (i % 256 != 0) timers.remove(all[i]);
    EXPECT_EQ(timers.size(), (all.size() + 255) / 256);
    EXPECT_LT(bytes_in_use() - before, 500'000);
}

TEST(timer_heap, gives_another_time_to_those_that_are_near) {
    std::mt19937_64 random(4);
    heap timers;
    std::vector<fake_timer> all(20'000);
    for (std::size_t i = 0; i < all.size(); ++i)
        timers.insert(all[i], at(static_cast<std::int64_t>(random() % 1'000'000)),
                      i % 100 == 0 ? heap::region::near : heap::region::any);
    const auto is_near = [&](const fake_timer* timer) { return (timer - all.data()) % 100 == 0; };
    timers.retime([&](const heap::entry& e) {
        return is_near(e.timer) ? at(1'000'000) - e.due.time_since_epoch() : e.due;
    });
    auto last = time::min();
    for (std::size_t left = all.size(); left > 0; --left) {
        ASSERT_EQ(timers.size(), left);
        ASSERT_LE(last, timers.front().due);
        last = timers.front().due;
        timers.remove(*timers.front().timer);
    }
}

TEST(timer_heap, inserts_all_or_nothing_when_there_is_no_memory) {
    heap timers;
    std::vector<fake_timer> all(10'000);
    std::size_t failures = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        failures += static_cast<std::size_t>(
            fail_each_allocation([&] { timers.insert(all[i], at(static_cast<std::int64_t>(i))); },
                                 [&] {
                                     ASSERT_EQ(timers.size(), i);
                                     ASSERT_EQ(all[i].place_, heap::nowhere);
                                 }));
    }
    EXPECT_GT(failures, 20u);
    for (auto& timer : all) {
        ASSERT_EQ(timers.front().timer, &timer);
        timers.remove(timer);
    }
}

TEST(timer_heap, gives_out_everything_in_order_without_any_memory) {
    std::mt19937_64 random(5);
    heap timers;
    std::vector<fake_timer> all(8'000);
    for (auto& timer : all) timers.insert(timer, at(static_cast<std::int64_t>(random() % 3000)));
    std::vector<std::pair<time, std::uint64_t>> order;
    order.reserve(all.size());
    {
        const failing_allocation_scope no_memory(0);
        while (!timers.empty()) {
            order.emplace_back(timers.front().due, timers.front().timer->sequence_);
            timers.remove(*timers.front().timer);
        }
    }
    EXPECT_EQ(order.size(), all.size());
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

}  // namespace
}  // namespace cadre::testing
