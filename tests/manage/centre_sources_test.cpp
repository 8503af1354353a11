// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cadre/manage/consul_source.hpp>
#include <cadre/manage/http_source.hpp>
#include <cadre/manage/nacos_source.hpp>

#include "manage/centre.hpp"
#include "manage/digest.hpp"
#include "manage/support/centre_standins.hpp"
#include "manage/support/received_documents.hpp"

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using testing::consul_standin;
using testing::eventually;
using testing::fails_with;
using testing::file_server;
using testing::nacos_standin;
using testing::quick_backoff;
using testing::received_documents;
using testing::served_answer;
using testing::standin;

/// The same for all: changes arrive, and go on arriving after each fault.
void survives_faults(standin& server, const config_source& source, received_documents& received) {
    const served_answer faults[] = {
        {.status = 0},
        {.status = 500},
        {.status = 403},
        {.body = "[{\"Value\":", .cut_after = 5},
        {.status = 302, .headers = {{"Location", "http://127.0.0.1:1/"}}}};
    int round = 0;
    for (const auto& fault : faults) {
        server.inject(fault);
        ASSERT_TRUE(eventually([&] { return server.all_injected(); }));
        const std::string text = "after " + std::to_string(++round);
        server.set(text);
        ASSERT_TRUE(received.newest_is(text)) << fault.status;
    }
    EXPECT_TRUE(eventually([&] { return source.health().state == source_state::healthy; }));
    EXPECT_FALSE(source.health().last_error.empty());
}

TEST(http_source, asks_again_with_the_etag_it_has) {
    file_server server;
    server.set("one");
    const auto source = http_source({.url = server.url() + "/pools.yaml?x=1",
                                     .headers = {"Authorization: Bearer 123"},
                                     .interval = 1ms,
                                     .timeout = testing::guard,
                                     .backoff = quick_backoff});
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    ASSERT_TRUE(eventually([&] { return server.requests().size() > 3; }));
    EXPECT_EQ(received.all().size(), 1U);
    EXPECT_EQ(server.requests()[0].headers.at("authorization"), "Bearer 123");
    EXPECT_EQ(server.requests()[2].headers.at("if-none-match"), received.all()[0].revision);
    EXPECT_EQ(source->name(), server.url() + "/pools.yaml");
    survives_faults(server, *source, received);
    server.set({});
    EXPECT_TRUE(fails_with(*source, "there is no document"));
}

TEST(http_source, reads_what_was_compressed_without_being_asked) {
    constexpr char one[] =
        "\037\213\010\000\000\000\000\000\002\003\313\317\113\005\000"
        "\361\206\154\172\003\000\000\000";
    testing::loopback_http server([&](const auto& request) {
        const auto asked = request.headers.find("accept-encoding");
        if (asked == request.headers.end() || asked->second != "identity")
            return served_answer{.status = 400};
        return served_answer{.body = std::string(one, sizeof one - 1),
                             .headers = {{"Content-Encoding", "gzip"}}};
    });
    const auto source = http_source({.url = server.url() + "/pools.yaml"});
    received_documents received(*source);
    EXPECT_TRUE(received.newest_is("one"));
}

TEST(http_source, refuses_an_answer_without_end_and_urls_of_other_kinds) {
    file_server server;
    server.set(std::string((4 << 20) + 1, 'x'));
    const auto source = http_source({.url = server.url() + "/a.json", .backoff = quick_backoff});
    const received_documents received(*source);
    EXPECT_TRUE(fails_with(*source, "more than 4194304 bytes"));
    EXPECT_THROW(http_source({.url = "file:///etc/pools.yaml"}), std::invalid_argument);
    EXPECT_THROW(http_source({.url = "http://127.0.0.1/pools"}), std::invalid_argument);
}

TEST(http_source, asks_for_the_very_url) {
    file_server server;
    server.set("one");
    const std::string asked = "/shop/?path=pools/";
    const auto source = http_source({.url = server.url() + asked,
                                     .format = document_format::yaml,
                                     .interval = 1ms,
                                     .backoff = quick_backoff});
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    EXPECT_EQ(server.requests()[0].target, asked);
}

TEST(http_source, asks_without_the_etag_after_it_was_refused_with_it) {
    file_server server;
    server.set("one");
    const auto source = http_source({.url = server.url() + "/pools.yaml",
                                     .interval = 1ms,
                                     .timeout = testing::guard,
                                     .backoff = quick_backoff});
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    server.inject({.status = 431});
    EXPECT_TRUE(eventually([&] {  // the first, and the one after the refusal
        const auto asked = server.requests();
        return std::count_if(asked.begin(), asked.end(), [](const auto& request) {
                   return !request.headers.contains("if-none-match");
               }) == 2;
    }));
}

