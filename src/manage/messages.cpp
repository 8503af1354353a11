// SPDX-License-Identifier: Apache-2.0
#include "messages.hpp"

#include <array>
#include <stdexcept>
#include <string_view>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "document_builder.hpp"
#include "json_value.hpp"

namespace cadre::manage::detail {
namespace {

std::string hmac_sha256_base64(const std::string& key, const std::string& message) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
              reinterpret_cast<const unsigned char*>(message.data()), message.size(), digest.data(),
              &length))
        throw std::runtime_error("HMAC-SHA256 cannot be computed");
    std::array<unsigned char, std::size_t{2} * EVP_MAX_MD_SIZE> text{};
    const int size = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(length));
    return {text.begin(), text.begin() + size};
}

std::string url_encoded(std::string_view text) {
    std::string encoded;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
        constexpr auto digits = "0123456789ABCDEF";
        const auto byte = static_cast<unsigned char>(c);
        encoded +=
            plain ? std::string(1, c) : std::string{'%', digits[byte >> 4], digits[byte & 15]};
    }
    return encoded;
}

const char* text_of(alarm_state state) {
    return state == alarm_state::firing ? "firing" : "recovered";
}

std::string title_of(const alarm_event& event, const robot_options& options) {
    return (options.keyword.empty() ? "" : options.keyword + " ") + to_text(event.type) +
           (event.type == alarm_type::change ? "" : std::string(" ") + text_of(event.state)) +
           (event.pool.empty() ? "" : ": " + event.pool);
}

/// Markdown that all three robots understand.
std::string markdown_of(const alarm_event& event, const robot_options& options) {
    std::string text = "**" + title_of(event, options) + "**\n\n" + event.text + "\n";
    const auto line = [&](const char* name, const std::string& value) {
        if (!value.empty()) text += std::string("\n> ") + name + ": " + value + "\n";
    };
    line("instance", event.instance);
    line("task", event.task);
    line("at", iso_time(event.at));
    if (event.type == alarm_type::change) return text;
    const auto& s = event.snapshot;
    line("threads", std::to_string(s.active_count) + " active, " + std::to_string(s.pool_size) +
                        " of " + std::to_string(s.maximum_pool_size));
    line("queued", std::to_string(s.queue_size));
    line("rejected", std::to_string(s.rejected_task_count));
    return text;
}

}  // namespace

std::string dingtalk_sign(std::int64_t timestamp_ms, const std::string& secret) {
    return url_encoded(hmac_sha256_base64(secret, std::to_string(timestamp_ms) + "\n" + secret));
}

std::string lark_sign(std::int64_t timestamp_s, const std::string& secret) {
    return hmac_sha256_base64(std::to_string(timestamp_s) + "\n" + secret, "");
}

std::string dingtalk_url(const robot_options& options, std::int64_t timestamp_ms) {
    if (options.secret.empty()) return options.url;
    return options.url + (options.url.find('?') == std::string::npos ? "?" : "&") +
           "timestamp=" + std::to_string(timestamp_ms) +
           "&sign=" + dingtalk_sign(timestamp_ms, options.secret);
}

std::string dingtalk_body(const alarm_event& event, const robot_options& options) {
    json mobiles = json::array();
    bool all = false;
    auto text = markdown_of(event, options);
    for (const auto& one : options.mentions) {
        if (one == "all") {
            all = true;
            continue;
        }
        mobiles.push_back(one);
        text += "\n@" + one;  // a robot mentions only whom its text does
    }
    return dump({{"msgtype", "markdown"},
                 {"markdown", {{"title", title_of(event, options)}, {"text", text}}},
                 {"at", {{"atMobiles", mobiles}, {"isAtAll", all}}}});
}

std::string wecom_body(const alarm_event& event, const robot_options& options) {
    constexpr std::size_t most = 4096;  // bytes: more is refused
    auto content = markdown_of(event, options);
    if (content.size() > most) content = shortened(content, most - 3) + "…";
    return dump({{"msgtype", "markdown"}, {"markdown", {{"content", content}}}});
}

std::string lark_body(const alarm_event& event, const robot_options& options,
                      std::int64_t timestamp_s) {
    json body = json::object();
    if (!options.secret.empty()) {
        body["timestamp"] = std::to_string(timestamp_s);
        body["sign"] = lark_sign(timestamp_s, options.secret);
    }
    const json title{{"tag", "plain_text"}, {"content", title_of(event, options)}};
    const json text{{"tag", "lark_md"}, {"content", markdown_of(event, options)}};
    body["msg_type"] = "interactive";
    body["card"] = {
        {"header",
         {{"title", title}, {"template", event.state == alarm_state::firing ? "red" : "green"}}},
        {"elements", json::array({json{{"tag", "div"}, {"text", text}}})}};
    return dump(body);
}

std::string alertmanager_body(const alarm_event& event) {
    // The labels are what an alert is known by: the same when it fires and when it is over, and
    // others than those of another rule, whose end would be taken for the end of this one.
    json alert{{"labels",
                {{"alertname", std::string("cadre_") + to_text(event.type)},
                 {"pool", event.pool},
                 {"instance", event.instance},
                 {"rule", event.rule}}},
               {"annotations", {{"summary", event.text}, {"task", event.task}}},
               {"startsAt", iso_time(event.since)}};
    // Each change is told, also one that follows another of the pool soon.
    if (event.type == alarm_type::change) alert["labels"]["at"] = iso_time(event.at);
    // Without an end the Alertmanager takes it for over when its own patience ends, in 5 minutes,
    // and the next message may come later.
    if (event.state == alarm_state::recovered)
        alert["endsAt"] = iso_time(event.at);
    else if (event.next_by != std::chrono::system_clock::time_point())
        alert["endsAt"] = iso_time(event.next_by);
    return dump(json::array({alert}));
}

std::string fill_template(const std::string& body, const alarm_event& event) {
    const json values{
        {"type", to_text(event.type)}, {"state", text_of(event.state)}, {"pool", event.pool},
        {"task", event.task},          {"instance", event.instance},    {"text", event.text},
        {"value", event.value},        {"threshold", event.threshold},  {"at", iso_time(event.at)}};
    std::string filled;
    for (std::size_t at = 0;;) {
        const auto open = body.find("{{", at);
        filled += body.substr(at, open == std::string::npos ? open : open - at);
        if (open == std::string::npos) return filled;
        const auto close = body.find("}}", open);
        const auto name = body.substr(
            open + 2, close == std::string::npos ? std::string::npos : close - open - 2);
        if (close == std::string::npos || !values.contains(name))
            throw std::invalid_argument("body_template: {{" + name + "}} is no placeholder");
        auto text = dump(values[name]);
        if (values[name].is_string()) text = text.substr(1, text.size() - 2);  // the quotes
        filled += text;
        at = close + 2;
    }
}

}  // namespace cadre::manage::detail
