// SPDX-License-Identifier: Apache-2.0
#include "manage/pool_view.hpp"

#include <algorithm>
#include <chrono>

#include <cadre/manage/pool_monitor.hpp>

namespace cadre::manage::detail {
namespace {

constexpr std::size_t most_oldest = 10;

double in_seconds(std::chrono::nanoseconds d) { return std::chrono::duration<double>(d).count(); }

std::string name_or_dash(std::string name) { return name.empty() ? "(no name)" : std::move(name); }

}  // namespace

quantiles quantiles_of(const latency_histogram& durations) {
    quantiles q = {.count = durations.count()};
    if (q.count == 0) return q;
    q.mean = in_seconds(durations.mean());
    q.p50 = in_seconds(durations.quantile(0.5));
    q.p90 = in_seconds(durations.quantile(0.9));
    q.p99 = in_seconds(durations.quantile(0.99));
    q.max = in_seconds(durations.quantile(1));
    return q;
}

int thread_limit(const pool_snapshot& snapshot) {
    const bool never_full = snapshot.queue_remaining_capacity == blocking_queue<task>::npos;
    return never_full ? std::max(snapshot.core_pool_size, 1) : snapshot.maximum_pool_size;
}

std::optional<std::size_t> queue_capacity_of(const pool_snapshot& snapshot,
                                             const pool_settings& settings) {
    if (snapshot.queue_remaining_capacity == blocking_queue<task>::npos) return std::nullopt;
    if (settings.queue_capacity == static_cast<std::size_t>(unbounded)) return std::nullopt;
    if (settings.queue_capacity) return settings.queue_capacity;
    return snapshot.queue_size + snapshot.queue_remaining_capacity;  // of one that cannot tell
}

pool_view view_of(const managed_pool& pool) {
    pool_view view = {.snapshot = pool.snapshot(), .settings = pool.settings()};
    view.capacity = queue_capacity_of(view.snapshot, view.settings);
    const auto monitor = pool.monitor();
    if (!monitor) {
        view.failed = static_cast<std::uint64_t>(view.snapshot.uncaught_count);
        return view;
    }
    const auto metrics = monitor->metrics();
    view.failed = metrics.failed;
    view.counts = {.run_timeouts = metrics.run_timeouts,
                   .queue_timeouts = metrics.queue_timeouts,
                   .threads_started = metrics.threads_started,
                   .threads_ended = metrics.threads_ended,
                   .threads_failed = metrics.threads_failed};
    view.wait = metrics.wait;
    view.run = metrics.run;
    if (view.snapshot.queue_size > 0) view.oldest_age = in_seconds(pool.oldest_wait());
    return view;
}

pool_details details_of(const managed_pool& pool) {
    pool_details details;
    for (auto& waiting : pool.oldest_tasks(most_oldest))
        details.oldest.push_back(
            {.name = name_or_dash(std::move(waiting.name)), .age = in_seconds(waiting.age)});
    const auto monitor = pool.monitor();
    if (!monitor) return details;
    for (auto& worker : monitor->workers()) {
        shown_worker shown = {.thread = std::move(worker.thread)};
        if (worker.busy) {
            shown.task = name_or_dash(std::move(worker.task));
            shown.age = in_seconds(worker.age);
        }
        details.workers.push_back(std::move(shown));
    }
    for (const auto& t : monitor->metrics().tasks)
        details.tasks.push_back({.name = name_or_dash(t.name),
                                 .failed = t.failed,
                                 .wait = quantiles_of(t.wait),
                                 .run = quantiles_of(t.run)});
    return details;
}

}  // namespace cadre::manage::detail
