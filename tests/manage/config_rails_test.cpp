// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manage/support/managed_fixture.hpp"

// Guard rails of the code, and limits of documents.

namespace cadre::manage {
namespace {

using ::testing::HasSubstr;

class config_rails : public managed_fixture {
protected:
    void manage_with(const std::string& document) {
        base_->first(document);
        site_->fail();
        manage();
    }
};

TEST_F(config_rails, of_the_code_hold_also_if_they_are_set_later) {
    manage_with("pools: {orders: {core_pool_size: 1}}");
    registry_.set_rails({.max_threads_per_pool = 10});
    base_->give("pools: {orders: {core_pool_size: 2}}");
    EXPECT_EQ(registry_.rails().max_threads_per_pool, 10);
    base_->give("pools: {orders: {maximum_pool_size: 4000}}");
    EXPECT_THAT(problems(), HasSubstr("is above max_threads_per_pool (10)"));
    EXPECT_EQ(settings().maximum_pool_size, 4);
}

TEST_F(config_rails, of_the_code_are_not_widened_by_a_document) {
    registry_.set_rails({.max_threads_per_pool = 64});
    manage_with("limits: {max_threads_per_pool: 9999}\npools: {orders: {maximum_pool_size: 4000}}");
    EXPECT_THAT(problems(), HasSubstr("is above max_threads_per_pool (64)"));
    base_->give("limits: {max_threads_per_pool: 32}\npools: {orders: {}}");
    EXPECT_EQ(registry_.rails().max_threads_per_pool, 32);
    base_->give("pools: {orders: {}}");
    EXPECT_EQ(registry_.rails().max_threads_per_pool, 64);
}

TEST_F(config_rails, hold_up_a_step_that_comes_of_a_key_that_leaves) {
    manage_with("limits: {max_step: 5}\npools: {orders: {maximum_pool_size: 400}}");
    base_->give("limits: {max_step: 5}\npools: {orders: {}}");
    EXPECT_THAT(problems(), HasSubstr("pools.orders.maximum_pool_size: changes from 400 to 4"));
    base_->give("limits: {max_step: 5}\npools: {mail: {}}");
    EXPECT_THAT(problems(), HasSubstr("pools.orders.maximum_pool_size: changes from 400 to 4"));
    EXPECT_EQ(settings().maximum_pool_size, 400);
}

TEST_F(config_rails, let_a_step_be_as_large_as_they_say) {
    manage_with("limits: {max_step: 5}\npools: {orders: {maximum_pool_size: 10}}");
    base_->give("limits: {max_step: 5}\npools: {orders: {maximum_pool_size: 15}}");
    EXPECT_EQ(problems(), "");
    EXPECT_EQ(settings().maximum_pool_size, 15);
    base_->give("limits: {max_step: 5}\npools: {orders: {maximum_pool_size: 21}}");
    EXPECT_THAT(problems(), HasSubstr("by more than max_step (5)"));
}

TEST_F(config_rails, let_a_new_pool_have_the_threads_that_another_gives_up) {
    orders_->reconfigure({.maximum_pool_size = 100});
    manage_with(
        "limits: {max_threads_per_process: 100}\n"
        "pools: {orders: {maximum_pool_size: 50}, mail: {maximum_pool_size: 50, auto_create: "
        "true}}");
    EXPECT_EQ(problems(), "");
    EXPECT_EQ(settings().maximum_pool_size, 50);
    EXPECT_EQ(registry_.at("mail")->settings().maximum_pool_size, 50);
    base_->give(
        "limits: {max_threads_per_process: 100}\n"
        "pools: {orders: {maximum_pool_size: 40}, mail: {maximum_pool_size: 50, auto_create: true},"
        " jobs: {maximum_pool_size: 50, auto_create: true}}");
    EXPECT_THAT(problems(), HasSubstr("140"));
    EXPECT_EQ(settings().maximum_pool_size, 50);
    EXPECT_EQ(registry_.find("jobs"), nullptr);
}

TEST_F(config_rails, take_no_step_from_a_maximum_that_a_scheduled_pool_does_not_have) {
    const auto jobs = registry_.create(
        {.name = "jobs", .kind = pool_kind::scheduled, .settings = {.core_pool_size = 4}});
    const std::string document =
        "limits: {max_step: 50}\ndefaults: {maximum_pool_size: 200}\npools: ";
    manage_with(document + "{jobs: {}}");
    base_->give(document + "{jobs: {core_pool_size: 5}}");
    EXPECT_EQ(problems(), "");
    EXPECT_EQ(jobs->settings().core_pool_size, 5);
    base_->give(document + "{jobs: {core_pool_size: 80}}");
    EXPECT_THAT(problems(), HasSubstr("pools.jobs.core_pool_size: changes from 5 to 80"));
}

TEST_F(config_rails, count_of_a_scheduled_pool_the_threads_that_it_can_have) {
    registry_.create({.name = "jobs", .kind = pool_kind::scheduled});
    manage_with(
        "limits: {max_threads_per_process: 21}\n"
        "defaults: {maximum_pool_size: 16}\n"
        "pools: {orders: {}, jobs: {core_pool_size: 3}, "
        "timers: {core_pool_size: 2, kind: scheduled, auto_create: true}}");
    EXPECT_EQ(problems(), "");
    EXPECT_EQ(registry_.at("jobs")->settings().core_pool_size, 3);
    EXPECT_EQ(registry_.at("timers")->settings().core_pool_size, 2);
    EXPECT_EQ(settings().maximum_pool_size, 16);
}

TEST_F(config_rails, do_not_count_pools_of_other_services) {
    manage_with(
        "limits: {max_threads_per_process: 100}\n"
        "pools: {orders: {core_pool_size: 1}, java1: {maximum_pool_size: 80}, "
        "java2: {maximum_pool_size: 80}}");
    EXPECT_EQ(problems(), "");
    EXPECT_EQ(settings().core_pool_size, 1);
}

}  // namespace
}  // namespace cadre::manage
