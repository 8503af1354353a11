// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manage/support/managed_fixture.hpp"

// What documents do to pools, of people and of code, that come later, change meanwhile, or were
// made by documents.

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class config_manager_pools : public managed_fixture {
protected:
    void manage_with(const std::string& document) {
        base_->first(document);
        site_->fail();
        manage();
    }
};

TEST_F(config_manager_pools, that_come_later_leave_alone_what_people_changed) {
    manage_with("pools: {orders: {core_pool_size: 4}, mail: {core_pool_size: 1}}");
    orders_->reconfigure({.core_pool_size = 1, .maximum_pool_size = 8}, {.source = "http"});
    const auto changed = orders_->revision();
    const auto mail = registry_.create({.name = "mail", .settings = {.core_pool_size = 2}});
    EXPECT_EQ(mail->settings().core_pool_size, 1);
    EXPECT_EQ(settings().core_pool_size, 1);
    EXPECT_EQ(orders_->revision(), changed);
    base_->give("pools: {orders: {core_pool_size: 3}}");
    EXPECT_EQ(settings().core_pool_size, 3) << "until the next document";
}

TEST_F(config_manager_pools, that_come_later_do_not_mind_what_others_cannot_be) {
    manage_with(
        "limits: {max_step: 5}\n"
        "pools: {orders: {maximum_pool_size: 40}, bad: {core_pool_size: 30}, "
        "mail: {core_pool_size: 30, maximum_pool_size: 30}}");
    orders_->rollback(1);
    thread_pool_executor bad({.core_pool_size = 1, .maximum_pool_size = 8});
    const auto registered = registry_.add("bad", bad);
    const auto mail = registry_.create({.name = "mail", .settings = {.core_pool_size = 1}});
    EXPECT_EQ(mail->settings().core_pool_size, 30);
    EXPECT_EQ(settings().maximum_pool_size, 4);
    EXPECT_THAT(problems(), HasSubstr("base:2: pools.bad: "));
    EXPECT_THAT(problems(), Not(HasSubstr("mail")));
    registry_.remove("bad");
    registry_.create({.name = "another"});
    EXPECT_EQ(problems(), "");
}

TEST_F(config_manager_pools, that_come_later_name_the_document_in_the_history) {
    base_->first("pools: {orders: {core_pool_size: 1}, mail: {core_pool_size: 3}}");
    site_->first("pools: {orders: {keep_alive: 5s}}");
    manage();
    EXPECT_EQ(registry_.history().back().origin.source, "base, site");
    EXPECT_EQ(registry_.history().back().origin.source_revision, "1, 1");
    registry_.create({.name = "mail", .settings = {.core_pool_size = 1, .maximum_pool_size = 3}});
    EXPECT_EQ(registry_.history().back().origin.source, "base");
    EXPECT_EQ(registry_.history().back().origin.source_revision, "1");
}

TEST_F(config_manager_pools, keep_what_people_changed_where_a_document_says_nothing) {
    manage_with("pools: {orders: {core_pool_size: 1}}");
    orders_->reconfigure({.maximum_pool_size = 8}, {.source = "http"});
    base_->give("pools: {orders: {core_pool_size: 3}}");
    EXPECT_EQ(settings().core_pool_size, 3);
    EXPECT_EQ(settings().maximum_pool_size, 8);
}

TEST_F(config_manager_pools, are_as_before_when_the_last_that_a_document_makes_cannot_be_made) {
    manage_with("limits: {max_step: 50}\npools: {orders: {core_pool_size: 1}}");
    const auto meddling = registry_.on_change([&](const change_record& change) {
        if (change.pool == "mail" && change.kind == change_kind::registered)
            registry_.set_rails({.max_threads_per_pool = 8});
    });
    base_->give(
        "limits: {max_step: 100}\n"
        "pools: {orders: {core_pool_size: 3}, mail: {core_pool_size: 1, auto_create: true}, "
        "news: {core_pool_size: 9, auto_create: true}}");
    EXPECT_THAT(problems(), HasSubstr("is above max_threads_per_pool (8)"));
    EXPECT_EQ(settings().core_pool_size, 1);
    EXPECT_EQ(registry_.find("mail"), nullptr);
    EXPECT_EQ(registry_.find("news"), nullptr);
    EXPECT_EQ(registry_.rails().max_step, 50);
}

