// SPDX-License-Identifier: Apache-2.0
//
// Notifiers against a server: what really goes over the wire, and what becomes of it when the
// server refuses, answers nonsense, hangs or is not there.

#include <cadre/manage/notifiers.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>

#include "manage/messages.hpp"
#include "manage/support/loopback_http.hpp"
#include "manage/support/received_documents.hpp"
#include "manage/support/tls_server.hpp"
#include "support/held_task.hpp"
#include "support/pools.hpp"
#include <cadre/manage/alarm_engine.hpp>
#include <cadre/manage/document.hpp>
#include <cadre/manage/http_source.hpp>

namespace cadre::manage {
namespace notifier_http_tests {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Not;

/// Where a robot or a webhook would live: keeps what it is sent, and answers as it is told.
class receiver {
public:
    std::string url() const { return server_.url(); }
    void answer_with(testing::served_answer answer) {
        const std::lock_guard lock(mutex_);
        answer_ = std::move(answer);
    }
    testing::served_request only() const {
        const std::lock_guard lock(mutex_);
        EXPECT_EQ(received_.size(), 1u);
        return received_.empty() ? testing::served_request() : received_.back();
    }
    std::vector<testing::served_request> all() const {
        const std::lock_guard lock(mutex_);
        return received_;
    }
    std::size_t count() const {
        const std::lock_guard lock(mutex_);
        return received_.size();
    }

private:
    mutable std::mutex mutex_;  // guards all below but the server
    testing::served_answer answer_ = {.body = R"({"errcode":0,"code":0})"};
    std::vector<testing::served_request> received_;
    testing::loopback_http server_{[this](const testing::served_request& request) {
        const std::lock_guard lock(mutex_);
        received_.push_back(request);
        return answer_;
    }};
};

/// The text at a path like {"card", "header"} of the JSON that was sent.
std::string text_at(const std::string& body, std::initializer_list<const char*> path) {
    const auto read = parse_document(body, "body", document_format::json);
    const auto* node = &read.root;
    for (const char* key : path) {
        node = node->find(key);
        if (node == nullptr) return "(nothing)";
    }
    return node->value;
}

const alarm_event event{.type = alarm_type::reject,
                        .pool = "or\"ders\n{{pool}}",
                        .task = "chéckout",
                        .instance = "host:1",
                        .text = "3 tasks \\ were rejected",
                        .value = 3,
                        .rule = "threshold 3 within 2m",
                        .at = std::chrono::system_clock::time_point(1700000000s),
                        .since = std::chrono::system_clock::time_point(1699999990s)};

TEST(dingtalk, is_sent_a_signed_markdown_message) {
    receiver there;
    dingtalk_notifier({.url = there.url() + "/robot/send?access_token=t",
                       .secret = "SECabc",
                       .mentions = {"1380", "all"},
                       .keyword = "KEY",
                       .timeout = testing::guard})
        ->send(event);
    const auto sent = there.only();
    EXPECT_EQ(sent.method, "POST");
    EXPECT_EQ(sent.path, "/robot/send");
    EXPECT_EQ(sent.query.at("access_token"), "t");
    const auto timestamp = sent.query.at("timestamp");
    EXPECT_EQ(timestamp.size(), 13u) << "milliseconds";
    EXPECT_THAT(sent.target, ::testing::EndsWith("&sign=" + detail::dingtalk_sign(
                                                                std::stoll(timestamp), "SECabc")));
    EXPECT_EQ(detail::dingtalk_sign(1700000000000, "SECabc"),
              "jcUpW0QmtKduN03n4JqQ0PBosVjqnM8gU7fIIvsDmCM%3D");
    EXPECT_EQ(sent.headers.at("content-type"), "application/json");
    EXPECT_EQ(text_at(sent.body, {"msgtype"}), "markdown");
    EXPECT_THAT(text_at(sent.body, {"markdown", "title"}), ::testing::StartsWith("KEY reject"));
    EXPECT_THAT(text_at(sent.body, {"markdown", "text"}), HasSubstr("3 tasks \\ were rejected"));
    EXPECT_THAT(text_at(sent.body, {"markdown", "text"}), HasSubstr("@1380"));
    EXPECT_EQ(text_at(sent.body, {"at", "isAtAll"}), "true");
}

TEST(wecom, is_sent_a_markdown_message) {
    receiver there;
    wecom_notifier({.url = there.url() + "/cgi-bin/webhook/send?key=k", .timeout = testing::guard})
        ->send(event);
    const auto sent = there.only();
    EXPECT_EQ(sent.target, "/cgi-bin/webhook/send?key=k");
    EXPECT_EQ(text_at(sent.body, {"msgtype"}), "markdown");
    EXPECT_THAT(text_at(sent.body, {"markdown", "content"}), HasSubstr("chéckout"));
}

TEST(lark, is_sent_a_card_that_is_signed_in_the_body) {
    receiver there;
    lark_notifier({.url = there.url() + "/open-apis/bot/v2/hook/key",
                   .secret = "SECabc",
                   .timeout = testing::guard})
        ->send(event);
    const auto sent = there.only();
    EXPECT_EQ(sent.target, "/open-apis/bot/v2/hook/key");
    const auto timestamp = text_at(sent.body, {"timestamp"});
    EXPECT_EQ(timestamp.size(), 10u) << "seconds";
    EXPECT_EQ(text_at(sent.body, {"sign"}), detail::lark_sign(std::stoll(timestamp), "SECabc"));
    EXPECT_EQ(detail::lark_sign(1700000000, "SECabc"),
              "XprR1de+0SSBnwWyU/4k6x2TL+Q2SJlM5NNEdAv7MWg=");
    EXPECT_EQ(text_at(sent.body, {"msg_type"}), "interactive");
    EXPECT_EQ(text_at(sent.body, {"card", "header", "template"}), "red");
    const auto first = sent.body.find("\"sign\"");
    EXPECT_EQ(sent.body.find("\"sign\"", first + 1), std::string::npos) << "once";
}

TEST(alertmanager, is_told_of_the_beginning_and_of_the_end_of_the_same_alert) {
    receiver there;
    const auto to = alertmanager_notifier({.url = there.url() + "/", .timeout = testing::guard});
    auto firing = event;
    firing.next_by = event.at + 130s;
    to->send(firing);
    auto over = event;
    over.state = alarm_state::recovered;
    over.at += 300s;
    over.text = "it is over";
    to->send(over);
    const auto sent = there.all();
    ASSERT_EQ(sent.size(), 2u);
    const auto alert = [&](std::size_t i) {
        EXPECT_EQ(sent[i].target, "/api/v2/alerts");
        return sent[i].body.substr(1, sent[i].body.size() - 2);
    };
    const auto begins = alert(0);
    EXPECT_EQ(text_at(begins, {"labels", "alertname"}), "cadre_reject");
    for (const char* label : {"alertname", "pool", "instance", "rule"}) {
        EXPECT_NE(text_at(begins, {"labels", label}), "(nothing)");
        EXPECT_EQ(text_at(begins, {"labels", label}), text_at(alert(1), {"labels", label}));
    }
    EXPECT_EQ(text_at(begins, {"labels", "pool"}), event.pool);
    EXPECT_EQ(text_at(begins, {"startsAt"}), "2023-11-14T22:13:10.000Z");
    EXPECT_EQ(text_at(begins, {"endsAt"}), "2023-11-14T22:15:30.000Z") << "not before the next one";
    EXPECT_EQ(text_at(alert(1), {"startsAt"}), "2023-11-14T22:13:10.000Z");
    EXPECT_EQ(text_at(alert(1), {"endsAt"}), "2023-11-14T22:18:20.000Z");
}

TEST(alertmanager, is_left_to_its_own_patience_if_nobody_knows_when_it_is_told_again) {
    receiver there;
    alertmanager_notifier({.url = there.url(), .timeout = testing::guard})->send(event);
    EXPECT_THAT(there.only().body, Not(HasSubstr("endsAt")));
}

TEST(alertmanager, is_told_of_each_change_as_an_alert_of_its_own) {
    receiver there;
    const auto to = alertmanager_notifier({.url = there.url(), .timeout = testing::guard});
    auto change = event;
    change.type = alarm_type::change;
    to->send(change);
    change.at += 1s;
    to->send(change);
    const auto sent = there.all();
    ASSERT_EQ(sent.size(), 2u);
    const auto labels = [&](std::size_t i) {
        return text_at(sent[i].body.substr(1, sent[i].body.size() - 2), {"labels", "at"});
    };
    EXPECT_EQ(labels(0), "2023-11-14T22:13:20.000Z");
    EXPECT_NE(labels(1), labels(0));
}

TEST(webhook, is_sent_its_template_filled_or_the_event_as_json) {
    receiver there;
    webhook_notifier({.url = there.url() + "/hook",
                      .body_template = R"({"t":"{{type}}/{{state}}","p":"{{pool}}","v":{{value}}})",
                      .headers = {"X-Key: k"},
                      .timeout = testing::guard})
        .send(event);
    const auto sent = there.only();
    EXPECT_EQ(sent.body, R"({"t":"reject/firing","p":"or\"ders\n{{pool}}","v":3.0})");
    EXPECT_EQ(sent.headers.at("x-key"), "k");
    EXPECT_EQ(sent.headers.count("expect"), 0u);
    receiver plain;
    webhook_notifier({.url = plain.url(), .timeout = testing::guard}).send(event);
    EXPECT_EQ(plain.only().body, to_json(event));
    EXPECT_EQ(text_at(plain.only().body, {"pool"}), event.pool);
}

TEST(webhook, fails_with_the_reason_and_without_secrets) {
    receiver there;
    const auto error_of = [&](testing::served_answer answer) {
        there.answer_with(std::move(answer));
        const auto to = dingtalk_notifier(
            {.url = there.url() + "/secret?access_token=secret", .timeout = testing::guard});
        return message_of<std::runtime_error>([&] { to->send(event); });
    };
    EXPECT_THAT(error_of({.status = 500}), HasSubstr("answered with status 500"));
    EXPECT_THAT(error_of({.status = 302, .headers = {{"Location", there.url() + "/other"}}}),
                HasSubstr("answered with status 302"));
    EXPECT_THAT(error_of({.status = 0}), HasSubstr(there.url()));
    EXPECT_THAT(error_of({.status = 500}), Not(HasSubstr("secret")));
    EXPECT_THAT(error_of({.body = R"({"errcode":310000,"errmsg":"sign not match"})"}),
                HasSubstr("sign not match"));
    EXPECT_THAT(error_of({.body = R"({"errcode":-1,"errmsg":"system busy"})"}),
                HasSubstr("system busy"));
    EXPECT_EQ(error_of({.body = "not JSON"}), "");
    EXPECT_EQ(there.count(), 7u) << "redirects are not followed";
}

TEST(webhook, that_hangs_or_fails_touches_no_pool) {
    testing::gate go;
    testing::loopback_http hanging([&](const auto&) {
        go.wait();
        return testing::served_answer{};
    });
    receiver failing;
    failing.answer_with({.status = 500});
    pool_registry registry;
    const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 1}});
    {
        alarm_engine engine(
            registry, {.rules = {{.type = alarm_type::change}}, .interval = 0s, .backlog = 2},
            {std::make_shared<webhook_notifier>(
                 webhook_options{.url = hanging.url(), .timeout = 1h, .name = "hanging"}),
             std::make_shared<webhook_notifier>(webhook_options{
                 .url = failing.url(), .timeout = testing::guard, .name = "failing"})});
        for (int i = 1; i <= 10; ++i) {
            pool->reconfigure({.keep_alive = 1s * i});
            EXPECT_EQ(pool->executor()->submit([i] { return i; }).get(), i);
            ASSERT_TRUE(eventually([&] { return failing.count() == static_cast<std::size_t>(i); }));
        }
        EXPECT_GE(engine.counts().at(0).dropped, 7u) << "one is being sent, two wait";
        EXPECT_EQ(engine.counts().at(0).sent, 0u);
        EXPECT_TRUE(eventually([&] { return engine.counts().at(1).failed == 10; }));
        EXPECT_THAT(engine.counts().at(1).last_error, HasSubstr("status 500"));
        go.open();
    }
}

TEST(ca_file, says_who_may_vouch_for_a_server) {
    const std::string text = "pools: {p: {core_pool_size: 3}}";
    const testing::tls_server there(text);
    const auto file = there.certificate().string();
    EXPECT_THROW(webhook_notifier({.url = there.url()}).send(event), std::runtime_error);
    webhook_notifier({.url = there.url(), .timeout = testing::guard, .ca_file = file}).send(event);
    EXPECT_THROW(webhook_notifier({.url = there.url(), .ca_file = "/no/such/file"}).send(event),
                 std::runtime_error);
    const auto trusting = http_source({.url = there.url() + "/pools.yaml", .ca_file = file});
    EXPECT_TRUE(testing::received_documents(*trusting).newest_is(text));
    const auto doubting = http_source({.url = there.url() + "/pools.yaml"});
    testing::received_documents doubted(*doubting);
    EXPECT_TRUE(testing::fails_with(*doubting, "certificate"));
    EXPECT_TRUE(doubted.all().empty());
}

}  // namespace
}  // namespace notifier_http_tests
}  // namespace cadre::manage
