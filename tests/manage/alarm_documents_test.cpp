// SPDX-License-Identifier: Apache-2.0
//
// Alarms that documents speak of: what is read, what is refused, and what an engine makes of it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "manage/support/managed_fixture.hpp"
#include "support/held_task.hpp"
#include <cadre/manage/alarm_engine.hpp>
#include <cadre/manage/config_manager.hpp>
#include <cadre/manage/notifiers.hpp>

namespace cadre::manage {
namespace alarm_documents_tests {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

document yaml(const std::string& text) {
    return parse_document(text, "pools.yaml", document_format::yaml);
}

configuration read(const std::string& text, const instance_identity& instance = {}) {
    return read_configuration(std::array{yaml(text)}, instance);
}

std::string refusal(const std::string& text) {
    try {
        read(text);
        return "was accepted";
    } catch (const configuration_error& refused) {
        return refused.what();
    }
}

TEST(alarms_of_documents, are_read_beside_the_parameters) {
    const auto result = read(R"(
pools: { orders: { core_pool_size: 8 } }
alarms:
  - { type: liveness, pool: orders, threshold: 95, count: 3, window: 1m, lasting: 30s, silence: 10m,
      tell_recovery: false, notifiers: [log, ops] }
  - { type: stuck_worker, limit: 30s }
  - { type: run_timeout, enabled: false }
)");
    ASSERT_EQ(result.alarms.size(), 3u);
    EXPECT_EQ(result.alarms[0].rule, (alarm_rule{.type = alarm_type::liveness,
                                                 .pool = "orders",
                                                 .threshold = 95,
                                                 .count = 3,
                                                 .window = 1min,
                                                 .lasting = 30s,
                                                 .silence = 10min,
                                                 .tell_recovery = false,
                                                 .notifiers = {"log", "ops"}}));
    EXPECT_EQ(result.alarms[1].rule.pool, "*");
    EXPECT_EQ(result.alarms[1].rule.limit, 30s);
    EXPECT_TRUE(result.alarms[1].enabled);
    EXPECT_FALSE(result.alarms[2].enabled);
    EXPECT_EQ(result.alarms[2].rule.count, 10u) << "what is not said is as by default";
}

TEST(alarms_of_documents, are_replaced_by_type_and_pool) {
    const auto base = yaml(R"(
alarms:
  - { type: reject, count: 5 }
  - { type: reject, pool: orders, count: 6 }
overrides:
  - { match: { env: prod }, alarms: [ { type: reject, count: 7 } ] }
)");
    const auto later = yaml("alarms: [ { type: reject, pool: orders, count: 8 } ]");
    const auto result = read_configuration(std::array{base, later}, {.environment = "prod"});
    ASSERT_EQ(result.alarms.size(), 2u);
    EXPECT_EQ(result.alarms[0].rule.count, 7u);
    EXPECT_EQ(result.alarms[1].rule.count, 8u);
    EXPECT_EQ(result.alarms[1].rule.pool, "orders");
}

TEST(alarms_of_documents, are_refused_with_file_line_key_and_rule) {
    EXPECT_THAT(refusal("pools: {}\nalarms:\n  - { type: lively }"),
                HasSubstr("pools.yaml:3: alarms[0].type: must be change, liveness, capacity"));
    const auto wrong = [](const std::string& keys) { return refusal("alarms: [{" + keys + "}]"); };
    EXPECT_THAT(wrong("pool: orders"), HasSubstr("alarms[0]: has no type"));
    EXPECT_THAT(wrong("type: reject, threshhold: 3"),
                HasSubstr("alarms[0].threshhold: is not a key here; threshold is"));
    EXPECT_THAT(wrong("type: reject, threshold: 3"),
                HasSubstr("alarms[0].threshold: is not for alarms of the type reject"));
    EXPECT_THAT(wrong("type: reject, limit: 3s"), HasSubstr("is not for"));
    EXPECT_THAT(wrong("type: change, silence: 3s"), HasSubstr("is not for"));
    EXPECT_THAT(wrong("type: config_stale, pool: orders"), HasSubstr("is not for"));
    EXPECT_THAT(wrong("type: liveness, threshold: 0"), HasSubstr("must be from 1 to 100"));
    EXPECT_THAT(wrong("type: liveness, threshold: 101"), HasSubstr("must be from 1 to 100"));
    EXPECT_THAT(wrong("type: liveness, threshold: NaN"), HasSubstr("must be a whole number"));
    EXPECT_THAT(wrong("type: reject, count: 0"), HasSubstr("must be from 1 to"));
    EXPECT_THAT(wrong("type: reject, window: 0s"), HasSubstr("must be above 0"));
    EXPECT_THAT(wrong("type: stuck_worker, limit: 0s"), HasSubstr("must be above 0"));
    EXPECT_THAT(wrong("type: reject, silence: 5"), HasSubstr("alarms[0].silence: "));
    EXPECT_THAT(wrong("type: reject, pool: ''"), HasSubstr("alarms[0].pool: "));
    EXPECT_THAT(wrong("type: reject, notifiers: log"), HasSubstr("must be a list"));
    EXPECT_THAT(refusal("alarms: { type: reject }"), HasSubstr("must be a list"));
    std::string many = "alarms:\n";
    for (int i = 0; i < 1001; ++i) many += "  - { type: reject }\n";
    EXPECT_THAT(refusal(many), HasSubstr("has more than 1000 entries"));
}

std::string rules_of(const alarm_engine& engine) {
    std::string text;
    for (const auto& rule : engine.rules()) {
        text += std::string(to_text(rule.type)) + " " + rule.pool + " " +
                std::to_string(static_cast<int>(rule.threshold)) + "%";
        for (const auto& pool : rule.except) text += " not " + pool;
        text += "; ";
    }
    return text;
}

class alarm_engine_with_documents : public managed_fixture {
protected:
    alarm_engine_with_documents() { manage({.start_wait = {}}); }
};

TEST_F(alarm_engine_with_documents, takes_their_rules_and_gives_back_those_of_the_code) {
    alarm_engine engine(registry_,
                        {.rules = {{.type = alarm_type::liveness}, {.type = alarm_type::capacity}},
                         .interval = 0s,
                         .config = &*manager_},
                        {});
    const auto after = [&](const std::string& document) {
        base_->give(document);
        engine.check();
        return rules_of(engine);
    };
    EXPECT_EQ(rules_of(engine), "liveness * 80%; capacity * 80%; ");
    EXPECT_EQ(after("alarms: [ { type: liveness, threshold: 90 } ]"),
              "capacity * 80%; liveness * 90%; ");
    EXPECT_EQ(after("alarms: [ { type: liveness, pool: orders, threshold: 60 } ]"),
              "liveness * 80% not orders; capacity * 80%; liveness orders 60%; ");
    EXPECT_EQ(after("alarms: [ { type: capacity, pool: orders, enabled: false } ]"),
              "liveness * 80%; capacity * 80% not orders; ");
    EXPECT_EQ(after("alarms: [ { type: capacity, threshold: 0 } ]"),
              "liveness * 80%; capacity * 80% not orders; ")
        << "refused: the last good one stays";
    engine.set_rules({{.type = alarm_type::capacity, .threshold = 70}});
    EXPECT_EQ(rules_of(engine), "capacity * 70% not orders; ");
    EXPECT_EQ(after("pools: {}"), "capacity * 70%; ");
}

TEST_F(alarm_engine_with_documents, says_whom_a_rule_names_and_who_is_not_there) {
    const auto said = [](const auto& act) {
        ::testing::internal::CaptureStderr();
        act();
        return ::testing::internal::GetCapturedStderr();
    };
    const alarm_rule of_code{.type = alarm_type::capacity, .notifiers = {"log", "opps"}};
    alarm_engine engine(registry_, {.rules = {}, .interval = 0s, .config = &*manager_},
                        {std::make_shared<log_notifier>()});
    EXPECT_EQ(said([&] { engine.set_rules({of_code}); }),
              "cadre: the alarm rule capacity of * names the notifier opps, which is not there\n");
    base_->give("alarms: [ { type: reject, pool: orders, notifiers: [ log, chat ] } ]");
    EXPECT_EQ(
        said([&] { engine.check(); }),
        "cadre: the alarm rule reject of orders names the notifier chat, which is not there\n");
    EXPECT_EQ(said([&] { engine.check(); }), "") << "once";
}

TEST_F(alarm_engine_with_documents, leaves_what_fires_for_other_pools_alone) {
    const auto busy = registry_.create({.name = "busy", .settings = {.core_pool_size = 1}});
    const auto spared = registry_.create({.name = "spared", .settings = {.core_pool_size = 1}});
    const testing::held_task one(*busy->executor());
    const testing::held_task other(*spared->executor());
    alarm_engine engine(
        registry_,
        {.rules = {{.type = alarm_type::liveness}}, .interval = 0s, .config = &*manager_}, {});
    EXPECT_EQ(engine.active().size(), 2u);
    base_->give("alarms: [ { type: liveness, pool: spared, enabled: false } ]");
    engine.check();
    ASSERT_EQ(engine.active().size(), 1u);
    EXPECT_EQ(engine.active()[0].pool, "busy");
    ASSERT_EQ(engine.recovered().size(), 1u);
    EXPECT_EQ(engine.recovered()[0].pool, "spared");
}

TEST(notify_items_of_dynamictp, are_alarms_of_their_executor) {
    const auto result = read(R"(
dynamictp:
  globalExecutorProps:
    notifyItems: [ { type: reject, count: 3 } ]
  executors:
    - threadPoolName: orders
      notifyItems:
        - { type: liveness, enabled: true, threshold: 70, count: 2, period: 60, silencePeriod: 300 }
        - { type: run_timeout, threshold: 1, interval: 60, platformIds: [ 1 ] }
        - { type: change, silencePeriod: 1 }
        - { type: pinned }
    - threadPoolName: mail
    - threadPoolName: quiet
      notifyEnabled: false
)");
    ASSERT_EQ(result.alarms.size(), 3u + 1u + 6u);
    const auto& liveness = result.alarms[0].rule;
    EXPECT_EQ(liveness.type, alarm_type::liveness);
    EXPECT_EQ(liveness.pool, "orders");
    EXPECT_EQ(liveness.threshold, 70);
    EXPECT_EQ(liveness.count, 2u);
    EXPECT_EQ(liveness.window, 60s);
    EXPECT_EQ(liveness.silence, 300s);
    EXPECT_EQ(result.alarms[1].rule.silence, 60s);
    EXPECT_EQ(result.alarms[3].rule.pool, "mail") << "which has those of the globals";
    EXPECT_EQ(result.alarms[3].rule.count, 3u);
    for (std::size_t i = 4; i < 10; ++i) {
        EXPECT_EQ(result.alarms[i].rule.pool, "quiet");
        EXPECT_FALSE(result.alarms[i].enabled);
    }
    std::string ignored;
    for (const auto& one : result.ignored) ignored += to_text(one) + "\n";
    EXPECT_THAT(ignored, HasSubstr("notifyItems[1].threshold: is DynamicTp's, and means nothing"));
    EXPECT_THAT(ignored, HasSubstr("notifyItems[1].platformIds: is DynamicTp's"));
    EXPECT_THAT(ignored, HasSubstr("notifyItems[2].silencePeriod: is DynamicTp's"));
    EXPECT_THAT(ignored, HasSubstr("notifyItems[3]: has no type of an alarm that is known here"));
}

TEST(notify_items_of_dynamictp, are_refused_when_they_are_wrong) {
    const auto item = [](const std::string& keys) {
        return refusal("dynamictp: {executors: [{threadPoolName: p, notifyItems: [{" + keys +
                       "}]}]}");
    };
    EXPECT_THAT(item("type: liveness, threshold: 170"),
                HasSubstr("notifyItems[0].threshold: must be from 1 to 100"));
    EXPECT_THAT(item("type: liveness, treshold: 70"), HasSubstr("threshold is"));
    EXPECT_THAT(item("type: reject, count: 0"), HasSubstr("must be from 1 to"));
    EXPECT_THAT(item("type: reject, enabled: perhaps"), HasSubstr("must be true or false"));
}

}  // namespace
}  // namespace alarm_documents_tests
}  // namespace cadre::manage
