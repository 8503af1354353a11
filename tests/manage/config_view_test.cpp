// SPDX-License-Identifier: Apache-2.0
//
// The state of the configuration as it is seen from outside: /api/config and cadrectl sources.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "cadrectl/commands.hpp"
#include <cadre/manage/config_manager.hpp>
#include <cadre/manage/http_server.hpp>

namespace cadre::manage {
namespace config_view_tests {
namespace {

using cadrectl::json;
using ::testing::HasSubstr;

/// A server that shows a manager of documents in YAML, and what cadrectl says of it.
class shown_configuration {
public:
    explicit shown_configuration(const std::vector<std::string>& documents)
        : manager_(registry_, sources_of(documents)) {
        manager_.start();
    }

    cadrectl::exit_code ask(bool as_json) {
        out_.str("");
        const cadrectl::client client(server_.url(), "", 30);
        return cadrectl::sources({client, out_, as_json});
    }
    std::string said() const { return out_.str(); }

private:
    static std::vector<std::unique_ptr<config_source>> sources_of(
        const std::vector<std::string>& documents) {
        std::vector<std::unique_ptr<config_source>> sources;
        for (const auto& text : documents)
            sources.push_back(embedded_source(text, document_format::yaml));
        return sources;
    }

    pool_registry registry_;
    const std::shared_ptr<managed_pool> pool_ = registry_.create({.name = "orders"});
    config_manager manager_;
    const http_server server_{registry_,
                              {.port = 0, .config = &manager_, .log = [](const std::string&) {}}};
    std::ostringstream out_;
};

TEST(config_view, tells_of_sources_and_of_what_is_wrong_with_their_documents) {
    shown_configuration shown(
        {"pools: {mail: {core_pool_size: 1}}", "pools:\n  orders: {core_pol_size: 1}"});
    EXPECT_EQ(shown.ask(true), cadrectl::differs);
    const auto config = json::parse(shown.said());
    EXPECT_EQ(config["managed"], true);
    EXPECT_EQ(config["applied"], 1);
    EXPECT_EQ(config["refused"], 1);
    EXPECT_GT(config["last_applied"], 1.7e9);
    EXPECT_EQ(config["unmatched"], json::array({"mail"}));
    EXPECT_EQ(config["orphans"], json::array({"orders"}));
    ASSERT_EQ(config["sources"].size(), 2u);
    const auto& good = config["sources"][0];
    EXPECT_EQ(good["name"], "embedded");
    EXPECT_EQ(good["state"], "healthy");
    EXPECT_EQ(good["origin"], "source");
    EXPECT_NE(good["revision"], "");
    EXPECT_EQ(good["refused_revision"], "");
    const auto& bad = config["sources"][1];
    EXPECT_EQ(bad["name"], "embedded#2");
    EXPECT_EQ(bad["origin"], "none");
    EXPECT_NE(bad["refused_revision"], "");
    ASSERT_EQ(config["problems"].size(), 1u);
    EXPECT_EQ(config["problems"][0]["line"], 2);
    EXPECT_EQ(config["problems"][0]["key"], "pools.orders.core_pol_size");
    EXPECT_EQ(shown.ask(false), cadrectl::differs);
    EXPECT_THAT(shown.said(),
                HasSubstr("refused: embedded#2:2: pools.orders.core_pol_size: is not a key here"));
    EXPECT_THAT(shown.said(), HasSubstr("unmatched: mail is not registered"));
    EXPECT_THAT(shown.said(), HasSubstr("orphan: no document speaks of orders"));
}

TEST(config_view, says_what_was_not_applied_and_ends_well_if_nothing_was_refused) {
    shown_configuration shown({"pools: {orders: {queue: array}}"});
    EXPECT_EQ(shown.ask(false), cadrectl::success);
    EXPECT_THAT(shown.said(), ::testing::ContainsRegex("embedded +healthy +source"));
    EXPECT_THAT(shown.said(),
                HasSubstr("not applied: orders: queue stays linked, not array: a pool has one"));
}

TEST(config_view, says_that_there_is_none) {
    pool_registry registry;
    const http_server server(registry, {.port = 0, .log = [](const std::string&) {}});
    const cadrectl::client client(server.url(), "", 30);
    std::ostringstream out;
    EXPECT_EQ(cadrectl::sources({client, out, false}), cadrectl::success);
    EXPECT_EQ(out.str(), "The program shows no sources of configuration.\n");
    EXPECT_EQ(client.get("/api/config")["sources"], json::array());
}

}  // namespace
}  // namespace config_view_tests
}  // namespace cadre::manage
