// SPDX-License-Identifier: Apache-2.0
#include "manage/alarm_rules.hpp"

#include <algorithm>
#include <stdexcept>

#include <cadre/manage/duration_text.hpp>

namespace cadre::manage::detail {
namespace {

bool are_of_one(const alarm_rule& a, const alarm_rule& b) {
    return a.type == b.type && a.pool == b.pool;
}

}  // namespace

std::vector<std::string_view> names_of_alarms() {
    std::vector<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(alarm_type::thread_create_failed); ++i)
        names.emplace_back(to_text(static_cast<alarm_type>(i)));
    return names;
}

bool is_percent(alarm_type type) {
    return type == alarm_type::liveness || type == alarm_type::capacity;
}

bool is_duration(alarm_type type) {
    return type == alarm_type::stuck_worker || type == alarm_type::oldest_wait ||
           type == alarm_type::config_stale;
}

alarm_rule default_rule(alarm_type type) {
    for (auto& rule : default_alarm_rules())
        if (rule.type == type) return rule;
    return {.type = type};
}

void check_rules(const std::vector<alarm_rule>& rules) {
    for (const auto& rule : rules) {
        const std::string what = std::string("alarm rule ") + to_text(rule.type) + ": ";
        const auto refuse = [&](const std::string& why) {
            throw std::invalid_argument(what + why);
        };
        if (rule.pool.empty()) refuse("pool is empty");
        if (!(rule.threshold > 0 && rule.threshold <= 100))
            refuse("threshold (" + std::to_string(rule.threshold) + ") must be above 0 up to 100");
        if (rule.count < 1) refuse("count (0) must be at least 1");
        if (rule.limit.count() <= 0) refuse("limit (" + to_text(rule.limit) + ") must be positive");
        if (rule.window.count() <= 0)
            refuse("window (" + to_text(rule.window) + ") must be positive");
        if (rule.lasting.count() < 0) refuse("lasting (" + to_text(rule.lasting) + ") is negative");
        if (rule.silence.count() < 0) refuse("silence (" + to_text(rule.silence) + ") is negative");
    }
}

bool is_for(const alarm_rule& rule, std::string_view pool) {
    if (rule.pool != "*") return rule.pool == pool;
    return std::find(rule.except.begin(), rule.except.end(), pool) == rule.except.end();
}

void overlay(std::vector<alarm_entry>& entries, const std::vector<alarm_entry>& over) {
    std::erase_if(entries, [&](const alarm_entry& entry) {
        return std::any_of(over.begin(), over.end(),
                           [&](const auto& other) { return are_of_one(entry.rule, other.rule); });
    });
    entries.insert(entries.end(), over.begin(), over.end());
}

std::vector<alarm_rule> with_entries(std::vector<alarm_rule> of_code,
                                     const std::vector<alarm_entry>& entries) {
    auto rules = std::move(of_code);
    for (const auto& entry : entries)
        std::erase_if(rules, [&](const alarm_rule& rule) { return are_of_one(rule, entry.rule); });
    for (const auto& entry : entries)
        if (entry.enabled) rules.push_back(entry.rule);
    for (const auto& [said, enabled] : entries)
        for (auto& rule : rules)
            if (rule.pool == "*" && said.type == rule.type && is_for(rule, said.pool) &&
                said.pool != "*")
                rule.except.push_back(said.pool);
    return rules;
}

}  // namespace cadre::manage::detail