TEST(config_source, does_not_ask_without_a_pause_or_wait_for_ever) {
    EXPECT_THROW(http_source({.url = "http://h/a.yaml", .interval = 0ms}), std::invalid_argument);
    EXPECT_THROW(http_source({.url = "http://h/a.yaml", .timeout = 0ms}), std::invalid_argument);
    EXPECT_THROW(consul_source({.key = "a.yaml", .pace = -1ms}), std::invalid_argument);
    EXPECT_THROW(nacos_source({.data_id = "a.yaml", .interval = 0ms}), std::invalid_argument);
}

TEST(http_source, tells_of_a_server_that_is_not_there) {
    const auto source =
        http_source({.url = "http://user:secret@127.0.0.1:1/a.yaml", .backoff = quick_backoff});
    const received_documents received(*source);
    EXPECT_TRUE(fails_with(*source, "http://127.0.0.1:1/a.yaml: "));
}

TEST(consul_source, blocks_until_the_key_changes) {
    consul_standin consul;
    consul.set("one");
    const auto source = consul_source({.agents = {consul.url()},
                                       .key = "shop/pools v2.yaml",
                                       .token = "t",
                                       .pace = 1ms,
                                       .backoff = quick_backoff});
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    consul.set("two");
    ASSERT_TRUE(received.newest_is("two"));
    EXPECT_EQ(received.all().back().revision, "3");
    EXPECT_EQ(consul.requests()[0].path, "/v1/kv/shop/pools%20v2.yaml");
    EXPECT_EQ(consul.requests()[0].headers.at("x-consul-token"), "t");
    EXPECT_EQ(consul.requests()[0].query.at("index"), "0");
    EXPECT_EQ(consul.requests()[1].query.at("wait"), "55s");
    survives_faults(consul, *source, received);
}

TEST(consul_source, starts_anew_when_the_index_goes_back_or_is_missing) {
    consul_standin consul;
    consul.set("one");
    consul.set_version(100);
    const auto source = consul_source(
        {.agents = {consul.url()}, .key = "a.yaml", .pace = 1ms, .backoff = quick_backoff});
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    consul.set_version(4);
    consul.set("two");
    ASSERT_TRUE(received.newest_is("two"));
    consul.set_version(0);  // would never block
    ASSERT_TRUE(eventually([&] { return consul.requests().back().query.at("index") == "1"; }));
    consul.inject({.body = "[]"});
    ASSERT_TRUE(eventually([&] { return consul.all_injected(); }));
    EXPECT_TRUE(eventually(
        [&] { return source->health().last_error.find("Consul-Index") != std::string::npos; }));
    consul.set("three");
    EXPECT_TRUE(received.newest_is("three"));
}

TEST(consul_source, makes_no_pauses_that_grow_while_its_key_is_not_there) {
    consul_standin consul;
    consul.hold_polls_for(1ms);
    const auto source = consul_source(
        {.agents = {consul.url()}, .key = "a.yaml", .pace = 1ms, .backoff = {1ms, 1h}});
    const received_documents received(*source);
    EXPECT_TRUE(eventually([&] { return source->health().failures > 25; }));
}

TEST(consul_source, sees_a_key_come_and_go) {
    consul_standin consul;
    const auto source = consul_source({.agents = {consul.url()},
                                       .key = "a.yaml",
                                       .required = false,
                                       .pace = 1ms,
                                       .backoff = quick_backoff});
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is_absent());
    consul.set("one");
    ASSERT_TRUE(received.newest_is("one"));
    consul.set({});
    EXPECT_TRUE(received.newest_is_absent());
    EXPECT_THROW(consul_source({.key = "a.yaml", .wait = 11min}), std::invalid_argument);
}

nacos_source_options asking(const nacos_standin& nacos) {
    return {.servers = {nacos.url()},
            .data_id = "pools.yaml",
            .group = "shop",
            .namespace_id = "ns",
            .interval = 1ms,
            .pace = 1ms,
            .backoff = quick_backoff};
}

TEST(nacos_source, makes_no_pause_longer_than_it_may) {
    const auto source = nacos_source(
        {.servers = {"http://127.0.0.1:1"}, .data_id = "pools.yaml", .backoff = quick_backoff});
    const received_documents received(*source);
    EXPECT_TRUE(eventually([&] { return source->health().failures > 25; }));
}

TEST(revision_order, believes_an_older_one_only_when_it_comes_three_times_in_a_row) {
    detail::revision_order order;
    const auto is_believed = [&](std::int64_t revision) {
        try {
            order.check(revision, "http://localhost");
            return true;
        } catch (const detail::http_failure&) {
            return false;
        }
    };
    EXPECT_TRUE(is_believed(5));
    EXPECT_FALSE(is_believed(3));
    EXPECT_TRUE(is_believed(6));
    EXPECT_FALSE(is_believed(4));
    EXPECT_FALSE(is_believed(4));
    EXPECT_TRUE(is_believed(4));
    EXPECT_TRUE(is_believed(5));
}

