// SPDX-License-Identifier: Apache-2.0
// What a config_manager tells of documents that it refuses, and of what a pool cannot be given.

#include <cadre/manage/config_manager.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manage/support/managed_fixture.hpp"

namespace cadre::manage {
namespace {

using ::testing::HasSubstr;

class config_reports : public managed_fixture {
protected:
    std::vector<change_record> refusals() const {
        std::vector<change_record> result;
        for (const auto& record : registry_.history())
            if (record.kind == change_kind::refused) result.push_back(record);
        return result;
    }
    std::vector<std::string> not_applied() const {
        std::vector<std::string> result;
        for (const auto& [pool, field] : manager_->status().not_applied)
            result.push_back(pool + "." + field.field + " " + field.wished + " " + field.effective);
        return result;
    }
};

TEST_F(config_reports, put_a_refused_document_into_the_history_once) {
    manage({.start_wait = {}});
    base_->give("pools: {orders: {core: 1, cor: 2}}");
    ASSERT_EQ(refusals().size(), 1U);
    EXPECT_EQ(refusals()[0].pool, "");
    EXPECT_EQ(refusals()[0].origin.source, "base");
    EXPECT_EQ(refusals()[0].origin.source_revision, "1");
    EXPECT_THAT(refusals()[0].error, HasSubstr("base:1: pools.orders.core: is not a key here"));
    EXPECT_THAT(refusals()[0].error, HasSubstr("(and 1 more)"));
    site_->give("pools: {orders: {core_pool_size: 1}}");  // after which it is tried again
    EXPECT_EQ(manager_->status().refused, 2U);
    EXPECT_EQ(refusals().size(), 1U);
    base_->give("pools: {}");
    base_->give("pools: {orders: {core: 1, cor: 2}}");
    EXPECT_EQ(refusals().size(), 2U);
}

TEST_F(config_reports, have_the_author_of_a_document) {
    manage({.start_wait = {}});
    base_->give(config_document{.text = "pools: {orders: {core_pool_size: 1}}", .author = "ann"});
    EXPECT_EQ(registry_.history().back().origin.author, "ann");
}

TEST_F(config_reports, tell_of_a_kind_and_a_queue_that_a_running_pool_does_not_have) {
    base_->first("pools: {orders: {queue: synchronous, kind: scheduled}}");
    site_->fail();
    manage();
    EXPECT_THAT(not_applied(), ::testing::ElementsAre("orders.kind scheduled common",
                                                      "orders.queue synchronous linked"));
    EXPECT_THAT(manager_->status().not_applied[1].field.reason, HasSubstr("restart"));
    base_->give("pools: {orders: {queue: linked, kind: common}}");
    EXPECT_TRUE(not_applied().empty());
}

TEST_F(config_reports, tell_of_kinds_that_only_dynamictp_has) {
    base_->first(
        "dynamictp:\n  executors:\n"
        "    - {threadPoolName: a, executorType: eager, autoCreate: true, queueCapacity: 5}\n"
        "    - {threadPoolName: b, executorType: ordered, autoCreate: true}\n");
    site_->fail();
    manage();
    EXPECT_EQ(problems(), "");
    EXPECT_EQ(registry_.at("a")->settings().queue_capacity, 5U);
    EXPECT_THAT(not_applied(),
                ::testing::ElementsAre("a.kind eager common", "b.kind ordered common"));
}

TEST_F(config_reports, are_silent_about_kinds_and_queues_that_were_made) {
    base_->first(
        "defaults: {auto_create: true}\n"
        "pools: {a: {kind: priority}, b: {queue: transfer}, c: {queue: deque, queue_capacity: 3},\n"
        "        d: {kind: scheduled, queue: array}, e: {queue: priority}}\n");
    site_->fail();
    manage();
    EXPECT_EQ(problems(), "");
    EXPECT_TRUE(not_applied().empty());
    EXPECT_EQ(registry_.at("a")->queue_type(), "priority");
    EXPECT_EQ(registry_.at("b")->queue_type(), "transfer");
    EXPECT_EQ(registry_.at("c")->settings().queue_capacity, 3U);
    EXPECT_EQ(registry_.at("d")->kind(), pool_kind::scheduled);
}

TEST_F(config_reports, name_the_key_that_a_pool_refuses) {
    base_->first("pools:\n  orders:\n    core_pool_size: 1\n    rejection: abotr\n");
    site_->fail();
    manage();
    EXPECT_THAT(problems(), HasSubstr("base:4: pools.orders.rejection: rejection (abotr)"));
    base_->give("dynamictp:\n  executors:\n    - threadPoolName: orders\n      corePoolSize: 9\n");
    EXPECT_THAT(problems(), HasSubstr("base:3: dynamictp.executors[0]: maximum_pool_size"));
    base_->give("defaults: {rejection: abotr}\npools: {orders: }\n");
    EXPECT_THAT(problems(), HasSubstr("base:1: defaults.rejection: rejection (abotr)"));
}

}  // namespace
}  // namespace cadre::manage
