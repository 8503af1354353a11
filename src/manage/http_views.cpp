// SPDX-License-Identifier: Apache-2.0
#include "manage/http_views.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "manage/pool_view.hpp"

namespace cadre::manage::detail {
namespace {

json number(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

json number(float value) {
    // Six digits say enough, and are half as long.
    if (std::isnan(value)) return nullptr;
    if (value == 0 || value == std::floor(value)) return static_cast<std::int64_t>(value);
    const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
    return std::round(static_cast<double>(value) * scale) / scale;
}

json json_of(const quantiles& q) {
    return {{"count", q.count},     {"mean", number(q.mean)}, {"p50", number(q.p50)},
            {"p90", number(q.p90)}, {"p99", number(q.p99)},   {"max", number(q.max)}};
}

}  // namespace

json summary_of(const managed_pool& pool, const pool_sampler& sampler) {
    const auto view = view_of(pool);
    const auto& s = view.snapshot;
    const auto sample = sampler.latest(pool.name());
    const auto times = sampler.recent(pool.name(), view);
    const auto rate = [&](pool_sample::column c) {
        return sample ? number(sample->values.at(c)) : json(nullptr);
    };
    const auto counted = [&](std::uint64_t pool_view::monitored::*count) {
        return view.counts ? json((*view.counts).*count) : json(nullptr);
    };
    json all = {
        {"name", pool.name()},
        {"kind", to_text(pool.kind())},
        {"state", json_of(s).at("state")},
        {"revision", pool.revision()},
        {"core_pool_size", s.core_pool_size},
        {"maximum_pool_size", view.settings.maximum_pool_size.value_or(s.maximum_pool_size)},
        {"thread_limit", thread_limit(s)},
        {"threads", s.pool_size},
        {"active", s.active_count},
        {"largest", s.largest_pool_size},
        {"queue_type", pool.queue_type()},
        {"queue_size", s.queue_size},
        {"queue_capacity", view.capacity ? json(*view.capacity) : json(nullptr)},
        {"oldest_age", number(view.oldest_age)},
        {"submitted", s.submitted_task_count},
        {"completed", s.completed_task_count},
        {"failed", view.failed},
        {"rejected", s.rejected_task_count},
        {"run_timeouts", counted(&pool_view::monitored::run_timeouts)},
        {"queue_timeouts", counted(&pool_view::monitored::queue_timeouts)},
        {"threads_started", counted(&pool_view::monitored::threads_started)},
        {"threads_ended", counted(&pool_view::monitored::threads_ended)},
        {"threads_failed", counted(&pool_view::monitored::threads_failed)},
        {"submitted_rate", rate(pool_sample::submitted)},
        {"completed_rate", rate(pool_sample::completed)},
        {"rejected_rate", rate(pool_sample::rejected)},
        {"wait", json_of(times.wait)},
        {"run", json_of(times.run)}};
    return all;
}

json detail_of(const managed_pool& pool, const pool_sampler& sampler,
               const std::vector<change_record>& history) {
    json all = summary_of(pool, sampler);
    all["settings"] = json_of(pool.settings());
    const auto details = details_of(pool);
    auto& workers = all["workers"] = json::array();
    for (const auto& w : details.workers)
        workers.push_back({{"thread", w.thread},
                           {"task", w.task ? json(*w.task) : json(nullptr)},
                           {"age", number(w.age)}});
    auto& oldest = all["oldest"] = json::array();
    for (const auto& t : details.oldest) oldest.push_back({{"name", t.name}, {"age", t.age}});
    auto& tasks = all["tasks"] = json::array();
    for (const auto& t : details.tasks)
        tasks.push_back({{"name", t.name},
                         {"failed", t.failed},
                         {"wait", json_of(t.wait)},
                         {"run", json_of(t.run)}});
    all["history"] = history_of(history, pool.name());
    return all;
}

json samples_of(const pool_sampler& sampler, double since) {
    const auto looks = sampler.since(since);
    json times = json::array();
    json pools = json::object();
    std::set<std::string> names;
    for (const auto& look : looks) {
        times.push_back(look.time);
        for (const auto& [name, sample] : look.pools) names.insert(name);
    }
    for (const auto& name : names) {
        std::array<json, pool_sample::columns> columns;
        columns.fill(json::array());
        for (const auto& look : looks) {
            // In the order of their names, as the registry tells them.
            const auto at =
                std::lower_bound(look.pools.begin(), look.pools.end(), name,
                                 [](const auto& p, const auto& n) { return p.first < n; });
            const bool there = at != look.pools.end() && at->first == name;
            for (std::size_t c = 0; c < columns.size(); ++c)
                columns.at(c).push_back(there ? number(at->second.values.at(c)) : json(nullptr));
        }
        auto& pool = pools[name] = json::object();
        for (std::size_t c = 0; c < columns.size(); ++c)
            pool[std::string(pool_sample::name_of(static_cast<pool_sample::column>(c)))] =
                std::move(columns.at(c));
    }
    return {{"interval", std::chrono::duration<double>(sampler.interval()).count()},
            {"times", std::move(times)},
            {"pools", std::move(pools)}};
}

json history_of(const std::vector<change_record>& history, std::string_view pool) {
    json all = json::array();
    for (auto record = history.rbegin(); record != history.rend(); ++record)
        if (pool.empty() || record->pool == pool) all.push_back(json_of(*record));
    return all;
}

}  // namespace cadre::manage::detail
