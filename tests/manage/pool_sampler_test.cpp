// SPDX-License-Identifier: Apache-2.0
#include "manage/pool_sampler.hpp"

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "manage/http_views.hpp"
#include "support/eventually.hpp"
#include "support/sleeps.hpp"

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using detail::pool_sample;
using detail::pool_sampler;

/// A pool, and a sampler that looks when it is told to, by a wall clock that can be set.
class pool_sampler_test : public ::testing::Test {
protected:
    pool_sampler_test() {
        EXPECT_TRUE(testing::eventually([&] { return sampler_.since(0).size() == 1; }));
    }
    void run_tasks(int count) {
        const auto before = detail::view_of(*pool_).run.count();
        for (int i = 0; i < count; ++i) pool_->executor()->submit([] {}).get();
        const auto after = before + static_cast<std::uint64_t>(count);
        EXPECT_TRUE(
            testing::eventually([&] { return detail::view_of(*pool_).run.count() == after; }));
    }

    pool_registry registry_;
    const std::shared_ptr<managed_pool> pool_ =
        registry_.create({.name = "p", .settings = {.core_pool_size = 1}});
    std::atomic<std::chrono::hours> clock_was_set_by = 0h;
    pool_sampler sampler_{registry_, 1h, 24h, [this] {
                              return std::chrono::system_clock::now() + clock_was_set_by.load();
                          }};
};

TEST_F(pool_sampler_test, measures_by_a_clock_that_nobody_sets) {
    for (const auto set_by : {-3h, 5h}) {
        run_tasks(10);
        clock_was_set_by = set_by;
        sampler_.look_now();
        EXPECT_GT(sampler_.latest("p")->values[pool_sample::completed], 0.01F);
        EXPECT_GT(sampler_.latest("p")->values[pool_sample::submitted], 0.01F);
    }
    EXPECT_EQ(sampler_.recent("p", detail::view_of(*pool_)).run.count, 20U);
}

TEST_F(pool_sampler_test, goes_on_in_even_steps_when_the_wall_clock_was_set_back) {
    const auto first = std::chrono::steady_clock::now();
    sampler_.look_now();
    clock_was_set_by = -3h;
    testing::take_at_least(20ms);
    sampler_.look_now();
    const auto passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - first);
    const auto looks = sampler_.since(0);
    ASSERT_EQ(looks.size(), 3U);
    const double step = looks[2].time - looks[1].time;
    EXPECT_GE(step, 0.019);
    EXPECT_LE(step, passed.count() + 0.001);
}

TEST_F(pool_sampler_test, gives_a_look_once_to_who_asks_for_later_ones) {
    for (int i = 0; i < 20; ++i) {
        sampler_.look_now();
        const auto shown = detail::samples_of(sampler_, 0).at("times").back().get<double>();
        EXPECT_TRUE(sampler_.since(shown).empty());
    }
}

TEST_F(pool_sampler_test, keeps_as_many_looks_as_it_is_to) {
    for (int i = 0; i < 30; ++i) sampler_.look_now();
    EXPECT_EQ(sampler_.since(0).size(), 25u) << "one an hour for a day, and the one before it";
}

TEST_F(pool_sampler_test, begins_anew_with_a_pool_that_is_made_anew) {
    run_tasks(10);
    sampler_.look_now();
    for (const bool looks_in_between : {false, true}) {
        registry_.remove("p");
        if (looks_in_between) sampler_.look_now();
        const auto again = registry_.create({.name = "p", .settings = {.core_pool_size = 1}});
        sampler_.look_now();
        const float rate = sampler_.latest("p")->values[pool_sample::completed];
        if (looks_in_between)
            EXPECT_TRUE(std::isnan(rate)) << rate;
        else
            EXPECT_EQ(rate, 0);
    }
}

}  // namespace
}  // namespace cadre::manage
