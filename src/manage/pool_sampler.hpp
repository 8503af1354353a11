// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "manage/pool_advisers.hpp"
#include "manage/pool_view.hpp"
#include <cadre/manage/pool_registry.hpp>

namespace cadre::manage::detail {

/// What is kept of a pool, for charts. Not a number where nothing is known.
struct pool_sample {
    enum column {
        threads,
        active,
        core,
        maximum,
        queue,
        capacity,
        submitted,  ///< a second, since the sample before
        completed,
        rejected,
        wait_p50,
        wait_p99,
        run_p50,
        run_p99,
        columns
    };
    static std::string_view name_of(column c);
    std::array<float, columns> values = {};
};

/// The last hour of all pools of a registry, looked at in even steps by a thread of its own. At
/// most `most_pools` are kept of each look, so that its memory has a bound: 720 looks of 256 pools
/// are 16 MB.
class pool_sampler {
public:
    struct look {
        double time = 0;  ///< seconds since 1970, to the millisecond; always grows
        std::vector<std::pair<std::string, pool_sample>> pools = {};
    };
    static constexpr std::size_t most_pools = 256;

    using wall_clock = std::function<std::chrono::system_clock::time_point()>;

    /// Looks at once, and then every `interval`.
    pool_sampler(const pool_registry& registry, std::chrono::nanoseconds interval,
                 std::chrono::nanoseconds kept = std::chrono::hours(1),
                 wall_clock wall = std::chrono::system_clock::now);
    ~pool_sampler();
    pool_sampler(const pool_sampler&) = delete;
    pool_sampler& operator=(const pool_sampler&) = delete;

    std::chrono::nanoseconds interval() const { return interval_; }
    /// Those that are later than `time`, in order.
    std::vector<look> since(double time) const;
    /// The latest of one pool.
    std::optional<pool_sample> latest(std::string_view pool) const;
    /// Waits and runs of about the last minute, for a pool that was looked at just now.
    struct recent_times {
        quantiles wait, run;
    };
    recent_times recent(const std::string& pool, const pool_view& now) const;
    const pool_advisers& advisers() const { return advisers_; }
    /// Looks now; for tests.
    void look_now();

private:
    using steady = std::chrono::steady_clock;  // for all durations

    struct totals {
        steady::time_point at = {};
        std::int64_t submitted = 0;
        std::int64_t completed = 0;
        std::int64_t rejected = 0;
        latency_histogram wait = {}, run = {};
    };
    void run(const std::stop_token& stop);
    pool_sample sample_of(const managed_pool& pool, steady::time_point now);

    const pool_registry& registry_;
    const std::chrono::nanoseconds interval_;
    const std::size_t most_looks_;
    const wall_clock wall_;
    pool_advisers advisers_;

    std::mutex looking_;  // one look at a time; taken before mutex_
    std::map<std::string, totals, std::less<>> before_;

    mutable std::mutex mutex_;  // guards all below
    std::deque<look> looks_;
    steady::time_point looked_at_;  ///< the last of them
    std::map<std::string, std::deque<totals>, std::less<>> last_minute_;

    std::condition_variable_any woken_;
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace cadre::manage::detail
