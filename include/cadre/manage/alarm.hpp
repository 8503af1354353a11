// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/change_report.hpp>
#include <cadre/thread_pool_executor.hpp>

namespace cadre::manage {

enum class alarm_type {
    change,         ///< a pool was registered, changed or removed, or a change was refused
    liveness,       ///< active threads, in percent of those there can be, reach the threshold
    capacity,       ///< queued tasks, in percent of the capacity, reach the threshold
    reject,         ///< tasks were rejected
    run_timeout,    ///< tasks ran longer than the pool's run_timeout
    queue_timeout,  ///< tasks waited longer than the pool's queue_timeout
    stuck_worker,   ///< a task has been running for `limit`
    oldest_wait,    ///< the head of the queue has been waiting for `limit`
    config_stale,   ///< a configuration source has not answered for `limit`
    thread_create_failed,  ///< the thread factory gave no thread
};
/// change, liveness, ...
CADRE_API const char* to_text(alarm_type type);
/// Throws std::invalid_argument with the text and what it may be.
CADRE_API alarm_type parse_alarm_type(std::string_view text);

/// When somebody is to be told. Levels (liveness, capacity, stuck_worker, oldest_wait,
/// config_stale) are looked at once in each interval; of the others every occurrence counts. Of the
/// type change every one is told: it knows no count, silence or recovery.
struct alarm_rule {
    alarm_type type = alarm_type::reject;
    std::string pool = "*";                ///< its name; *: each of them by itself
    std::vector<std::string> except = {};  ///< the pools that a * does not mean
    double threshold = 80;                 ///< percent; of liveness and capacity
    std::chrono::nanoseconds limit = std::chrono::seconds(60);  ///< of those that speak of a time
    /// So many occurrences, or looks that found the level reached, within the window.
    std::uint64_t count = 1;
    std::chrono::nanoseconds window = std::chrono::seconds(120);
    /// A level must have been there for that long without a break.
    std::chrono::nanoseconds lasting = std::chrono::seconds(0);
    /// After a message, none of the same rule and pool for that long.
    std::chrono::nanoseconds silence = std::chrono::seconds(120);
    bool tell_recovery = true;
    std::vector<std::string> notifiers = {};  ///< by name; empty: all. Who is missing: on stderr

    bool operator==(const alarm_rule&) const = default;
};

/// Reject, both timeouts (10 within the window), liveness, capacity, stuck_worker and oldest_wait
/// (5 minutes), thread_create_failed and change, for every pool; and config_stale (10 minutes).
CADRE_API std::vector<alarm_rule> default_alarm_rules();

enum class alarm_state { firing, recovered };

/// What notifiers are told.
struct alarm_event {
    alarm_type type = alarm_type::reject;
    alarm_state state = alarm_state::firing;
    std::string pool = {};
    std::string task = {};      ///< the task it is about, if that is known and has a name
    std::string instance = {};  ///< which process: alarm_options::instance
    std::string what = {};      ///< "4 of 4 threads are active (threshold 80)"
    std::string text = {};      ///< the whole in one English line
    double value = 0;           ///< percent, seconds or occurrences
    double threshold = 0;       ///< what the value was compared with
    /// What tells its rule from others of the type: "threshold 80, lasting 30s". The same as long
    /// as the rule is.
    std::string rule = {};
    std::uint64_t suppressed = 0;  ///< messages that silence has swallowed since the last one
    std::chrono::system_clock::time_point at = {};
    std::chrono::system_clock::time_point since = {};  ///< when it began
    /// By when there is another message of what fires, if it still does. The epoch: nobody knows,
    /// as of a change, or if the engine looks only when it is told to.
    std::chrono::system_clock::time_point next_by = {};
    pool_snapshot snapshot = {};
    change_record change = {};  ///< of the type change
};
CADRE_API std::string to_json(const alarm_event& event);

/// Sends events somewhere.
class CADRE_API notifier {
public:
    virtual ~notifier() = default;
    /// By which rules choose it.
    virtual std::string name() const = 0;
    /// On a thread of the notifier's own, one event at a time. What it throws counts as failed.
    /// Should come to an end by itself: the engine's destructor waits for it.
    virtual void send(const alarm_event& event) = 0;
};

}  // namespace cadre::manage
