// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/config_manager.hpp>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cadre/errors.hpp>
#include <cadre/manage/file_source.hpp>

#include "manage/support/managed_fixture.hpp"
#include "support/eventually.hpp"

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::eventually;
using ::testing::HasSubstr;

class config_manager_test : public managed_fixture {};

TEST_F(config_manager_test, applies_documents_at_the_start_and_as_they_come) {
    base_->first("pools: {orders: {core_pool_size: 3, maximum_pool_size: 5}}");
    site_->first("pools: {orders: {maximum_pool_size: 6}}");
    manage();
    EXPECT_EQ(settings().core_pool_size, 3);
    EXPECT_EQ(settings().maximum_pool_size, 6);
    EXPECT_EQ(manager_->status().applied, 1U);
    base_->give("pools: {orders: {core_pool_size: 1, maximum_pool_size: 9, keep_alive: 5s}}");
    EXPECT_EQ(settings().core_pool_size, 1);
    EXPECT_EQ(settings().maximum_pool_size, 6);
    EXPECT_EQ(settings().keep_alive, 5s);
    EXPECT_EQ(orders_->executor()->core_pool_size(), 1);
    const auto last = registry_.history().back();
    EXPECT_EQ(last.origin.source, "base");
    EXPECT_EQ(last.origin.source_revision, "2");
}

TEST_F(config_manager_test, keeps_what_is_in_force_when_a_document_is_refused) {
    base_->first("pools: {orders: {core_pool_size: 3}}");
    site_->fail();
    manage();
    const auto before = settings();
    base_->give("pools: {orders: {core_pool_size: 1, maximum_pol_size: 2}}");
    EXPECT_EQ(settings(), before);
    EXPECT_THAT(problems(), HasSubstr("base:1: pools.orders.maximum_pol_size: is not a key"));
    EXPECT_EQ(manager_->status().sources[0].revision, "1");
    EXPECT_EQ(manager_->status().sources[0].refused_revision, "2");
    base_->give("pools: {orders: {core_pool_size: 50}}");  // above the maximum that the code gave
    EXPECT_EQ(settings(), before);
    EXPECT_THAT(problems(), HasSubstr("base:1: pools.orders: maximum_pool_size"));
    base_->give("pools: {orders: {core_pool_size: 1}}");
    EXPECT_EQ(settings().core_pool_size, 1);
    EXPECT_EQ(problems(), "");
    EXPECT_EQ(manager_->status().refused, 2U);
}

TEST_F(config_manager_test, gives_back_what_the_code_said_when_a_key_or_a_pool_leaves) {
    base_->first("pools: {orders: {core_pool_size: 3, queue_capacity: 7}}");
    site_->fail();
    manage();
    base_->give("pools: {orders: {core_pool_size: 3}}");
    EXPECT_EQ(settings().queue_capacity, 100U);
    EXPECT_EQ(settings().core_pool_size, 3);
    base_->give("pools: {mail: {core_pool_size: 9}}");
    EXPECT_EQ(settings().core_pool_size, 2);
    EXPECT_THAT(manager_->status().orphans, ElementsAre("orders"));
    EXPECT_THAT(manager_->status().unmatched, ElementsAre("mail"));
}

TEST_F(config_manager_test, configures_pools_that_are_registered_later) {
    base_->first("pools: {mail: {core_pool_size: 3}, orders: {}}");
    site_->fail();
    manage();
    EXPECT_THAT(manager_->status().unmatched, ElementsAre("mail"));
    thread_pool_executor mail({.core_pool_size = 1, .maximum_pool_size = 8});
    const auto registered = registry_.add("mail", mail);
    EXPECT_EQ(mail.core_pool_size(), 3);
    EXPECT_TRUE(manager_->status().unmatched.empty());
}

TEST_F(config_manager_test, tells_of_a_later_pool_that_cannot_be_as_the_documents_say) {
    base_->first("pools: {mail: {core_pool_size: 30}, orders: {core_pool_size: 1}}");
    site_->fail();
    manage();
    thread_pool_executor mail({.core_pool_size = 1, .maximum_pool_size = 8});
    const auto registered = registry_.add("mail", mail);
    EXPECT_EQ(mail.core_pool_size(), 1);
    EXPECT_THAT(problems(), HasSubstr("pools.mail"));
    EXPECT_EQ(settings().core_pool_size, 1);
}

