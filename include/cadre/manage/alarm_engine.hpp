// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/alarm.hpp>
#include <cadre/manage/pool_registry.hpp>

namespace cadre::manage {

class config_manager;

namespace detail {
class alarm_core;
}

/// What is watched, and how often.
struct alarm_options {
    std::vector<alarm_rule> rules = default_alarm_rules();
    /// How often pools are looked at. Zero: only when check() is called.
    std::chrono::nanoseconds interval = std::chrono::seconds(5);
    std::string instance = {};  ///< empty: the host name and process number
    /// Events that wait for one notifier; beyond that the oldest is dropped.
    std::size_t backlog = 256;
    /// Whose sources config_stale watches, by name, and whose documents may say other rules, which
    /// count from the next look on; must live longer than the engine. Null: none.
    const config_manager* config = nullptr;
    /// For a configuration of another kind: for how long it has not been heard of. Empty: none is
    /// asked. If it throws, nobody knows this time.
    std::function<std::chrono::nanoseconds()> config_age = {};
};

/// What became of the events for one notifier.
struct notifier_counts {
    std::string name;
    std::uint64_t sent = 0;
    std::uint64_t failed = 0;   ///< its send() threw
    std::uint64_t dropped = 0;  ///< it was too slow
    std::string last_error = {};
};

/// Looks at the pools of a registry, decides by rules, and tells notifiers. One thread looks; each
/// notifier has one of its own and a bounded backlog, so one that hangs or fails holds up neither a
/// pool nor another notifier. All members may be called from any thread.
///
///     alarm_engine alarms(registry, {.rules = {{.type = alarm_type::reject, .count = 10}}},
///                         {std::make_shared<log_notifier>()});
class CADRE_API alarm_engine {
public:
    /// The registry must outlive the engine. Throws std::invalid_argument for rules that cannot be.
    alarm_engine(pool_registry& registry, alarm_options options,
                 std::vector<std::shared_ptr<notifier>> notifiers);
    alarm_engine(const alarm_engine&) = delete;
    alarm_engine& operator=(const alarm_engine&) = delete;
    /// Sends what is in the backlogs no more, but waits for what is being sent.
    ~alarm_engine();

    /// Looks at all pools now, as the thread does in each interval.
    void check();
    /// Those of the code. What fires by a rule that is among the new ones goes on; what fires by
    /// another is over.
    void set_rules(std::vector<alarm_rule> rules);
    /// Those of the code, with what documents say instead.
    std::vector<alarm_rule> rules() const;
    /// What is firing, as it was when last looked at.
    std::vector<alarm_event> active() const;
    /// What is over, the last 100, latest first: as it was when last seen firing, save `state`, and
    /// `at`, which is when it was found to be over.
    std::vector<alarm_event> recovered() const;
    std::vector<notifier_counts> counts() const;

private:
    const std::shared_ptr<detail::alarm_core> core_;
};

}  // namespace cadre::manage
