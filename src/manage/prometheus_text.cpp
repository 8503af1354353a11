// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <map>
#include <sstream>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cadre/manage/alarm_engine.hpp>
#include <cadre/manage/metrics_text.hpp>
#include <cadre/queue/blocking_queue.hpp>

#include "manage/pool_view.hpp"
#include "manage/process_memory.hpp"
#include "utf8.hpp"

namespace cadre::manage {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using label_list = std::vector<ClientMetric::Label>;

double prometheus_seconds(std::chrono::nanoseconds d) {
    return std::chrono::duration<double>(d).count();
}

/// A scraper refuses the whole page for one byte that is not UTF-8. So that two such names stay
/// two, each of these bytes is written in digits.
std::string scrapable(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string result;
    while (!text.empty()) {
        const auto size = cadre::detail::character_size(text);
        const auto byte = static_cast<unsigned char>(text.front());
        if (size > 0)
            result += text.substr(0, size);
        else
            (result += "\\x").append({digits[byte >> 4U], digits[byte & 15U]});
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return result;
}

/// Families by name, in the order of their first use.
class families {
public:
    void gauge(const char* name, const char* help, label_list of, double value) {
        metric(name, help, MetricType::Gauge, std::move(of)).gauge.value = value;
    }
    void counter(const char* name, const char* help, label_list of, double value) {
        metric(name, help, MetricType::Counter, std::move(of)).counter.value = value;
    }
    void histogram(const char* name, const char* help, label_list of, const latency_histogram& from,
                   int step) {
        auto& to = metric(name, help, MetricType::Histogram, std::move(of)).histogram;
        to.sample_count = from.count();
        to.sample_sum = prometheus_seconds(from.sum());
        // From a microsecond to about a minute.
        for (int octave = 10; octave <= 36; octave += step)
            to.bucket.push_back(
                {from.count_below_octave(octave),
                 prometheus_seconds(std::chrono::nanoseconds(std::int64_t{1} << octave))});
        to.bucket.push_back({to.sample_count, std::numeric_limits<double>::infinity()});
    }
    std::string text() const {
        std::ostringstream out;
        prometheus::TextSerializer().Serialize(out, all_);
        return out.str();
    }

private:
    ClientMetric& metric(const char* name, const char* help, MetricType type, label_list of) {
        MetricFamily* family = nullptr;
        for (auto& f : all_)
            if (f.name == name) family = &f;
        if (!family) family = &all_.emplace_back(MetricFamily{name, help, type, {}});
        auto& made = family->metric.emplace_back();
        made.label = std::move(of);
        for (auto& label : made.label) label.value = scrapable(label.value);
        return made;
    }
    std::vector<MetricFamily> all_;
};

void add_snapshot(families& to, const managed_pool& pool, const label_list& of) {
    const auto now = pool.snapshot();
    to.gauge("cadre_pool_core_threads", "Threads that are kept", of, now.core_pool_size);
    const auto settings = pool.settings();
    to.gauge("cadre_pool_maximum_threads", "Threads there may be", of,
             settings.maximum_pool_size.value_or(now.maximum_pool_size));
    to.gauge("cadre_pool_threads", "Threads there are", of, now.pool_size);
    to.gauge("cadre_pool_largest_threads", "Threads there were at most", of, now.largest_pool_size);
    to.gauge("cadre_pool_active_threads", "Threads that run a task", of, now.active_count);
    to.gauge("cadre_pool_queued_tasks", "Tasks in the queue", of,
             static_cast<double>(now.queue_size));
    const auto capacity = detail::queue_capacity_of(now, settings);
    to.gauge("cadre_pool_queue_capacity", "Tasks that fit into the queue", of,
             capacity ? static_cast<double>(*capacity) : std::numeric_limits<double>::infinity());
    to.counter("cadre_pool_submitted_total", "Tasks handed to the pool, whatever became of them",
               of, static_cast<double>(now.submitted_task_count));
    to.counter("cadre_pool_completed_total", "Tasks that are over", of,
               static_cast<double>(now.completed_task_count));
    to.counter("cadre_pool_rejected_total",
               "Tasks handed to the rejection policy; of block, those that got no place", of,
               static_cast<double>(now.rejected_task_count));
    to.counter("cadre_pool_uncaught_total", "Exceptions that no future carries", of,
               static_cast<double>(now.uncaught_count));
    to.gauge("cadre_pool_config_revision", "Revision of the last change", of,
             static_cast<double>(pool.revision()));
    to.gauge("cadre_pool_oldest_queued_seconds", "For how long the head of the queue waits", of,
             prometheus_seconds(pool.oldest_wait()));
}

label_list with(label_list of, const char* name, std::string value) {
    of.push_back({name, std::move(value)});
    return of;
}

void add_metrics(families& to, const pool_metrics& m, const label_list& of) {
    const auto count = [&](const char* name, const char* help, std::uint64_t value) {
        to.counter(name, help, of, static_cast<double>(value));
    };
    count("cadre_pool_failed_total", "Tasks that ended by an exception", m.failed);
    count("cadre_pool_run_timeouts_total", "Tasks that ran for too long", m.run_timeouts);
    count("cadre_pool_queue_timeouts_total", "Tasks that waited for too long", m.queue_timeouts);
    count("cadre_pool_threads_started_total", "Threads that began", m.threads_started);
    count("cadre_pool_threads_ended_total", "Threads that left", m.threads_ended);
    count("cadre_pool_threads_failed_total", "Threads that could not be made", m.threads_failed);
    to.counter("cadre_pool_cpu_seconds_total", "Processor time of its threads", of,
               prometheus_seconds(m.cpu));
    to.histogram("cadre_task_run_seconds", "Run time of tasks", of, m.run, 1);
    to.histogram("cadre_task_wait_seconds", "Time of tasks in the queue", of, m.wait, 1);
    for (const auto& task : m.tasks) {
        if (task.name.empty()) continue;
        const auto named = with(of, "task", task.name);
        to.counter("cadre_named_task_completed_total", "Tasks of that name that are over", named,
                   static_cast<double>(task.completed));
        to.counter("cadre_named_task_failed_total", "Of these, by an exception", named,
                   static_cast<double>(task.failed));
        to.histogram("cadre_named_task_run_seconds", "Run time by name", named, task.run, 2);
        to.histogram("cadre_named_task_wait_seconds", "Time in the queue by name", named, task.wait,
                     2);
    }
}

void add_dynamictp(families& to, const managed_pool& pool, const prometheus_options& options) {
    const label_list of{{"app_name", options.application},
                        {"thread_pool_name", pool.name()},
                        {"thread_pool_alias", pool.name()}};
    const auto now = pool.snapshot();
    const auto settings = pool.settings();
    const auto gauge = [&](const char* name, double value) {
        to.gauge(name, "As DynamicTp calls it", of, value);
    };
    gauge("thread_pool_core_size", now.core_pool_size);
    gauge("thread_pool_maximum_size", settings.maximum_pool_size.value_or(now.maximum_pool_size));
    gauge("thread_pool_current_size", now.pool_size);
    gauge("thread_pool_largest_size", now.largest_pool_size);
    gauge("thread_pool_active_count", now.active_count);
    gauge("thread_pool_task_count", static_cast<double>(now.task_count));
    gauge("thread_pool_completed_task_count", static_cast<double>(now.completed_task_count));
    gauge("thread_pool_wait_task_count", static_cast<double>(now.queue_size));
    gauge("thread_pool_queue_size", static_cast<double>(now.queue_size));
    gauge("thread_pool_queue_capacity",
          static_cast<double>(detail::queue_capacity_of(now, settings)
                                  .value_or(static_cast<std::size_t>(unbounded))));
    gauge("thread_pool_queue_remaining_capacity",
          static_cast<double>(std::min<std::size_t>(now.queue_remaining_capacity, unbounded)));
    gauge("thread_pool_reject_count", static_cast<double>(now.rejected_task_count));
    const auto monitor = pool.monitor();
    if (!monitor) return;
    const auto m = monitor->metrics();
    const auto rate =
        options.completed_per_second ? options.completed_per_second(pool) : std::optional<double>();
    gauge("thread_pool_tps", rate ? *rate
                                  : static_cast<double>(m.completed) /
                                        std::max(prometheus_seconds(monitor->age()), 1e-9));
    gauge("thread_pool_run_timeout_count", static_cast<double>(m.run_timeouts));
    gauge("thread_pool_queue_timeout_count", static_cast<double>(m.queue_timeouts));
    const auto time = [&](const char* name, std::chrono::nanoseconds d) {
        gauge(name, prometheus_seconds(d) * 1000);
    };
    time("thread_pool_completed_task_time_avg", m.run.mean());
    time("thread_pool_completed_task_time_max", m.run.quantile(1));
    time("thread_pool_completed_task_time_min", m.run.quantile(0));
    time("thread_pool_completed_task_time_tp50", m.run.quantile(0.5));
    time("thread_pool_completed_task_time_tp75", m.run.quantile(0.75));
    time("thread_pool_completed_task_time_tp90", m.run.quantile(0.9));
    time("thread_pool_completed_task_time_tp95", m.run.quantile(0.95));
    time("thread_pool_completed_task_time_tp99", m.run.quantile(0.99));
    time("thread_pool_completed_task_time_tp999", m.run.quantile(0.999));
}

void add_config(families& to, const config_manager& config) {
    const auto status = config.status();
    for (const auto& source : status.sources) {
        const label_list of{{"source", source.name}};
        const auto& health = source.health;
        to.gauge("cadre_config_source_up", "Its last attempt succeeded", of,
                 health.state == source_state::healthy ? 1 : 0);
        to.gauge("cadre_config_source_failures", "Attempts that failed in a row", of,
                 health.failures);
        to.gauge("cadre_config_source_last_success_timestamp_seconds",
                 "When it last answered; 0: never", of,
                 prometheus_seconds(health.last_success.time_since_epoch()));
        to.counter("cadre_config_source_documents_total", "Documents that it gave", of,
                   static_cast<double>(health.documents));
        to.gauge("cadre_config_source_refused", "Its newest document was refused", of,
                 source.refused_revision.empty() ? 0 : 1);
    }
    to.counter("cadre_config_applied_total", "Times that the documents were applied", {},
               static_cast<double>(status.applied));
    to.counter("cadre_config_refused_total", "Documents that were refused", {},
               static_cast<double>(status.refused));
    to.gauge("cadre_config_age_seconds", "For how long a source has been silent", {},
             prometheus_seconds(config.age()));
}

void add_alarms(families& to, const alarm_engine& alarms) {
    // By type and pool. Those that are over are shown as none for a while, so that the line falls
    // instead of ending.
    std::map<std::pair<std::string, std::string>, int> firing;
    const auto kind_of = [](const alarm_event& alarm) {
        return std::pair(std::string(to_text(alarm.type)), alarm.pool);
    };
    for (const auto& alarm : alarms.recovered()) firing[kind_of(alarm)] = 0;
    for (const auto& alarm : alarms.active()) ++firing[kind_of(alarm)];
    for (const auto& [kind, count] : firing)
        to.gauge("cadre_alarms_firing", "Alarms of that type that fire",
                 {{"type", kind.first}, {"pool", kind.second}}, count);
    for (const auto& counts : alarms.counts()) {
        const label_list of{{"notifier", counts.name}};
        to.counter("cadre_notifier_sent_total", "Messages that it sent", of,
                   static_cast<double>(counts.sent));
        to.counter("cadre_notifier_failed_total", "Messages that it could not send", of,
                   static_cast<double>(counts.failed));
        to.counter("cadre_notifier_dropped_total", "Messages that it was too slow for", of,
                   static_cast<double>(counts.dropped));
    }
}

void add_process(families& to) {
    const auto memory = detail::memory_of_process();
    if (memory.resident)
        to.gauge("cadre_process_resident_memory_bytes", "Memory that this process has", {},
                 static_cast<double>(*memory.resident));
    if (memory.limit)
        to.gauge("cadre_process_memory_limit_bytes",
                 "The least limit of its control groups; absent: none", {},
                 static_cast<double>(*memory.limit));
}

}  // namespace

std::string prometheus_text(const pool_registry& registry, const prometheus_options& options) {
    families all;
    for (const auto& pool : registry.pools()) {
        const label_list of{{"pool", pool->name()}};
        add_snapshot(all, *pool, of);
        if (const auto monitor = pool->monitor()) add_metrics(all, monitor->metrics(), of);
        if (options.dynamictp_names) add_dynamictp(all, *pool, options);
    }
    if (options.config) add_config(all, *options.config);
    if (options.alarms) add_alarms(all, *options.alarms);
    add_process(all);
    return all.text();
}

}  // namespace cadre::manage
