// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/metrics_text.hpp>

#include "json_value.hpp"
#include "manage/process_memory.hpp"

namespace cadre::manage {
namespace {

using detail::json;
using detail::seconds;

json histogram_json(const latency_histogram& h) {
    return {{"count", h.count()},
            {"mean", seconds(h.mean())},
            {"p50", seconds(h.quantile(0.5))},
            {"p90", seconds(h.quantile(0.9))},
            {"p99", seconds(h.quantile(0.99))},
            {"p999", seconds(h.quantile(0.999))},
            {"max", seconds(h.quantile(1))}};
}

json task_json(const task_metrics& task) {
    return {{"name", task.name},
            {"completed", task.completed},
            {"failed", task.failed},
            {"run_seconds", histogram_json(task.run)},
            {"wait_seconds", histogram_json(task.wait)}};
}

json workers_of(const pool_monitor& monitor) {
    json all = json::array();
    for (const auto& w : monitor.workers())
        all.push_back({{"thread", w.thread},
                       {"busy", w.busy},
                       {"task", w.task},
                       {"age_seconds", seconds(w.age)}});
    return all;
}

json pool_json(const managed_pool& pool, const json& process) {
    const auto now = pool.snapshot();
    json all{{"at", detail::iso_time(std::chrono::system_clock::now())},
             {"pool", pool.name()},
             {"kind", to_text(pool.kind())},
             {"queue", pool.queue_type()},
             {"revision", pool.revision()},
             {"settings", detail::json_of(pool.settings())},
             {"snapshot", detail::json_of(now)},
             {"oldest_queued_seconds", seconds(pool.oldest_wait())},
             {"submitted", now.submitted_task_count},
             {"process", process}};
    const auto monitor = pool.monitor();
    if (!monitor) return all;
    const auto m = monitor->metrics();
    all["completed"] = m.completed;
    all["failed"] = m.failed;
    all["rejected"] = m.rejected;
    all["run_timeouts"] = m.run_timeouts;
    all["queue_timeouts"] = m.queue_timeouts;
    all["threads_started"] = m.threads_started;
    all["threads_ended"] = m.threads_ended;
    all["cpu_seconds"] = seconds(m.cpu);
    all["threads_failed"] = m.threads_failed;
    all["run_seconds"] = histogram_json(m.run);
    all["wait_seconds"] = histogram_json(m.wait);
    all["tasks"] = json::array();
    for (const auto& task : m.tasks) all["tasks"].push_back(task_json(task));
    all["workers"] = workers_of(*monitor);
    return all;
}

json process_json() { return detail::json_of(detail::memory_of_process()); }

}  // namespace

std::string metrics_json(const managed_pool& pool) {
    return detail::dump(pool_json(pool, process_json()));
}

std::string metrics_json(const pool_registry& registry) {
    json all = json::array();
    const auto process = process_json();
    for (const auto& pool : registry.pools()) all.push_back(pool_json(*pool, process));
    return detail::dump(all);
}

std::string metrics_json_lines(const pool_registry& registry) {
    std::string lines;
    const auto process = process_json();
    for (const auto& pool : registry.pools())
        lines += detail::dump(pool_json(*pool, process)) + "\n";
    return lines;
}

}  // namespace cadre::manage
