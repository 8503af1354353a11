// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/etcd_source.hpp>

#include <signal.h>

#include <string>

#include <gtest/gtest.h>

#include "manage/support/chaos_proxy.hpp"
#include "manage/support/etcd_server.hpp"
#include "manage/support/loopback_http.hpp"
#include "manage/support/received_documents.hpp"

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using testing::chaos_proxy;
using testing::etcd_server;
using testing::eventually;
using testing::fails_with;
using testing::quick_backoff;
using testing::received_documents;

etcd_source_options watching(const etcd_server& server) {
    return {.endpoints = {server.url()},
            .key = "shop/pools.yaml",
            .timeout = testing::guard,
            .pace = 1ms,
            .backoff = quick_backoff};
}

TEST(etcd_source, gives_the_value_of_a_key_and_its_changes) {
    etcd_server etcd;
    etcd.put("shop/pools.yaml", "one");
    const auto source = etcd_source(watching(etcd));
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    for (int i = 0; i < 5; ++i) {
        etcd.put("shop/pools.yaml2", "another key");
        etcd.put("shop/pools.yaml", std::to_string(i));
        ASSERT_TRUE(received.newest_is(std::to_string(i)));
    }
    EXPECT_GT(std::stoi(received.all().back().revision), std::stoi(received.all()[0].revision));
}

TEST(etcd_source, asks_the_next_server_when_one_does_not_answer) {
    etcd_server etcd;
    etcd.put("shop/pools.yaml", "one");
    auto options = watching(etcd);
    options.endpoints = {"http://127.0.0.1:1", etcd.url()};
    const auto source = etcd_source(options);
    received_documents received(*source);
    EXPECT_TRUE(received.newest_is("one"));
}

TEST(etcd_source, makes_no_pauses_that_grow_while_its_key_is_not_there) {
    etcd_server etcd;
    auto options = watching(etcd);
    options.renew_watch = 1ms;
    options.backoff = {1ms, 1h};
    const auto source = etcd_source(options);
    const received_documents received(*source);
    EXPECT_TRUE(eventually([&] { return source->health().failures > 25; }));
}

TEST(etcd_source, waits_for_a_key_that_is_not_there_and_sees_it_deleted) {
    etcd_server etcd;
    auto options = watching(etcd);
    const auto required = etcd_source(options);
    options.required = false;
    const auto optional = etcd_source(options);
    received_documents from_required(*required);
    received_documents from_optional(*optional);
    ASSERT_TRUE(from_optional.newest_is_absent());
    ASSERT_TRUE(fails_with(*required, "there is no document"));
    etcd.put("shop/pools.yaml", "one");
    ASSERT_TRUE(from_optional.newest_is("one"));
    ASSERT_TRUE(from_required.newest_is("one"));
    etcd.remove("shop/pools.yaml");
    ASSERT_TRUE(from_optional.newest_is_absent());
    ASSERT_TRUE(fails_with(*required, "there is no document"));
    EXPECT_EQ(from_required.all().size(), 1U);
}

TEST(etcd_source, goes_on_after_etcd_was_killed_changed_and_compacted) {
    etcd_server etcd;
    etcd.put("shop/pools.yaml", "one");
    const auto source = etcd_source(watching(etcd));
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    etcd.end(SIGKILL);
    ASSERT_TRUE(eventually([&] { return source->health().failures > 1; }));
    etcd.start();
    etcd.put("shop/pools.yaml", "two");
    ASSERT_TRUE(received.newest_is("two"));
    etcd.end(SIGTERM);
    ASSERT_TRUE(eventually([&] { return source->health().failures > 1; }));
    etcd.start();
    etcd.put("shop/pools.yaml", "missed");
    etcd.put("shop/pools.yaml", "three");
    etcd.compact_all();
    EXPECT_TRUE(received.newest_is("three"));
    EXPECT_TRUE(eventually([&] { return source->health().state == source_state::healthy; }));
}

TEST(etcd_source, reads_again_when_the_revisions_it_would_watch_are_compacted) {
    etcd_server etcd;
    chaos_proxy proxy(etcd.url());
    etcd.put("shop/pools.yaml", "one");
    auto options = watching(etcd);
    options.endpoints = {proxy.url()};
    proxy.hold_requests("/v3/watch");
    const auto source = etcd_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    ASSERT_TRUE(eventually([&] { return proxy.holds_one(); }));
    etcd.put("shop/pools.yaml", "two");
    etcd.put("shop/pools.yaml", "three");
    etcd.compact_all();
    proxy.let_through();
    ASSERT_TRUE(received.newest_is("three"));
    etcd.put("shop/pools.yaml", "four");
    ASSERT_TRUE(received.newest_is("four"));
    EXPECT_EQ(source->health().last_error, "");
}

