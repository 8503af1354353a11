// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/alarm.hpp>

/// Where alarms can go. Those over HTTP follow no redirects, and give up after their timeout; an
/// answer other than 2xx is a failure.
namespace cadre::manage {

/// One line of text for each event, to a function of yours or to stderr.
class CADRE_API log_notifier final : public notifier {
public:
    explicit log_notifier(std::function<void(std::string_view)> sink = {});
    std::string name() const override { return "log"; }
    void send(const alarm_event& event) override;

private:
    const std::function<void(std::string_view)> sink_;
};

/// Which program is told, and how long it may take.
struct command_options {
    std::vector<std::string> command =
        {};  ///< the program, found by PATH, and its arguments; no shell
    std::chrono::nanoseconds timeout = std::chrono::seconds(10);  ///< then it is killed
    std::string name = "command";
};

/// Starts a program with the event as JSON on its standard input. A status other than 0 is a
/// failure.
class CADRE_API command_notifier final : public notifier {
public:
    explicit command_notifier(command_options options);
    std::string name() const override { return options_.name; }
    void send(const alarm_event& event) override;

private:
    const command_options options_;
};

/// Which address is told, and in which words.
struct webhook_options {
    std::string url = {};
    /// Body, in which {{type}}, {{state}}, {{pool}}, {{task}}, {{instance}}, {{text}}, {{value}},
    /// {{threshold}} and {{at}} are replaced, quoted as JSON strings are. Empty: the event as JSON.
    std::string body_template = {};
    std::vector<std::string> headers = {};  ///< "Name: value"
    std::chrono::nanoseconds timeout = std::chrono::seconds(3);
    std::string name = "webhook";
    /// A file of certificates (PEM) of those who may vouch for an https server. Empty: the
    /// system's.
    std::string ca_file = {};
};

/// Tells an address, by POST.
class CADRE_API webhook_notifier final : public notifier {
public:
    /// Throws std::invalid_argument if the URL is not http or https or the template has a
    /// placeholder that is not known.
    explicit webhook_notifier(webhook_options options);
    std::string name() const override { return options_.name; }
    void send(const alarm_event& event) override;

private:
    const webhook_options options_;
};

/// For the four below.
struct robot_options {
    std::string url = {};                    ///< with its access token or key
    std::string secret = {};                 ///< DingTalk and Lark: signs the message
    std::vector<std::string> mentions = {};  ///< DingTalk: mobile numbers; "all": everybody
    std::string keyword = {};                ///< put before the text, for robots that ask for one
    std::chrono::nanoseconds timeout = std::chrono::seconds(3);
    std::string name = {};  ///< empty: dingtalk, wecom, lark, alertmanager
    /// A file of certificates (PEM) of those who may vouch for an https server. Empty: the
    /// system's.
    std::string ca_file = {};
};

CADRE_API std::shared_ptr<notifier> dingtalk_notifier(robot_options options);
CADRE_API std::shared_ptr<notifier> wecom_notifier(robot_options options);
CADRE_API std::shared_ptr<notifier> lark_notifier(robot_options options);
/// The URL is that of the Alertmanager: /api/v2/alerts is added.
CADRE_API std::shared_ptr<notifier> alertmanager_notifier(robot_options options);

}  // namespace cadre::manage
