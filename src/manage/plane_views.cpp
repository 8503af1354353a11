// SPDX-License-Identifier: Apache-2.0
#include "manage/plane_views.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "manage/pool_view.hpp"
#include <cadre/manage/metrics_text.hpp>

namespace cadre::manage::detail {

std::string metrics_of(const pool_registry& registry, const pool_sampler& sampler,
                       const http_server_options& server) {
    auto options = server.metrics;
    if (!options.alarms) options.alarms = server.alarms;
    if (!options.completed_per_second)
        options.completed_per_second = [&](const managed_pool& pool) -> std::optional<double> {
            const auto sample = sampler.latest(pool.name());
            const auto rate = sample ? sample->values[pool_sample::completed]
                                     : std::numeric_limits<float>::quiet_NaN();
            return std::isnan(rate) ? std::nullopt : std::optional<double>(rate);
        };
    return prometheus_text(registry, options);
}

json alarms_of(const http_server_options& options, std::string_view pool) {
    json all = json::array();
    if (options.alarms == nullptr) return all;
    const auto in_seconds = [](std::chrono::system_clock::time_point t) {
        return std::chrono::duration<double>(t.time_since_epoch()).count();
    };
    const auto show = [&](const alarm_event& alarm) {
        if (!pool.empty() && alarm.pool != pool) return;
        const bool firing = alarm.state == alarm_state::firing;
        all.push_back({{"type", to_text(alarm.type)},
                       {"pool", alarm.pool},
                       {"task", alarm.task},
                       {"firing", firing},
                       {"since", in_seconds(alarm.since)},
                       {"until", firing ? json(nullptr) : json(in_seconds(alarm.at))},
                       {"value", alarm.value},
                       {"threshold", alarm.threshold},
                       {"message", alarm.what}});
    };
    auto firing = options.alarms->active();
    std::sort(firing.begin(), firing.end(),
              [](const auto& a, const auto& b) { return a.since > b.since; });
    for (const auto& alarm : firing) show(alarm);
    for (const auto& alarm : options.alarms->recovered()) show(alarm);
    return all;
}

std::size_t firing_alarms(const http_server_options& options, std::string_view pool) {
    if (options.alarms == nullptr) return 0;
    const auto firing = options.alarms->active();
    return static_cast<std::size_t>(std::count_if(
        firing.begin(), firing.end(), [&](const auto& alarm) { return alarm.pool == pool; }));
}

std::size_t firing_alarms(const http_server_options& options) {
    return options.alarms == nullptr ? 0 : options.alarms->active().size();
}

namespace {

json sizes_of(const pool_advisers::advised& advised, bool bounded) {
    const auto& wanted = advised.advice.settings;
    const bool with_capacity = bounded && advised.pool->queue_type() == "linked";
    auto reasons = advised.advice.reasons;
    if (!with_capacity) reasons.pop_back();  // the last is about that
    std::string why;
    for (const auto& reason : reasons) why += (why.empty() ? "" : "; ") + reason;
    json settings = {{"core_pool_size", wanted.core_pool_size.value_or(0)}};
    std::string sizes = "core_pool_size " + std::to_string(wanted.core_pool_size.value_or(0));
    if (advised.pool->kind() == pool_kind::plain) {
        settings["maximum_pool_size"] = wanted.maximum_pool_size.value_or(0);
        sizes += ", maximum_pool_size " + std::to_string(wanted.maximum_pool_size.value_or(0));
    }
    if (with_capacity) {
        settings["queue_capacity"] = wanted.queue_capacity.value_or(1);
        sizes += ", queue_capacity " + std::to_string(wanted.queue_capacity.value_or(1));
    }
    return {{"pool", advised.pool->name()},
            {"message", sizes + ": " + why},
            {"settings", std::move(settings)}};
}

std::string counted(std::int64_t count, const char* one, const char* many) {
    return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// Most of what a scheduled pool has in its queue is for later.
bool is_short_of_threads(const managed_pool& pool, const pool_snapshot& s) {
    constexpr auto late = std::chrono::milliseconds(1);
    return s.active_count >= thread_limit(s) && s.queue_size > 0 &&
           (pool.kind() == pool_kind::plain || pool.oldest_wait() > late);
}

bool asks_for_more(const pool_advisers::advised& advised, int limit) {
    const auto& wanted = advised.advice.settings;
    const auto& most =
        advised.pool->kind() == pool_kind::plain ? wanted.maximum_pool_size : wanted.core_pool_size;
    return most.value_or(0) > limit;
}

bool is_bounded(const pool_snapshot& s) {
    return s.queue_remaining_capacity != blocking_queue<task>::npos;
}

}  // namespace

json advice_of(const pool_registry& registry, const pool_advisers& advisers) {
    json all = json::array();
    std::set<std::string> sized;
    for (const auto& advised : advisers.advice()) {
        const auto now = advised.pool->snapshot();
        // The minute that was measured may have been quieter than this moment.
        const bool has_too_few =
            is_short_of_threads(*advised.pool, now) || advisers.rejected_lately(*advised.pool) > 0;
        if (has_too_few && !asks_for_more(advised, thread_limit(now))) continue;
        all.push_back(sizes_of(advised, is_bounded(now)));
        sized.insert(advised.pool->name());
    }
    const auto advise = [&](const managed_pool& pool, const std::string& message) {
        all.push_back({{"pool", pool.name()}, {"message", message}});
    };
    for (const auto& pool : registry.pools()) {
        const auto s = pool->snapshot();
        const int limit = thread_limit(s);
        const bool bounded = is_bounded(s);
        const auto rejected = advisers.rejected_lately(*pool);
        // Where there are sizes to try, there is no second advice beside them.
        const auto to_do = [&](const char* what) {
            return sized.contains(pool->name()) ? "" : what;
        };
        if (rejected > 0 && s.largest_pool_size >= limit)
            advise(*pool, counted(rejected, "task was", "tasks were") +
                              " rejected lately with all of " +
                              counted(limit, "thread", "threads") + " started" +
                              to_do(": raise maximum_pool_size, or queue_capacity if they come in "
                                    "bursts"));
        else if (is_short_of_threads(*pool, s) && pool->kind() == pool_kind::plain)
            advise(*pool, "all of " + counted(limit, "thread is", "threads are") + " busy and " +
                              counted(static_cast<std::int64_t>(s.queue_size), "task waits",
                                      "tasks wait") +
                              to_do(": raise core_pool_size and maximum_pool_size"));
        else if (is_short_of_threads(*pool, s))
            advise(*pool, "all of " + counted(limit, "thread is", "threads are") +
                              " busy and tasks are late" + to_do(": raise core_pool_size"));
        if (!bounded && pool->kind() == pool_kind::plain)
            advise(*pool,
                   "its queue has no bound: maximum_pool_size has no effect, and memory is "
                   "the only limit; give it a queue_capacity");
    }
    return all;
}

}  // namespace cadre::manage::detail
