// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/apollo_source.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include "manage/apollo_release.hpp"
#include "manage/support/apollo_standin.hpp"
#include "manage/support/received_documents.hpp"

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using testing::apollo_standin;
using testing::eventually;
using testing::fails_with;
using testing::item_map;
using testing::loopback_http;
using testing::quick_backoff;
using testing::received_documents;
using testing::served_answer;

apollo_source_options asking(const apollo_standin& apollo) {
    return {.config_services = {apollo.url()},
            .app_id = "shop",
            .timeout = testing::guard,
            .pace = 1ms,
            .backoff = quick_backoff};
}

// The first is from Apollo's own tests.
TEST(apollo_source, signs_as_apollo_does) {
    const std::string secret = "df23df3f59884980844ff3dada30fa97";
    EXPECT_EQ(detail::apollo_signature(secret, "1576478257344",
                                       "/configs/100004458/default/application?ip=10.0.0.1"),
              "EoKyziXvKqzHgwx+ijDJwgVTDgE=");
    EXPECT_EQ(
        detail::apollo_signature(
            secret, "1576478257344",
            "/notifications/v2?appId=100004458&cluster=default&notifications=%5B%7B%22namespace"
            "Name%22%3A%22application%22%2C%22notificationId%22%3A-1%7D%5D"),
        "U7FvGP8t1lsfr9oMxrGMAjzJ8Gw=");
}

TEST(apollo_source, gives_releases_as_they_are_pushed) {
    apollo_standin apollo;
    apollo.set_secret("s3cret");
    apollo.publish("one");
    auto options = asking(apollo);
    options.secret = "s3cret";
    options.ip = "10.0.0.7";
    options.label = "blue";
    options.data_center = "eu";
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    for (int i = 0; i < 5; ++i) {
        apollo.publish(std::to_string(i));
        ASSERT_TRUE(received.newest_is(std::to_string(i)));
    }
    EXPECT_EQ(received.all().back().format, document_format::yaml);
    EXPECT_EQ(received.all().back().revision, "release-6");
    const auto read = apollo.requests("/configs/shop/default/cadre.yaml").at(0);
    EXPECT_EQ(read.query.at("ip"), "10.0.0.7");
    EXPECT_EQ(read.query.at("label"), "blue");
    EXPECT_EQ(read.query.at("dataCenter"), "eu");
    EXPECT_EQ(source->health().failures, 0);
}

TEST(apollo_source, gives_a_namespace_of_properties_as_properties) {
    apollo_standin apollo;
    apollo.publish(item_map{{"pools.a b.core_pool_size", "8"}, {"x", "#y: z="}});
    auto options = asking(apollo);
    options.name_space = "application.properties";
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(eventually([&] { return !received.all().empty(); }));
    const auto document = received.all()[0];
    EXPECT_EQ(document.format, document_format::properties);
    const auto root = parse_document(document.text, "x", document.format).root;
    EXPECT_EQ(root.find("x")->value, "#y: z=");
    EXPECT_EQ(root.find("pools")->find("a b")->find("core_pool_size")->value, "8");
    EXPECT_EQ(apollo.requests("/configs/").at(0).path, "/configs/shop/default/application");
}

TEST(apollo_source, asks_the_meta_server_until_it_knows_a_service) {
    apollo_standin apollo;
    apollo.publish("one");
    apollo.inject("/services", {.body = "[]"});
    apollo.inject("/services", {.status = 500});
    auto options = asking(apollo);
    options.meta = options.config_services[0] + "/";
    options.config_services.clear();
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    EXPECT_TRUE(apollo.all_injected());
    EXPECT_EQ(apollo.requests("/services").at(0).query.at("appId"), "shop");
}

TEST(apollo_source, asks_the_next_of_several_meta_servers) {
    apollo_standin apollo;
    apollo.publish("one");
    auto options = asking(apollo);
    options.meta = "http://127.0.0.1:1, " + apollo.url() + "/";
    options.config_services.clear();
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    EXPECT_EQ(source->health().failures, 0);
}

TEST(apollo_source, takes_the_addresses_that_are_some_from_a_meta_server) {
    apollo_standin apollo;
    apollo.publish("one");
    apollo.inject("/services", {.body = R"([{"homepageUrl":null},{"homepageUrl":")" + apollo.url() +
                                        R"(/"},{"homepageUrl":"ftp://x"}])"});
    auto options = asking(apollo);
    options.meta = apollo.url();
    options.config_services.clear();
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    EXPECT_EQ(source->health().last_error, "");
}

