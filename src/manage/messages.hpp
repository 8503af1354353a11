// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <cadre/manage/alarm.hpp>
#include <cadre/manage/notifiers.hpp>

/// What is sent to whom: pure, so that it can be tested without a network.
namespace cadre::manage::detail {

/// urlencode(base64(HMAC-SHA256(key = secret, message = timestamp "\n" secret))), of milliseconds.
std::string dingtalk_sign(std::int64_t timestamp_ms, const std::string& secret);
/// base64(HMAC-SHA256(key = timestamp "\n" secret, message = "")), of seconds.
std::string lark_sign(std::int64_t timestamp_s, const std::string& secret);

std::string dingtalk_url(const robot_options& options, std::int64_t timestamp_ms);
std::string dingtalk_body(const alarm_event& event, const robot_options& options);
std::string wecom_body(const alarm_event& event, const robot_options& options);
std::string lark_body(const alarm_event& event, const robot_options& options,
                      std::int64_t timestamp_s);
std::string alertmanager_body(const alarm_event& event);

/// Throws std::invalid_argument for a placeholder that is not known.
std::string fill_template(const std::string& body, const alarm_event& event);

}  // namespace cadre::manage::detail