TEST(etcd_source, logs_in_again_when_its_token_was_revoked) {
    etcd_server etcd;
    etcd.put("shop/pools.yaml", "one");
    etcd.require_password();
    auto options = watching(etcd);
    options.username = "root";
    options.password = "secret";
    const auto source = etcd_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    for (int i = 0; i < 3; ++i) {
        // Even the same one: tokens are of one revision of what etcd knows of its users.
        etcd.call("/v3/auth/user/changepw", R"({"name":"root","password":"secret"})");
        etcd.log_in();
        etcd.put("shop/pools.yaml", std::to_string(i));
        ASSERT_TRUE(received.newest_is(std::to_string(i)));
    }
}

TEST(etcd_source, takes_over_a_store_that_begins_anew) {
    etcd_server etcd;
    for (const std::string text : {"0", "1", "2", "old"}) etcd.put("shop/pools.yaml", text);
    const auto source = etcd_source(watching(etcd));
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("old"));
    etcd.end(SIGKILL);
    etcd.forget_everything();
    etcd.start();
    etcd.put("shop/pools.yaml", "new");
    EXPECT_TRUE(received.newest_is("new"));
    EXPECT_NE(source->health().last_error, "");
}

TEST(etcd_source, does_not_follow_a_key_that_flaps_faster_than_its_pace) {
    etcd_server etcd;
    etcd.put("shop/pools.yaml", "one");
    auto options = watching(etcd);
    options.pace = 1h;  // two reads, and the next in an hour
    const auto source = etcd_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    for (int i = 0; i < 50; ++i) etcd.put("shop/pools.yaml", std::to_string(i));
    source->stop();
    EXPECT_LE(received.all().size(), 2U);
}

TEST(etcd_source, logs_in_and_again_when_its_token_is_forgotten) {
    etcd_server etcd;
    etcd.put("shop/pools.yaml", "one");
    etcd.require_password();
    auto options = watching(etcd);
    const auto stranger = etcd_source(options);
    options.username = "root";
    options.password = "wrong";
    const auto liar = etcd_source(options);
    options.password = "secret";
    const auto source = etcd_source(options);
    const received_documents nothing(*stranger);
    const received_documents nothing_either(*liar);
    received_documents received(*source);
    EXPECT_TRUE(fails_with(*stranger, "user name is empty"));
    EXPECT_TRUE(fails_with(*liar, "authentication failed"));
    ASSERT_TRUE(received.newest_is("one"));
    etcd.end(SIGKILL);
    etcd.start();
    etcd.log_in();
    etcd.put("shop/pools.yaml", "two");
    EXPECT_TRUE(received.newest_is("two"));
}

TEST(etcd_source, tells_the_status_of_a_proxy_that_has_no_etcd) {
    const testing::loopback_http proxy([](const auto&) {
        return testing::served_answer{.status = 502, .body = "<html>Bad Gateway</html>"};
    });
    const auto source = etcd_source({.endpoints = {proxy.url()}, .key = "shop/pools.yaml"});
    const received_documents received(*source);
    EXPECT_TRUE(fails_with(*source, "/v3/kv/range answered with status 502"));
}

TEST(etcd_source, stops_in_the_middle_of_a_watch) {
    etcd_server etcd;
    etcd.put("shop/pools.yaml", "one");
    const auto source = etcd_source(watching(etcd));
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    source->stop();
    EXPECT_EQ(source->health().state, source_state::stopped);
}

TEST(etcd_source, refuses_what_it_cannot_ask_for) {
    EXPECT_THROW(etcd_source({.key = ""}), std::invalid_argument);
    EXPECT_THROW(etcd_source({.key = "pools"}), std::invalid_argument);
    EXPECT_THROW(etcd_source({.endpoints = {}, .key = "a.yaml"}), std::invalid_argument);
    EXPECT_THROW(etcd_source({.endpoints = {"file:///etc/passwd"}, .key = "a.yaml"}),
                 std::invalid_argument);
}

}  // namespace
}  // namespace cadre::manage
