// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/managed_pool.hpp>

namespace cadre::manage {

/// A pool over a period, as two looks at it saw it.
struct pool_load {
    std::chrono::nanoseconds period = {};
    double arrivals_per_second = 0;
    double completions_per_second = 0;
    std::chrono::nanoseconds mean_run = {};   ///< of a task
    std::chrono::nanoseconds mean_wait = {};  ///< in the queue
    std::chrono::nanoseconds wait_p99 = {};
    double rejections_per_second = 0;
    /// Processor time of its threads in the run time of its tasks, from 0 to 1.
    double compute_share = 1;
    int core_threads = 0;     ///< that it had in the end; 0: not known
    int maximum_threads = 0;  ///< likewise
};

/// Within which bounds advice is given, and what it aims at.
struct advice_options {
    int min_threads = 1;
    int max_threads = 256;
    double utilisation = 0.8;  ///< of threads and processors; the rest is for bursts
    std::chrono::nanoseconds target_wait = std::chrono::milliseconds(50);  ///< in the queue
    int processors = available_processors();
};

/// What advise() says.
struct sizing_advice {
    pool_settings settings = {};            ///< core, maximum and, of a bounded queue, capacity
    std::vector<std::string> reasons = {};  ///< one line for each number
    bool enough_data = false;               ///< false: the settings are empty
};

/// What sizes such a load asks for. Threads by Little's law (arrivals times run time), with room
/// for bursts, and more if tasks that come by chance would wait for longer than is aimed at
/// (Erlang's formula), not beyond what the processors can feed: n * u * (1 + W/C). Where tasks did
/// wait for longer, or were rejected, no fewer than there are. The queue holds what arrives within
/// the wait that is aimed at. Pure.
CADRE_API sizing_advice advise(const pool_load& load, const advice_options& options = {});

/// Looks at a pool again and again and says what sizes it should have. Each has its own memory of
/// the last look, so two do not disturb each other. Not for several threads at once.
class CADRE_API pool_adviser {
public:
    /// Throws std::invalid_argument if the pool has no monitor.
    explicit pool_adviser(std::shared_ptr<managed_pool> pool);
    /// Since the last call, or since this was made.
    pool_load load();

private:
    struct look {
        std::chrono::steady_clock::time_point at = {};
        pool_snapshot snapshot = {};
        pool_metrics metrics = {};
    };
    look now() const;

    const std::shared_ptr<managed_pool> pool_;
    look last_;
};

/// When and how far a sizing_controller changes a pool.
struct controller_options {
    advice_options bounds = {};
    std::chrono::nanoseconds cool_down = std::chrono::minutes(1);  ///< between two changes
    double least_change = 0.2;  ///< smaller ones, in parts of the present size, are not made
    bool dry_run = true;        ///< say it, do not do it
};

/// Applies advice to one pool. Does nothing by itself: call step() at intervals, from one thread.
class CADRE_API sizing_controller {
public:
    sizing_controller(std::shared_ptr<managed_pool> pool, controller_options options);
    /// Looks, and changes core and maximum if there is reason to and the cool-down is over, as far
    /// as the guard rails let it: the rest of the way is for the next steps. The
    /// report of the change, or in a dry run of what it would be; nothing if none is due.
    std::optional<change_report> step();

private:
    const std::shared_ptr<managed_pool> pool_;
    const controller_options options_;
    pool_adviser adviser_;
    std::optional<std::chrono::steady_clock::time_point> changed_at_;
};

}  // namespace cadre::manage