TEST_F(config_manager_test, creates_pools_that_may_be) {
    base_->first("pools: {mail: {core_pool_size: 3, maximum_pool_size: 4, auto_create: true}}");
    site_->fail();
    manage();
    ASSERT_NE(registry_.find("mail"), nullptr);
    EXPECT_EQ(registry_.at("mail")->executor()->core_pool_size(), 3);
    base_->give(
        "pools:\n  b: {auto_create: true}\n  orders: {core_pool_size: 1}\n  x: {auto_create: true, "
        "queue: array}\n");
    EXPECT_THAT(problems(), HasSubstr("base:4: pools.x: "));
    EXPECT_EQ(registry_.find("b"), nullptr);
    EXPECT_EQ(settings().core_pool_size, 2);
}

TEST_F(config_manager_test, lets_a_bad_document_of_one_source_not_hold_up_another) {
    base_->first("pools: {orders: {core_pool_size: }}");
    site_->first("pools: {orders: {keep_alive: 1s}}");
    manage();
    EXPECT_EQ(settings().keep_alive, 1s);
    EXPECT_THAT(problems(), HasSubstr("base:1: "));
    EXPECT_EQ(manager_->status().sources[0].origin, document_origin::none);
    EXPECT_EQ(manager_->status().sources[1].origin, document_origin::source);
    // What is wrong with a document may be what another one says.
    base_->give("pools: {orders: {core_pool_size: 8}}");
    EXPECT_EQ(settings().core_pool_size, 2);
    site_->give("pools: {orders: {maximum_pool_size: 8}}");
    EXPECT_EQ(settings().core_pool_size, 8);
    EXPECT_EQ(problems(), "");
}

TEST_F(config_manager_test, keeps_the_limits_of_the_documents_and_exempts_the_start_from_steps) {
    base_->first(
        "limits: {max_step: 2}\npools: {orders: {core_pool_size: 20, maximum_pool_size: 40}}");
    site_->fail();
    manage();
    EXPECT_EQ(settings().maximum_pool_size, 40);
    EXPECT_EQ(registry_.rails().max_step, 2);
    base_->give(
        "limits: {max_step: 2}\npools: {orders: {core_pool_size: 22, maximum_pool_size: 43}}");
    EXPECT_THAT(problems(),
                HasSubstr("base:2: pools.orders.maximum_pool_size: changes from 40 to 43"));
    EXPECT_EQ(settings().core_pool_size, 20);
    base_->give("pools: {orders: {core_pool_size: 22, maximum_pool_size: 43}}");
    EXPECT_EQ(settings().core_pool_size, 22);
    EXPECT_EQ(registry_.rails().max_step, std::nullopt);
}

TEST_F(config_manager_test, tells_of_every_result_and_starts_once) {
    std::atomic<int> results = 0;
    base_->first("pools: {orders: {core_pool_size: 1}, java: {}}\n");
    site_->fail();
    manage({.on_result = [&](const config_status& status) {
        results += status.sources.size() == 2 ? 1 : 0;
        throw std::runtime_error("dropped");
    }});
    const int at_start = results;
    EXPECT_GT(at_start, 0);
    base_->give("nonsense");
    EXPECT_EQ(results, at_start + 1);
    EXPECT_THROW(manager_->start(), illegal_state);
    manager_->stop();
    base_->give("pools: {orders: {core_pool_size: 2}}");
    EXPECT_EQ(settings().core_pool_size, 1);
}

/// Does what it is told to when it is started, and gives nothing.
class calling_source final : public config_source {
public:
    explicit calling_source(std::function<void()> call) : call_(std::move(call)) {}
    const std::string& name() const override { return name_; }
    void start(listener) override { call_(); }
    void stop() override {}
    source_health health() const override { return {}; }

private:
    const std::string name_ = "calling";
    const std::function<void()> call_;
};

TEST(config_manager, ends_a_start_that_waits_when_it_is_stopped) {
    pool_registry registry;
    std::promise<void> started;
    std::vector<std::unique_ptr<config_source>> sources;
    sources.push_back(std::make_unique<calling_source>([&] { started.set_value(); }));
    config_manager manager(registry, std::move(sources), {.start_wait = 1h});
    std::thread starter([&] { manager.start(); });
    started.get_future().wait();
    manager.stop();
    starter.join();
    EXPECT_EQ(manager.status().applied, 0U);
}