TEST_F(config_manager_pools, made_by_a_document_fall_back_to_defaults_when_a_key_leaves) {
    manage_with(
        "pools: {mail: {core_pool_size: 3, maximum_pool_size: 9, queue_capacity: 7, "
        "keep_alive: 5s, run_timeout: 1s, thread_name_prefix: m, auto_create: true}}");
    const auto mail = registry_.at("mail");
    base_->give("pools: {mail: {core_pool_size: 3, auto_create: true}}");
    const auto as_if_new =
        registry_.create({.name = "new", .settings = {.core_pool_size = 3}})->settings();
    auto expected = as_if_new;
    expected.thread_name_prefix = "mail";
    EXPECT_EQ(mail->settings(), expected);
    EXPECT_EQ(problems(), "");
}

TEST_F(config_manager_pools, made_by_a_document_keep_running_as_they_are_when_it_leaves_them_out) {
    manage_with("pools: {mail: {core_pool_size: 3, queue_capacity: 7, auto_create: true}}");
    base_->give("pools: {orders: {}}");
    EXPECT_EQ(registry_.at("mail")->settings().queue_capacity, 7U);
    base_->give("pools: {mail: {core_pool_size: 3}}");
    EXPECT_EQ(registry_.at("mail")->settings().queue_capacity, static_cast<std::size_t>(unbounded));
}

TEST_F(config_manager_pools, get_the_names_of_their_own_threads_back) {
    thread_pool_executor mine({.core_pool_size = 1});
    const auto registered = registry_.add("mine", mine);
    const auto first = registered->revision();
    manage_with("pools: {mine: {thread_name_prefix: doc}}");
    EXPECT_EQ(registered->settings().thread_name_prefix, "doc");
    base_->give("pools: {mine: {}}");
    EXPECT_EQ(registered->settings().thread_name_prefix, std::nullopt);
    base_->give("pools: {mine: {thread_name_prefix: doc}}");
    const auto report = registered->rollback(first);
    EXPECT_EQ(registered->settings().thread_name_prefix, std::nullopt);
    EXPECT_EQ(report.changes.at(0), (field_change{"thread_name_prefix", "doc", ""}));
    const auto name = mine.submit([] { return thread_handle::current().name(); }).get();
    EXPECT_THAT(name, Not(HasSubstr("doc")));
}

TEST_F(config_manager_pools, are_configured_again_after_something_that_is_no_exception) {
    bool throws = true;
    thread_pool_executor strange(
        {.core_pool_size = 1, .thread_factory = [&](std::function<void()> body) {
             if (throws) throw 42;
             return thread(std::move(body));
         }});
    const auto registered = registry_.add("strange", strange);
    manage_with("pools: {strange: {core_pool_size: 1}}");
    base_->give("pools: {strange: {core_pool_size: 1, prestart_core_threads: true}}");
    EXPECT_THAT(problems(), HasSubstr("no std::exception"));
    throws = false;
    base_->give("pools: {orders: {core_pool_size: 1}}");
    EXPECT_EQ(settings().core_pool_size, 1);
}

TEST_F(config_manager_pools,
       that_the_code_registers_just_before_a_document_makes_them_are_its_own) {
    manage_with("pools: {orders: {}}");
    const auto quicker = registry_.on_change([this](const change_record& record) {
        if (record.kind == change_kind::registered && record.pool == "mail" &&
            !registry_.find("news"))
            registry_.create({.name = "news", .settings = {.core_pool_size = 1}});
    });
    base_->give(
        "pools: {mail: {core_pool_size: 3, auto_create: true}, "
        "news: {core_pool_size: 2, maximum_pool_size: 5, auto_create: true}}");
    EXPECT_EQ(problems(), "");
    EXPECT_EQ(registry_.at("mail")->settings().core_pool_size, 3);
    EXPECT_EQ(registry_.at("news")->settings().maximum_pool_size, 5);
    base_->give("pools: {mail: {}}");
    EXPECT_EQ(registry_.at("news")->settings().core_pool_size, 1) << "as the code made it";
}

}  // namespace
}  // namespace cadre::manage