TEST(apollo_source, does_not_lose_a_release_that_another_service_has_not_seen_yet) {
    apollo_standin quick;
    apollo_standin slow;
    quick.publish("one");
    slow.publish("one");
    auto options = asking(quick);
    options.config_services = {quick.url(), slow.url()};
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    ASSERT_TRUE(eventually([&] { return quick.requests("/configs").size() > 1; }));
    // The one that notifies cannot be read from, the other has the release but does not know.
    slow.be_behind();
    slow.publish("two");
    quick.inject("/configs", {.status = 0});
    quick.publish("two");
    EXPECT_TRUE(received.newest_is("two"));
}

TEST(apollo_source, goes_on_after_every_fault) {
    const std::string id_back = R"([{"namespaceName":"cadre.yaml","notificationId":1}])";
    const served_answer configs_faults[] = {
        {.status = 0},
        {.status = 401},
        {.status = 500},
        {.body = R"({"releaseKey":"x","configurations":{"content":"half)", .cut_after = 40},
        {.body = R"({"releaseKey":"x","configurations":)"},
        {.body = R"({"releaseKey":"x","configSyncType":"Sideways"})"},
        {.body = R"({"releaseKey":"x","configurations":{"other":"x"}})"},
        {.body = R"({"releaseKey":"x","configurations":{"content":5}})"},
        {.body = R"({"releaseKey":"x","configurations":{"content":null}})"},
        {.body = R"([])"}};
    const served_answer poll_faults[] = {{.status = 0},     {.status = 400},
                                         {.status = 401},   {.status = 504},
                                         {.body = "[]"},    {.body = "[{]"},
                                         {.body = id_back}, {.body = "{}"},
                                         {.body = "[1]"},   {.body = "[]", .cut_after = 1}};
    apollo_standin apollo;
    apollo.publish("0");
    const auto source = apollo_source(asking(apollo));
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("0"));
    int round = 0;
    const auto try_fault = [&](const std::string& path, const served_answer& fault) {
        apollo.inject(path, fault);
        const std::string text = std::to_string(++round);
        apollo.publish(text);
        ASSERT_TRUE(received.newest_is(text)) << path << " " << fault.status << fault.body;
        ASSERT_TRUE(eventually([&] { return apollo.all_injected(); }));
    };
    for (const auto& fault : configs_faults) try_fault("/configs", fault);
    for (const auto& fault : poll_faults) try_fault("/notifications", fault);
    EXPECT_TRUE(eventually([&] { return source->health().state == source_state::healthy; }));
}

TEST(apollo_source, merges_increments) {
    apollo_standin apollo;
    apollo.answer_by_increments();
    apollo.publish(item_map{{"a", "1"}, {"b", "2"}});
    auto options = asking(apollo);
    options.name_space = "application";
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("a=1\nb=2\n"));
    apollo.publish(item_map{{"b", "3"}, {"c", "4"}});
    EXPECT_TRUE(received.newest_is("b=3\nc=4\n"));
}

TEST(apollo_source, waits_for_a_first_release_and_a_new_key) {
    apollo_standin apollo;
    const auto source = apollo_source(asking(apollo));
    received_documents received(*source);
    ASSERT_TRUE(fails_with(*source, "there is no document"));
    apollo.set_secret("rotated");
    ASSERT_TRUE(fails_with(*source, "401"));
    apollo.set_secret("");
    apollo.publish("one");
    EXPECT_TRUE(received.newest_is("one"));
}

TEST(apollo_source, waits_by_polls_for_a_first_release_that_does_not_come_soon) {
    apollo_standin apollo;
    apollo.hold_polls_for(1h);
    const auto source = apollo_source(asking(apollo));
    received_documents received(*source);
    ASSERT_TRUE(eventually([&] { return !apollo.requests("/notifications").empty(); }));
    EXPECT_EQ(source->health().state, source_state::failing);
    apollo.publish("one");
    EXPECT_TRUE(received.newest_is("one"));
}

TEST(apollo_source, takes_a_suffix_of_properties_off_in_any_case) {
    apollo_standin apollo;
    apollo.publish(item_map{{"a", "1"}});
    auto options = asking(apollo);
    options.name_space = "shared.PROPERTIES";
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("a=1\n"));
    EXPECT_EQ(apollo.requests("/configs").at(0).path, "/configs/shop/default/shared");
}

TEST(apollo_source, goes_to_another_service_when_there_is_nothing_new) {
    apollo_standin first;
    apollo_standin second;
    first.hold_polls_for(1ms);
    second.hold_polls_for(1ms);
    first.publish("one");
    second.publish("one");
    auto options = asking(first);
    options.config_services.push_back(second.url());
    const auto source = apollo_source(options);
    received_documents received(*source);
    EXPECT_TRUE(eventually([&] { return !second.requests("/notifications").empty(); }));
    EXPECT_EQ(source->health().failures, 0);
}