TEST(config_manager, does_not_mind_being_stopped_while_it_starts_its_sources) {
    pool_registry registry;
    config_manager* stopped = nullptr;
    std::vector<std::unique_ptr<config_source>> sources;
    sources.push_back(std::make_unique<calling_source>([&] { stopped->stop(); }));
    sources.push_back(embedded_source("pools: {}", document_format::yaml));
    config_manager manager(registry, std::move(sources));
    stopped = &manager;
    EXPECT_NO_THROW(manager.start());
}

TEST_F(config_manager_test, is_as_old_as_the_source_that_was_silent_longest) {
    base_->fail();
    site_->fail();
    const auto before = std::chrono::system_clock::now();
    manage();
    const auto age = manager_->age();
    EXPECT_LE(age, std::chrono::system_clock::now() - before);
    base_->answered(before - 1h);
    site_->answered(before - 2h);
    EXPECT_GE(manager_->age(), 2h);
    EXPECT_LT(manager_->age(), 3h);
    manager_->stop();
    EXPECT_EQ(manager_->age(), 0s);
}

TEST_F(config_manager_test, knows_how_old_its_news_are_when_the_wall_clock_was_set) {
    base_->fail();
    site_->fail();
    manage();
    const auto wall = std::chrono::system_clock::now();
    const auto now = std::chrono::steady_clock::now();
    base_->answered(wall - 24h, now);
    site_->answered(wall + 24h, now - 2h);
    EXPECT_GE(manager_->age(), 2h);
    EXPECT_LT(manager_->age(), 3h);
}

TEST(config_manager, follows_a_file) {
    std::string name = (std::filesystem::temp_directory_path() / "cadre_mgr_XXXXXX").string();
    const std::filesystem::path directory = mkdtemp(name.data());
    const auto file = directory / "pools.yaml";
    std::ofstream(file) << "pools: {a: {core_pool_size: 3, maximum_pool_size: 9}}";
    {
        pool_registry registry;
        const auto pool = registry.create({.name = "a", .settings = {.core_pool_size = 1}});
        std::vector<std::unique_ptr<config_source>> sources;
        sources.push_back(embedded_source("defaults: {keep_alive: 7s}", document_format::yaml));
        sources.push_back(file_source({.path = file, .settle = 1ms}));
        config_manager manager(registry, std::move(sources), {.start_wait = testing::guard});
        manager.start();
        EXPECT_EQ(pool->settings().core_pool_size, 3);
        EXPECT_EQ(pool->settings().keep_alive, 7s);
        std::ofstream(file) << "pools: {a: {core_pool_size: 4, maximum_pool_size: 9}}";
        EXPECT_TRUE(eventually([&] { return pool->settings().core_pool_size == 4; }));
    }
    std::filesystem::remove_all(directory);
}

TEST_F(config_manager_test, takes_documents_and_registrations_from_many_threads) {
    base_->first("pools: {orders: {core_pool_size: 1, maximum_pool_size: 50}}");
    site_->first("pools: {orders: {}}");
    manage();
    constexpr int rounds = 20;
    std::vector<std::thread> threads;
    for (auto* source : {base_, site_})
        threads.emplace_back([source] {
            for (int i = 1; i <= rounds; ++i)
                source->give(
                    "pools: {orders: {core_pool_size: " + std::to_string(i) +
                    ", maximum_pool_size: 50}, p1: {core_pool_size: 7, maximum_pool_size: 9}}");
        });
    threads.emplace_back([this] {
        for (int i = 0; i < rounds; ++i) {
            registry_.create({.name = "p1", .settings = {.core_pool_size = 1}});
            registry_.remove("p1");
        }
    });
    for (int i = 0; i < rounds; ++i) EXPECT_EQ(manager_->status().sources.size(), 2U);
    for (auto& t : threads) t.join();
    EXPECT_TRUE(eventually([&] { return settings().core_pool_size == rounds; }));
    EXPECT_EQ(problems(), "");
    const auto last = registry_.create({.name = "p1", .settings = {.core_pool_size = 1}});
    EXPECT_EQ(last->settings().core_pool_size, 7);
}

}  // namespace
}  // namespace cadre::manage
