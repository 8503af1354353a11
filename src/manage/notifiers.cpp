// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/notifiers.hpp>

#include <cstdio>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "harmless.hpp"
#include "http_post.hpp"
#include "messages.hpp"

namespace cadre::manage {
namespace {

void check_timeout(std::chrono::nanoseconds timeout) {
    if (timeout.count() <= 0)
        throw std::invalid_argument("timeout (" + std::to_string(timeout.count()) +
                                    " ns) must be positive");
}

template <class Duration>
std::int64_t now_in() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<Duration>(now).count();
}

/// A notifier over HTTP: where to and what.
class robot final : public notifier {
public:
    struct message {
        std::string url;
        std::string body;
    };
    using writer = std::function<message(const alarm_event&, const robot_options&)>;
    robot(robot_options options, const std::string& name, writer write)
        : options_(std::move(options)),
          name_(options_.name.empty() ? name : options_.name),
          write_(std::move(write)) {
        detail::check_url(options_.url);
        check_timeout(options_.timeout);
    }
    std::string name() const override { return name_; }
    void send(const alarm_event& event) override {
        auto [url, body] = write_(event, options_);
        check_answer(detail::http_post({.url = std::move(url),
                                        .body = std::move(body),
                                        .timeout = options_.timeout,
                                        .ca_file = options_.ca_file}));
    }

private:
    /// The robots answer 200 also when they refuse; the reason is in the body.
    static void check_answer(const std::string& answer) {
        const auto read = nlohmann::json::parse(answer, nullptr, false);
        if (!read.is_object()) return;
        for (const char* code : {"errcode", "code"})
            if (read.contains(code) && read[code].is_number_integer() && read[code] != 0)
                throw std::runtime_error("refused: " + answer);
    }

    const robot_options options_;
    const std::string name_;
    const writer write_;
};

}  // namespace

log_notifier::log_notifier(std::function<void(std::string_view)> sink) : sink_(std::move(sink)) {}

void log_notifier::send(const alarm_event& event) {
    const auto line = detail::harmless(event.text);
    if (sink_)
        sink_(line);
    else
        std::fprintf(stderr, "cadre: %s\n", line.c_str());
}

webhook_notifier::webhook_notifier(webhook_options options) : options_(std::move(options)) {
    detail::check_url(options_.url);
    check_timeout(options_.timeout);
    detail::fill_template(options_.body_template, {});
}

void webhook_notifier::send(const alarm_event& event) {
    detail::http_post({.url = options_.url,
                       .body = options_.body_template.empty()
                                   ? to_json(event)
                                   : detail::fill_template(options_.body_template, event),
                       .headers = options_.headers,
                       .timeout = options_.timeout,
                       .ca_file = options_.ca_file});
}

std::shared_ptr<notifier> dingtalk_notifier(robot_options options) {
    return std::make_shared<robot>(
        std::move(options), "dingtalk", [](const alarm_event& event, const robot_options& o) {
            return robot::message{detail::dingtalk_url(o, now_in<std::chrono::milliseconds>()),
                                  detail::dingtalk_body(event, o)};
        });
}

std::shared_ptr<notifier> wecom_notifier(robot_options options) {
    return std::make_shared<robot>(std::move(options), "wecom",
                                   [](const alarm_event& event, const robot_options& o) {
                                       return robot::message{o.url, detail::wecom_body(event, o)};
                                   });
}

std::shared_ptr<notifier> lark_notifier(robot_options options) {
    return std::make_shared<
        robot>(std::move(options), "lark", [](const alarm_event& event, const robot_options& o) {
        return robot::message{o.url, detail::lark_body(event, o, now_in<std::chrono::seconds>())};
    });
}

std::shared_ptr<notifier> alertmanager_notifier(robot_options options) {
    return std::make_shared<robot>(
        std::move(options), "alertmanager", [](const alarm_event& event, const robot_options& o) {
            const bool slash = o.url.ends_with('/');
            return robot::message{o.url + (slash ? "" : "/") + "api/v2/alerts",
                                  detail::alertmanager_body(event)};
        });
}

}  // namespace cadre::manage
