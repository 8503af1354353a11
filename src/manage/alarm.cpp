// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/alarm.hpp>

#include <array>
#include <stdexcept>

#include "json_value.hpp"

namespace cadre::manage {
namespace {

constexpr std::array alarm_names{
    "change",        "liveness",     "capacity",    "reject",       "run_timeout",
    "queue_timeout", "stuck_worker", "oldest_wait", "config_stale", "thread_create_failed"};

}  // namespace

const char* to_text(alarm_type type) { return alarm_names.at(static_cast<std::size_t>(type)); }

alarm_type parse_alarm_type(std::string_view text) {
    std::string known;
    for (std::size_t i = 0; i < alarm_names.size(); ++i) {
        if (text == alarm_names[i]) return static_cast<alarm_type>(i);
        known += std::string(" ") + alarm_names[i];
    }
    throw std::invalid_argument("type (" + std::string(text) + ") is no alarm; there are:" + known);
}

std::vector<alarm_rule> default_alarm_rules() {
    return {{.type = alarm_type::change, .silence = std::chrono::seconds(0)},
            {.type = alarm_type::liveness, .threshold = 80, .lasting = std::chrono::seconds(30)},
            {.type = alarm_type::capacity, .threshold = 80},
            {.type = alarm_type::reject},
            {.type = alarm_type::run_timeout, .count = 10},
            {.type = alarm_type::queue_timeout, .count = 10},
            {.type = alarm_type::stuck_worker, .limit = std::chrono::minutes(5)},
            {.type = alarm_type::oldest_wait, .limit = std::chrono::minutes(5)},
            {.type = alarm_type::config_stale, .limit = std::chrono::minutes(10)},
            {.type = alarm_type::thread_create_failed}};
}

std::string to_json(const alarm_event& event) {
    detail::json all{{"at", detail::iso_time(event.at)},
                     {"since", detail::iso_time(event.since)},
                     {"type", to_text(event.type)},
                     {"state", event.state == alarm_state::firing ? "firing" : "recovered"},
                     {"pool", event.pool},
                     {"task", event.task},
                     {"instance", event.instance},
                     {"what", event.what},
                     {"text", event.text},
                     {"value", event.value},
                     {"threshold", event.threshold},
                     {"rule", event.rule},
                     {"suppressed", event.suppressed}};
    if (event.type == alarm_type::change)
        all["change"] = detail::json_of(event.change);
    else
        all["snapshot"] = detail::json_of(event.snapshot);
    return detail::dump(all);
}

}  // namespace cadre::manage