TEST(nacos_source, goes_on_failing_while_its_document_is_not_there) {
    nacos_standin nacos;
    nacos.hold_polls_for(1ms);
    auto options = asking(nacos);
    options.backoff = {1ms, 1h};
    const auto source = nacos_source(options);
    received_documents received(*source);
    // Polls without news do not begin the count anew, and no pause grows.
    ASSERT_TRUE(eventually([&] { return source->health().failures > 25; }));
    nacos.set("one");
    EXPECT_TRUE(received.newest_is("one"));
}

TEST(nacos_source, asks_the_next_server_when_one_does_not_answer) {
    nacos_standin nacos;
    nacos.set("one");
    auto options = asking(nacos);
    options.servers = {"http://127.0.0.1:1", nacos.url()};
    const auto source = nacos_source(options);
    received_documents received(*source);
    EXPECT_TRUE(received.newest_is("one"));
}

TEST(nacos_source, listens_by_long_polls_to_older_servers) {
    nacos_standin nacos;
    nacos.set("one");
    const auto source = nacos_source(asking(nacos));
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    nacos.set("two");
    ASSERT_TRUE(received.newest_is("two"));
    EXPECT_EQ(received.all().back().revision, detail::to_hex(detail::md5("two")));
    bool listened = false;
    for (const auto& r : nacos.requests())
        if (r.path.ends_with("/listener")) {
            EXPECT_EQ(r.headers.at("long-pulling-timeout"), "30000");
            listened = true;
        }
    EXPECT_TRUE(listened);
    survives_faults(nacos, *source, received);
}

TEST(nacos_source, asks_newer_servers_again_and_again) {
    nacos_standin nacos(true);
    nacos.set("one");
    const auto source = nacos_source(asking(nacos));
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    survives_faults(nacos, *source, received);
    nacos.set({});
    EXPECT_TRUE(fails_with(*source, "there is no document"));
}

TEST(nacos_source, logs_in_and_again_when_its_token_is_refused) {
    for (const auto& [v3, protocol] : {std::pair(false, nacos_protocol::v1),
                                       {true, nacos_protocol::v3},
                                       {false, nacos_protocol::probe},
                                       {true, nacos_protocol::probe}}) {
        nacos_standin nacos(v3, true);
        nacos.set("one");
        auto options = asking(nacos);
        const auto stranger = nacos_source(options);
        options.username = "nacos";
        options.password = "p&w";
        options.protocol = protocol;
        const auto source = nacos_source(options);
        const received_documents nothing(*stranger);
        received_documents received(*source);
        EXPECT_TRUE(fails_with(*stranger, "403"));
        ASSERT_TRUE(received.newest_is("one"));
        nacos.forget_tokens();
        nacos.set("two");
        EXPECT_TRUE(received.newest_is("two"));
    }
}

TEST(nacos_source, takes_a_path_that_is_refused_or_closed_for_one_of_an_older_server) {
    for (const int status : {403, 404, 405, 410, 501}) {
        nacos_standin nacos;
        nacos.set("one");
        nacos.inject({.status = status});
        const auto source = nacos_source(asking(nacos));
        received_documents received(*source);
        ASSERT_TRUE(received.newest_is("one"));
        EXPECT_EQ(source->health().last_error, "") << status;
    }
}

TEST(nacos_source, takes_no_path_that_is_not_there_for_a_document_that_is_not) {
    nacos_standin nacos;
    nacos.set("one");
    auto options = asking(nacos);
    options.required = false;
    options.protocol = nacos_protocol::v1;
    const auto source = nacos_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    // As of a server that is starting: first to the poll, then to each read.
    for (int i = 0; i < 3; ++i) nacos.inject({.status = 404, .body = "<html>"});
    ASSERT_TRUE(eventually([&] { return nacos.all_injected(); }));
    nacos.set("two");
    ASSERT_TRUE(received.newest_is("two"));
    EXPECT_THAT(source->health().last_error, ::testing::HasSubstr("404"));
    for (const auto& document : received.all()) EXPECT_TRUE(document.exists);
}

TEST(nacos_source, knows_a_document_that_is_not_there_from_a_server_that_forbade_the_newer_path) {
    nacos_standin nacos;
    nacos.inject({.status = 403});  // to the probe
    auto options = asking(nacos);
    options.required = false;
    const auto source = nacos_source(options);
    received_documents received(*source);
    EXPECT_TRUE(received.newest_is_absent());
    EXPECT_EQ(source->health().last_error, "");
}

TEST(nacos_source, sees_a_document_come_and_go) {
    nacos_standin nacos;
    auto options = asking(nacos);
    options.required = false;
    const auto source = nacos_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is_absent());
    nacos.set("one");
    ASSERT_TRUE(received.newest_is("one"));
    nacos.set({});
    EXPECT_TRUE(received.newest_is_absent());
    EXPECT_THROW(nacos_source({.data_id = ""}), std::invalid_argument);
    EXPECT_THROW(nacos_source({.data_id = "a.yaml", .group = ""}), std::invalid_argument);
}

}  // namespace
}  // namespace cadre::manage
