// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/json.hpp>

#include <ctime>

#include <cadre/manage/duration_text.hpp>
#include <cadre/manage/settings_text.hpp>
#include <cadre/queue/blocking_queue.hpp>

#include "json_value.hpp"

namespace cadre::manage {
namespace detail {
namespace {

const char* text_of(run_state state) {
    switch (state) {
        case run_state::running:
            return "running";
        case run_state::shutdown:
            return "shutdown";
        case run_state::stop:
            return "stop";
        case run_state::tidying:
            return "tidying";
        case run_state::terminated:
            return "terminated";
    }
    return "terminated";
}

json json_of(const std::vector<field_change>& changes) {
    json all = json::array();
    for (const auto& c : changes)
        all.push_back({{"field", c.field}, {"before", c.before}, {"after", c.after}});
    return all;
}

json json_of(const std::vector<field_not_applied>& not_applied) {
    json all = json::array();
    for (const auto& n : not_applied)
        all.push_back({{"field", n.field},
                       {"wished", n.wished},
                       {"effective", n.effective},
                       {"reason", n.reason}});
    return all;
}

}  // namespace

double seconds(std::chrono::nanoseconds d) { return std::chrono::duration<double>(d).count(); }

std::string iso_time(std::chrono::system_clock::time_point t) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(t);
    const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(t - seconds).count();
    const std::time_t time = std::chrono::system_clock::to_time_t(seconds);
    std::tm parts{};
    gmtime_r(&time, &parts);
    char text[40];
    const auto length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    const auto fraction = std::to_string(1000 + rest);
    return std::string(text, length) + "." + fraction.substr(1) + "Z";
}

std::string dump(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json json_of(const pool_settings& settings) {
    json all = json::object();
    for (const auto& field : field_names()) {
        const auto text = field_text(settings, field);
        if (!text.empty()) all[field] = text;
    }
    // Numbers and truths as such.
    if (settings.core_pool_size) all["core_pool_size"] = *settings.core_pool_size;
    if (settings.maximum_pool_size) all["maximum_pool_size"] = *settings.maximum_pool_size;
    if (settings.queue_capacity && *settings.queue_capacity != static_cast<std::size_t>(unbounded))
        all["queue_capacity"] = *settings.queue_capacity;
    if (settings.allow_core_thread_time_out)
        all["allow_core_thread_time_out"] = *settings.allow_core_thread_time_out;
    if (settings.prestart_core_threads)
        all["prestart_core_threads"] = *settings.prestart_core_threads;
    if (settings.interrupt_on_run_timeout)
        all["interrupt_on_run_timeout"] = *settings.interrupt_on_run_timeout;
    return all;
}

json json_of(const pool_snapshot& s) {
    json all{{"name", s.name},
             {"state", text_of(s.state)},
             {"core_pool_size", s.core_pool_size},
             {"maximum_pool_size", s.maximum_pool_size},
             {"keep_alive", to_text(s.keep_alive)},
             {"allows_core_thread_time_out", s.allows_core_thread_time_out},
             {"pool_size", s.pool_size},
             {"active_count", s.active_count},
             {"largest_pool_size", s.largest_pool_size},
             {"queue_size", s.queue_size}};
    if (s.queue_remaining_capacity == blocking_queue<task>::npos)
        all["queue_remaining_capacity"] = "unbounded";
    else
        all["queue_remaining_capacity"] = s.queue_remaining_capacity;
    all["task_count"] = s.task_count;
    all["completed_task_count"] = s.completed_task_count;
    all["rejected_task_count"] = s.rejected_task_count;
    all["uncaught_count"] = s.uncaught_count;
    all["submitted_task_count"] = s.submitted_task_count;
    return all;
}

json json_of(const change_report& report) {
    return {{"pool", report.pool},
            {"revision", report.revision},
            {"changes", json_of(report.changes)},
            {"not_applied", json_of(report.not_applied)},
            {"warnings", report.warnings},
            {"before", json_of(report.before)},
            {"after", json_of(report.after)}};
}

json json_of(const change_record& record) {
    return {
        {"at", iso_time(record.at)},           {"revision", record.revision},
        {"kind", to_text(record.kind)},        {"pool", record.pool},
        {"source", record.origin.source},      {"source_revision", record.origin.source_revision},
        {"author", record.origin.author},      {"comment", record.origin.comment},
        {"changes", json_of(record.changes)},  {"not_applied", json_of(record.not_applied)},
        {"warnings", record.warnings},         {"error", record.error},
        {"settings", json_of(record.settings)}};
}

}  // namespace detail

std::string to_json(const pool_settings& settings) {
    return detail::dump(detail::json_of(settings));
}
std::string to_json(const pool_snapshot& snapshot) {
    return detail::dump(detail::json_of(snapshot));
}
std::string to_json(const change_report& report) { return detail::dump(detail::json_of(report)); }
std::string to_json(const change_record& record) { return detail::dump(detail::json_of(record)); }

}  // namespace cadre::manage
