// SPDX-License-Identifier: Apache-2.0

#include "right_of_way.hpp"

#include <gtest/gtest.h>

using namespace std::chrono_literals;

namespace cadre::detail {
namespace {

/// A worker whose tasks take so long by a clock of the test's own.
struct taker {
    explicit taker(std::chrono::nanoseconds each) : each_takes(each) {}
    /// Takes the next task after `others` have taken as many.
    void take(std::uint64_t others) {
        now += each_takes;
        index += others + 1;
        way.took(index, alone, [this] {
            ++looks;
            return now;
        });
    }
    /// One worker alone takes so long for each task.
    void know(std::chrono::nanoseconds each) { alone.store(right_of_way::sample * each); }

    std::chrono::nanoseconds each_takes;
    right_of_way::pace alone;
    right_of_way way;
    right_of_way::clock::time_point now = right_of_way::clock::now();
    std::uint64_t index = 1000;
    int looks = 0;  // at the clock
};

/// How often it owes the way in so many tasks, taken in turns with another worker.
int times_owed(taker& worker, int turns) {
    int owed = 0;
    for (int i = 0; i < turns; ++i) {
        worker.take(1);
        if (!worker.way.is_owed()) continue;
        ++owed;
        worker.way.give(worker.alone);
    }
    return owed;
}

}  // namespace

TEST(right_of_way, is_owed_where_one_worker_alone_is_faster_than_all_together) {
    taker worker(60ns);  // of its own; with the other's between 30 ns for each
    worker.know(15ns);

    for (int i = 0; i < 10 && !worker.way.is_owed(); ++i) worker.take(1);
    EXPECT_TRUE(worker.way.is_owed());

    worker.way.give(worker.alone);
    EXPECT_FALSE(worker.way.is_owed());
}

TEST(right_of_way, is_seldom_owed_where_all_together_are_faster) {
    taker worker(120ns);
    worker.know(90ns);

    EXPECT_LE(times_owed(worker, 100'000), 50);
}

TEST(right_of_way, is_given_now_and_then_to_learn_what_one_alone_takes) {
    taker worker(60ns);

    EXPECT_GE(times_owed(worker, 100'000), 10);
}

TEST(right_of_way, is_never_owed_for_tasks_of_a_microsecond) {
    taker worker(1us);
    worker.know(1ns);

    EXPECT_EQ(times_owed(worker, 100'000), 0);
}

TEST(right_of_way, is_not_owed_by_one_who_has_just_had_a_run) {
    taker worker(10ns);
    worker.know(1ns);
    for (int round = 0; round < 100; ++round) {
        for (int i = 0; i < 20; ++i) worker.take(0);
        worker.take(1);
        ASSERT_FALSE(worker.way.is_owed()) << "round " << round;
    }
}

TEST(right_of_way, is_no_longer_owed_for_what_was_measured_long_ago) {
    taker worker(120ns);  // together 60 ns for each
    worker.know(15ns);    // of tasks that were shorter

    EXPECT_LE(times_owed(worker, 100'000), 70);
}

TEST(right_of_way, is_forgotten_up_to_a_bound) {
    right_of_way::pace alone;
    alone.store(1us);
    for (int i = 0; i < 1000; ++i) alone.forget_an_eighth();
    EXPECT_EQ(alone.load(), 1ms);
    alone.store(24h);
    EXPECT_EQ(alone.load(), 1ms);
}

TEST(right_of_way, is_measured_in_a_run_which_reads_the_clock_seldom) {
    taker worker(17ns);

    for (int i = 0; i < 10'000; ++i) worker.take(0);

    EXPECT_EQ(worker.alone.load(), right_of_way::sample * 17ns);
    EXPECT_LE(worker.looks, 25);
    EXPECT_FALSE(worker.way.is_owed());
}

}  // namespace cadre::detail
