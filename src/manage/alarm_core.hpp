// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cadre/manage/alarm_engine.hpp>
#include <cadre/manage/config_manager.hpp>

#include "alarm_tracker.hpp"
#include "notification_lane.hpp"

namespace cadre::manage::detail {

/// Behind an alarm_engine. One lock makes decisions one at a time, so that no two checks tell the
/// same twice; pools are looked at before it is taken, and lanes take events without waiting. A
/// look that another one, begun later, has overtaken decides nothing: it saw less.
class alarm_core {
public:
    alarm_core(pool_registry& registry, alarm_options options,
               std::vector<std::shared_ptr<notifier>> notifiers);
    ~alarm_core();
    alarm_core(const alarm_core&) = delete;
    alarm_core& operator=(const alarm_core&) = delete;

    void check();
    void changed(const change_record& record);
    void set_rules(std::vector<alarm_rule> rules);
    std::vector<alarm_rule> rules() const;
    std::vector<alarm_event> active() const;
    std::vector<alarm_event> recovered() const;
    std::vector<notifier_counts> counts() const;

private:
    /// Of what is counted.
    struct totals {
        std::uint64_t rejected = 0;
        std::uint64_t run_timeouts = 0;
        std::uint64_t queue_timeouts = 0;
        std::uint64_t threads_failed = 0;
    };
    /// A pool as it is looked at, once for all rules.
    struct sighting {
        std::shared_ptr<managed_pool> pool;
        pool_snapshot snapshot = {};
        pool_metrics metrics = {};
        std::size_t capacity = 0;  // 0: no bound
        std::chrono::nanoseconds oldest_wait = {};
        std::string oldest_task = {};
        worker_view longest = {};  // of those who run a task
        totals ever = {};
        totals news = {};  // since the last look, or since it was registered
    };
    /// What a rule sees in it.
    struct finding {
        bool is_level = true;
        bool reached = false;     // of a level
        std::uint64_t times = 0;  // that it occurred since the last look
        double value = 0;
        double threshold = 0;
        std::string task = {};
        std::string what = {};
    };
    struct tracked {
        alarm_tracker tracker;
        std::chrono::system_clock::time_point since = {};
        alarm_event last = {};  // while it fires
    };

    /// By which listeners of the registry find the engine, as long as it is there.
    struct inbox {
        std::mutex mutex;  // guards core; first, before the engine's
        alarm_core* core = nullptr;
    };

    /// How stale the configuration is.
    struct staleness {
        std::chrono::nanoseconds age = {};
        std::string whose = {};
        std::string error = {};
    };
    std::optional<config_status> status_of_config() const;
    std::optional<staleness> config_age(const config_status& status) const;
    static finding find_stale(const alarm_rule& rule, const staleness& found);
    static sighting look_at(const std::shared_ptr<managed_pool>& pool);
    void count_news(sighting& s);
    static finding find(const alarm_rule& rule, const sighting& s);
    void decide(const alarm_rule& rule, const finding& found, const sighting& s);
    void use_rules(std::vector<alarm_rule> rules);
    void note_missing_notifiers(const alarm_rule& rule) const;
    /// held: pools that were looked at, for the caller to let go of without the mutex.
    void forget_pools(const std::vector<sighting>& there,
                      std::vector<std::shared_ptr<managed_pool>>& held);
    void end(const alarm_rule& rule, tracked& of, const std::string& why);
    void keep_ended(alarm_event event);
    void post(const alarm_rule& rule, const alarm_event& event);
    void run();

    pool_registry& registry_;
    const std::chrono::nanoseconds interval_;
    const std::string instance_;
    const config_manager* const config_;
    const std::function<std::chrono::nanoseconds()> config_age_;
    std::vector<std::unique_ptr<notification_lane>> lanes_;  // fixed

    mutable std::mutex mutex_;  // guards all below
    std::vector<alarm_rule> rules_of_code_;
    std::vector<alarm_entry> entries_;                                // of documents
    std::vector<alarm_rule> rules_;                                   // of both
    std::map<std::pair<std::size_t, std::string>, tracked> tracked_;  // by rule and pool
    struct counted {
        std::weak_ptr<managed_pool> pool;
        totals ever;
    };
    std::map<std::string, counted> counted_;  // by pool: at the last look
    std::deque<alarm_event> ended_;           // latest first
    std::uint64_t looks_begun_ = 0;
    std::uint64_t look_decided_ = 0;  // the latest
    bool stop_ = false;
    std::condition_variable stopped_;
    const std::shared_ptr<inbox> inbox_ = std::make_shared<inbox>();
    subscription changes_;
    std::thread thread_;
};

}  // namespace cadre::manage::detail