TEST(apollo_source, does_not_lose_a_release_that_was_not_there_yet_when_it_was_told_of) {
    for (const bool required : {true, false}) {
        apollo_standin apollo;
        apollo.publish("one");
        auto options = asking(apollo);
        options.required = required;
        const auto source = apollo_source(options);
        received_documents received(*source);
        ASSERT_TRUE(received.newest_is("one"));
        ASSERT_TRUE(eventually([&] { return apollo.requests("/notifications").size() > 1; }));
        for (int i = 0; i < (required ? 5 : 1); ++i) apollo.inject("/configs", {.status = 404});
        apollo.publish("two");
        EXPECT_TRUE(received.newest_is("two"));
        EXPECT_TRUE(apollo.all_injected());
    }
}

TEST(apollo_source, does_not_ask_without_end_for_a_release_that_was_deleted) {
    apollo_standin apollo;
    apollo.publish("one");
    auto options = asking(apollo);
    options.required = false;
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    ASSERT_TRUE(eventually([&] { return apollo.requests("/notifications").size() > 1; }));
    for (int i = 0; i < 2; ++i) apollo.inject("/configs", {.status = 404});
    apollo.publish("deleted at once");
    ASSERT_TRUE(received.newest_is_absent());
    ASSERT_TRUE(eventually([&] { return apollo.all_injected(); }));
    // The id that was told is taken over now: the next poll is held.
    EXPECT_TRUE(eventually([&] {
        return apollo.requests("/notifications").back().query.at("notifications").find(":2}") !=
               std::string::npos;
    }));
}

TEST(apollo_source, gives_a_grey_release_to_whom_it_is_for) {
    apollo_standin apollo;
    apollo.publish("for all");
    auto options = asking(apollo);
    const auto other = apollo_source(options);
    options.ip = "10.0.0.7";
    const auto by_ip = apollo_source(options);
    options.ip = "10.0.0.8";
    options.label = "blue";
    const auto by_label = apollo_source(options);
    received_documents from_other(*other);
    received_documents from_ip(*by_ip);
    received_documents from_label(*by_label);
    for (auto* from : {&from_other, &from_ip, &from_label}) ASSERT_TRUE(from->newest_is("for all"));
    apollo.publish_grey("10.0.0.7", "grey");
    EXPECT_TRUE(from_ip.newest_is("grey"));
    apollo.publish_grey("blue", "blue grey");
    EXPECT_TRUE(from_label.newest_is("blue grey"));
    EXPECT_TRUE(from_ip.newest_is("for all"));
    EXPECT_EQ(from_other.all().size(), 1U);
    EXPECT_EQ(apollo.requests("/notifications").at(0).query.count("label"), 0U);
}

TEST(apollo_source, falls_back_to_the_cluster_of_its_data_centre) {
    apollo_standin apollo;
    apollo.set_cluster("eu");
    apollo.publish("of eu");
    auto options = asking(apollo);
    options.cluster = "shop-7";
    const auto stranger = apollo_source(options);
    options.data_center = "eu";
    const auto source = apollo_source(options);
    const received_documents nothing(*stranger);
    received_documents received(*source);
    EXPECT_TRUE(received.newest_is("of eu"));
    EXPECT_TRUE(fails_with(*stranger, "there is no document"));
    EXPECT_EQ(apollo.requests("/configs").at(0).path, "/configs/shop/shop-7/cadre.yaml");
}

TEST(apollo_source, looks_for_other_services_when_those_it_knows_are_gone) {
    auto first = std::make_unique<apollo_standin>();
    apollo_standin second;
    first->publish("one");
    second.publish("one");
    second.publish("two");
    std::mutex mutex;
    std::string known = first->url();
    const loopback_http meta([&](const testing::served_request& request) -> served_answer {
        if (request.path != "/services/config") return {.status = 404};
        const std::lock_guard lock(mutex);
        return {.body = R"([{"homepageUrl":")" + known + "/\"}]"};
    });
    auto options = asking(second);
    options.meta = meta.url();
    options.config_services.clear();
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    {
        const std::lock_guard lock(mutex);
        known = second.url();
    }
    first.reset();
    EXPECT_TRUE(received.newest_is("two"));
}

TEST(apollo_source, takes_its_own_out_of_several_namespaces_that_changed) {
    apollo_standin apollo;
    apollo.tell_also_of("another.yaml");
    apollo.publish("one");
    const auto source = apollo_source(asking(apollo));
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    apollo.publish("two");
    EXPECT_TRUE(received.newest_is("two"));
    for (const auto& read : apollo.requests("/configs"))
        EXPECT_EQ(read.path, "/configs/shop/default/cadre.yaml");
    EXPECT_EQ(source->health().failures, 0);
}

