// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cadre/manage/apollo_source.hpp>
#include <cadre/manage/config_manager.hpp>
#include <cadre/manage/consul_source.hpp>
#include <cadre/manage/etcd_source.hpp>
#include <cadre/manage/file_source.hpp>
#include <cadre/manage/http_source.hpp>
#include <cadre/manage/nacos_source.hpp>

#include "manage/source_loop.hpp"
#include "manage/support/centre_standins.hpp"
#include "manage/support/received_documents.hpp"
#include "support/held_task.hpp"

// Bugs that others have had with configuration, as docs/hazards.md lists them.

namespace cadre::manage {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::eventually;
using testing::fails_with;
using ::testing::HasSubstr;
using testing::loopback_http;
using ::testing::Not;
using testing::quick_backoff;
using testing::received_documents;
using testing::served_answer;
using testing::served_request;

/// A directory for one test.
class hazard_directory {
public:
    hazard_directory() {
        std::string name = (fs::temp_directory_path() / "cadre_hazard_XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~hazard_directory() { fs::remove_all(path_); }
    fs::path operator/(const std::string& name) const { return path_ / name; }

private:
    fs::path path_;
};

void put_into(const fs::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

/// Gives documents from whatever thread says so.
class hand_source final : public config_source {
public:
    const std::string& name() const override { return name_; }
    void start(listener to) override { listener_ = std::move(to); }
    void stop() override {}
    source_health health() const override {
        return {.state = source_state::failing, .failures = 1};
    }
    void give(const std::string& text) const { listener_({.text = text, .revision = "r"}); }

private:
    const std::string name_ = "by hand";
    listener listener_;
};

struct managed_by_hand {
    explicit managed_by_hand(config_manager_options options = {}) {
        std::vector<std::unique_ptr<config_source>> sources;
        sources.push_back(std::unique_ptr<config_source>(source));
        manager.emplace(registry, std::move(sources), std::move(options));
        manager->start();
    }
    void give(int core, int maximum) const {
        source->give("pools: {orders: {core_pool_size: " + std::to_string(core) +
                     ", maximum_pool_size: " + std::to_string(maximum) + "}}");
    }

    pool_registry registry;
    std::shared_ptr<managed_pool> orders = registry.create(
        {.name = "orders", .settings = {.core_pool_size = 1, .maximum_pool_size = 1}});
    hand_source* source = new hand_source;
    std::optional<config_manager> manager;
};

TEST(config_hazards, both_sizes_go_up_and_down_in_every_order) {
    const managed_by_hand plane;
    const std::pair<int, int> sizes[] = {{1, 1}, {1, 9}, {9, 9}, {3, 4}, {5, 8}, {0, 2}, {8, 20}};
    for (const auto& from : sizes)
        for (const auto& to : sizes)
            for (const auto& [core, maximum] : {from, to}) {
                plane.give(core, maximum);
                EXPECT_EQ(plane.orders->executor()->core_pool_size(), core);
                EXPECT_EQ(plane.orders->executor()->maximum_pool_size(), maximum);
            }
    EXPECT_TRUE(plane.manager->status().problems.empty());
}

TEST(config_hazards, changes_meet_the_end_of_pool_and_manager) {
    for (int round = 0; round < 20; ++round) {
        managed_by_hand plane;
        std::atomic<int> given = 0;
        std::thread giver([&] {
            for (int i = 1; i <= 50; ++i) {
                plane.give(i, 2 * i);
                ++given;
            }
        });
        while (given < round) std::this_thread::yield();
        if (round % 3 == 0) plane.orders->executor()->shutdown();
        if (round % 3 == 1) plane.registry.remove("orders");
        plane.manager->stop();
        const auto last = plane.orders->settings();
        giver.join();
        plane.give(60, 61);
        EXPECT_EQ(plane.orders->settings(), last) << "after stop() nothing changes";
    }
}

TEST(config_hazards, a_callback_that_throws_does_not_end_the_refreshes) {
    managed_by_hand plane(
        {.on_result = [](const config_status&) -> void { throw std::runtime_error("mine"); }});
    const auto listening =
        plane.registry.on_change([](const change_record&) { throw 42; });  // not even an exception
    for (int core = 2; core < 5; ++core) {
        plane.give(core, 10);
        EXPECT_EQ(plane.orders->settings().core_pool_size, core);
    }
}

/// Fails, and remembers when it was asked.
class failing_fetcher final : public detail::document_fetcher {
public:
    explicit failing_fetcher(std::vector<std::chrono::steady_clock::time_point>& asked,
                             std::mutex& mutex)
        : asked_(asked), mutex_(mutex) {}
    std::optional<config_document> fetch(const detail::stop_signal&) override {
        const std::lock_guard lock(mutex_);
        asked_.push_back(std::chrono::steady_clock::now());
        throw std::runtime_error("down");
    }

private:
    std::vector<std::chrono::steady_clock::time_point>& asked_;
    std::mutex& mutex_;
};

TEST(config_hazards, a_centre_that_is_down_is_asked_less_and_less_often) {
    std::vector<std::chrono::steady_clock::time_point> asked;
    std::mutex mutex;
    detail::source_loop source("down", std::make_unique<failing_fetcher>(asked, mutex), true,
                               {.first = 2ms, .longest = 16ms});
    source.start([](const config_document&) {});
    ASSERT_TRUE(eventually([&] { return source.health().failures >= 7; }));
    source.stop();
    const std::chrono::milliseconds least[] = {1ms, 2ms, 4ms, 8ms, 8ms, 8ms};
    for (std::size_t i = 0; i < std::size(least); ++i)
        EXPECT_GE(asked.at(i + 1) - asked.at(i), least[i]) << i;
}

TEST(config_hazards, a_file_that_flaps_is_given_when_it_has_settled) {
    const hazard_directory directory;
    put_into(directory / "pools.yaml", "first");
    const auto source = file_source(
        {.path = directory / "pools.yaml", .settle = 1h, .poll = 1h, .backoff = quick_backoff});
    {
        received_documents received(*source);
        ASSERT_TRUE(received.newest_is("first"));
        for (int i = 0; i < 100; ++i) put_into(directory / "pools.yaml", i % 2 == 0 ? "a" : "b");
        source->stop();
        EXPECT_EQ(received.all().size(), 1U);
    }
    const auto quicker =
        file_source({.path = directory / "pools.yaml", .settle = 5ms, .backoff = quick_backoff});
    received_documents received(*quicker);
    for (int i = 0; i < 100; ++i) put_into(directory / "pools.yaml", i % 2 == 0 ? "a" : "b");
    put_into(directory / "pools.yaml", "last");
    EXPECT_TRUE(received.newest_is("last"));
}

TEST(config_hazards, a_file_whose_time_and_size_stay_is_read_all_the_same) {
    const hazard_directory directory;
    const auto file = directory / "pools.yaml";
    put_into(file, "one");
    const auto time = fs::last_write_time(file);
    const auto source =
        file_source({.path = file, .settle = 1ms, .poll = 1h, .backoff = quick_backoff});
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    put_into(file, "two");
    fs::last_write_time(file, time);
    EXPECT_TRUE(received.newest_is("two"));
}

TEST(config_hazards, a_change_is_seen_though_the_queue_of_events_overflowed) {
    const hazard_directory directory;
    const auto file = directory / "pools.yaml";
    put_into(file, "one");
    int most_events = 16384;
    std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> most_events;
    const auto source =
        file_source({.path = file, .settle = 1ms, .poll = 1h, .backoff = quick_backoff});
    testing::gate go_on;
    std::atomic<int> calls = 0;
    std::atomic<bool> has_second = false;
    source->start([&](const config_document& document) {
        ++calls;
        if (document.text == "two") has_second = true;
        go_on.wait();  // so that nobody reads the events meanwhile
    });
    ASSERT_TRUE(eventually([&] { return calls == 1; }));
    for (int events = 0; events <= most_events; events += 3) {  // made, closed, deleted
        put_into(directory / "beside", "x");
        fs::remove(directory / "beside");
    }
    put_into(file, "two");
    go_on.open();
    EXPECT_TRUE(eventually([&] { return has_second.load(); }));
    source->stop();
}

TEST(config_hazards, a_link_to_itself_is_no_file) {
    const hazard_directory directory;
    fs::create_symlink("pools.yaml", directory / "pools.yaml");
    const auto source = file_source({.path = directory / "pools.yaml", .backoff = quick_backoff});
    const received_documents received(*source);
    EXPECT_TRUE(fails_with(*source, "symbolic links"));
}

TEST(config_hazards, redirects_are_not_followed) {
    testing::file_server elsewhere;
    elsewhere.set("pools: {}");
    for (const std::string& to : {elsewhere.url() + "/pools.yaml", std::string("file:///etc/hosts"),
                                  std::string("/pools.yaml"), std::string("//evil.example/")})
        for (const int status : {301, 302, 303, 307, 308}) {
            const loopback_http server([&](const served_request&) -> served_answer {
                return {.status = status, .headers = {{"Location", to}}};
            });
            const auto source =
                http_source({.url = server.url() + "/pools.yaml", .backoff = quick_backoff});
            const received_documents received(*source);
            EXPECT_TRUE(fails_with(*source, "status " + std::to_string(status)));
        }
    EXPECT_TRUE(elsewhere.requests().empty());
}

TEST(config_hazards, a_single_old_answer_does_not_bring_back_what_was) {
    testing::consul_standin consul;
    consul.set("zero");
    consul.set("one");
    const auto source = consul_source(
        {.agents = {consul.url()}, .key = "a.yaml", .pace = 1ms, .backoff = quick_backoff});
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    consul.inject({.body = R"([{"Value":")" + detail::to_base64("zero") + R"(","ModifyIndex":2}])",
                   .headers = {{"X-Consul-Index", "2"}}});
    EXPECT_TRUE(eventually([&] {
        return source->health().last_error.find("went back from 3 to 2") != std::string::npos;
    }));
    consul.set("two");
    ASSERT_TRUE(received.newest_is("two"));
    EXPECT_EQ(received.all().size(), 2U);
}

const std::string secret_word = "s3cr3tW0rd";

std::unique_ptr<config_source> source_with_secrets(int kind, const std::string& url) {
    switch (kind) {
        case 0:
            return http_source({.url = url + "/a.yaml?key=" + secret_word,
                                .headers = {"Authorization: Bearer " + secret_word},
                                .backoff = quick_backoff});
        case 1:
            return apollo_source({.config_services = {url},
                                  .app_id = "shop",
                                  .secret = secret_word,
                                  .pace = 1ms,
                                  .backoff = quick_backoff});
        case 2:
            return apollo_source({.meta = url,
                                  .app_id = "shop",
                                  .secret = secret_word,
                                  .pace = 1ms,
                                  .backoff = quick_backoff});
        case 3:
            return consul_source({.agents = {url},
                                  .key = "a.yaml",
                                  .token = secret_word,
                                  .pace = 1ms,
                                  .backoff = quick_backoff});
        case 4:
            return etcd_source({.endpoints = {url},
                                .key = "a.yaml",
                                .username = "u",
                                .password = secret_word,
                                .pace = 1ms,
                                .backoff = quick_backoff});
        default:
            return nacos_source({.servers = {url},
                                 .data_id = "a.yaml",
                                 .username = "u",
                                 .password = secret_word,
                                 .protocol = kind == 5 ? nacos_protocol::v1 : nacos_protocol::v3,
                                 .pace = 1ms,
                                 .backoff = quick_backoff});
    }
}

TEST(config_hazards, no_source_tells_its_secrets) {
    // It gives back what it was sent, in ways that lead to messages.
    std::atomic<std::size_t> manner = 0;
    std::atomic<int> asked = 0;
    const loopback_http server([&](const served_request& request) -> served_answer {
        ++asked;
        const std::string tokens =
            R"({"accessToken":")" + secret_word + R"(","token":")" + secret_word;
        const served_answer manners[] = {{.status = 401, .body = R"({"message":"no"})"},
                                         {.status = 500, .body = request.target + request.body},
                                         {.body = tokens + "\"}"},
                                         {.body = tokens},
                                         {.body = "{\"a\":" + secret_word},
                                         {.status = 404, .body = "<html>"},
                                         {.status = 0}};
        return manners[manner % std::size(manners)];
    });
    const std::string url = "http://user:" + secret_word + "@" + server.url().substr(7);
    for (manner = 0; manner < 7; ++manner)
        for (int kind = 0; kind < 7; ++kind) {
            const auto source = source_with_secrets(kind, url);
            EXPECT_THAT(source->name(), Not(HasSubstr(secret_word)));
            const int before = asked;
            source->start([](const config_document&) {});
            ASSERT_TRUE(
                eventually([&] { return asked > before + 2 || source->health().documents > 0; }));
            source->stop();
            EXPECT_THAT(source->health().last_error, Not(HasSubstr(secret_word)))
                << manner << " " << kind;
        }
}

}  // namespace
}  // namespace cadre::manage