TEST(apollo_source, is_refused_while_the_clocks_differ_and_heard_again_after) {
    apollo_standin apollo;
    apollo.set_secret("s3cret");
    apollo.set_clock_ahead(-2min);
    apollo.publish("one");
    auto options = asking(apollo);
    options.secret = "s3cret";
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(fails_with(*source, "401"));
    apollo.set_clock_ahead(0ms);
    ASSERT_TRUE(received.newest_is("one"));
    apollo.set_secret("rotated");
    ASSERT_TRUE(fails_with(*source, "401"));
    apollo.set_secret("s3cret");
    apollo.publish("two");
    EXPECT_TRUE(received.newest_is("two"));
}

TEST(apollo_source, reads_again_by_itself_what_a_service_denied_after_it_told) {
    apollo_standin apollo;
    apollo.publish("one");
    auto options = asking(apollo);
    options.refresh = 10ms;
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    apollo.inject("/configs", {.status = 304});
    apollo.publish("two");
    EXPECT_TRUE(received.newest_is("two"));
}

TEST(apollo_source, refreshes_when_no_notification_comes) {
    apollo_standin apollo;
    apollo.publish("one");
    auto options = asking(apollo);
    options.refresh = 10ms;
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    const auto reads = apollo.requests("/configs").size();
    EXPECT_TRUE(eventually([&] { return apollo.requests("/configs").size() > reads + 2; }));
}

TEST(apollo_source, refreshes_though_every_poll_fails) {
    apollo_standin apollo;
    apollo.publish("one");
    for (int i = 0; i < 100'000; ++i) apollo.inject("/notifications", {.status = 504});
    auto options = asking(apollo);
    options.refresh = 10ms;
    const auto source = apollo_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    apollo.publish("two");
    EXPECT_TRUE(received.newest_is("two"));
    EXPECT_FALSE(apollo.all_injected());
}

TEST(apollo_source, starts_from_its_cache_when_no_service_answers) {
    std::string name = (std::filesystem::temp_directory_path() / "cadre_apollo_XXXXXX").string();
    const std::filesystem::path directory = mkdtemp(name.data());
    apollo_source_options options;
    {
        apollo_standin apollo;
        apollo.publish("one: [é, 😀]\n");
        options = asking(apollo);
        options.cache_directory = directory;
        const auto source = apollo_source(options);
        received_documents received(*source);
        ASSERT_TRUE(received.newest_is("one: [é, 😀]\n"));
    }
    options.config_services = {"http://127.0.0.1:1"};  // its own may be somebody else's by now
    const auto cache = directory / "shop/config-cache/shop+default+cadre.yaml.properties";
    // Latin-1, as Java reads it.
    std::string kept(std::istreambuf_iterator<char>(std::ifstream(cache).rdbuf()), {});
    EXPECT_NE(kept.find("content=one\\: [\\u00E9, \\uD83D\\uDE00]\\n"), std::string::npos) << kept;
    {
        const auto source = apollo_source(options);
        received_documents received(*source);
        EXPECT_TRUE(received.newest_is("one: [é, 😀]\n"));
        EXPECT_TRUE(eventually([&] { return source->health().failures > 0; }));
        EXPECT_EQ(received.all()[0].revision, "local cache");
        EXPECT_EQ(source->health().last_success, std::chrono::system_clock::time_point());
    }
    // As the Java client writes it.
    std::ofstream(cache)
        << "#Persisted by DefaultConfig\n#Mon Nov 16 12:00:00 CST 2026\ncontent=a\\: \\u4E2D\\n\n";
    const auto source = apollo_source(options);
    received_documents received(*source);
    EXPECT_TRUE(received.newest_is("a: 中\n"));
    source->stop();
    std::filesystem::remove_all(directory);
}

TEST(apollo_source, stops_in_the_middle_of_a_poll) {
    apollo_standin apollo;
    apollo.hold_polls_for(1h);
    apollo.publish("one");
    const auto source = apollo_source(asking(apollo));
    received_documents received(*source);
    // The second, for the first is answered at once.
    ASSERT_TRUE(eventually([&] { return apollo.requests("/notifications").size() > 1; }));
    source->stop();
    EXPECT_EQ(source->health().state, source_state::stopped);
}

TEST(apollo_source, refuses_what_apollo_would_not_take) {
    const std::vector<std::string> services{"http://127.0.0.1:1"};
    EXPECT_THROW(apollo_source({.app_id = "shop"}), std::invalid_argument);
    EXPECT_THROW(apollo_source({.config_services = services}), std::invalid_argument);
    EXPECT_THROW(apollo_source({.config_services = services, .app_id = "a/b"}),
                 std::invalid_argument);
    EXPECT_THROW(apollo_source({.config_services = services, .app_id = "a", .name_space = "../x"}),
                 std::invalid_argument);
    EXPECT_THROW(apollo_source({.config_services = services, .app_id = "a", .name_space = "x.xml"}),
                 std::invalid_argument);
}

}  // namespace
}  // namespace cadre::manage
