// SPDX-License-Identifier: Apache-2.0
//
// The readers of what monitor_core.cpp writes.

#include <cadre/manage/pool_monitor.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <cadre/manage/duration_text.hpp>

#include "delayed_work_queue.hpp"
#include "manage/queue_order.hpp"
#include "monitor_core.hpp"
#include "timeout_watch.hpp"

namespace cadre::manage {
namespace detail {
namespace {

void read_record(task_metrics& into, const task_record& from) {
    into.completed += from.completed.load(std::memory_order_relaxed);
    into.failed += from.failed.load(std::memory_order_relaxed);
    from.run.read_into(into.run);
    from.wait.read_into(into.wait);
}

constexpr auto long_enough = std::chrono::seconds(1);  // that a tick more or less does not matter

/// Shows the first tasks of a queue, up to a bound.
void look_at_first(const blocking_queue<task>& queue, function_ref<void(const task&)> visit) {
    struct enough_seen {};
    std::size_t seen = 0;
    try {
        queue.for_each([&](const task& t) {
            if (seen++ == most_looked_at) throw enough_seen();
            visit(t);
        });
    } catch (const enough_seen&) {}
}

}  // namespace

pool_metrics monitor_core::metrics() const {
    pool_metrics all;
    all.rejected = rejected_.count.load(std::memory_order_relaxed);
    all.run_timeouts = run_timeouts_.count.load(std::memory_order_relaxed);
    all.queue_timeouts = queue_timeouts_.count.load(std::memory_order_relaxed);
    all.threads_started = threads_started_.load(std::memory_order_relaxed);
    all.threads_ended = threads_ended_.load(std::memory_order_relaxed);
    all.threads_failed = threads_failed_.count.load(std::memory_order_relaxed);
    std::map<std::string, std::size_t> names;
    {
        const std::lock_guard lock(names_mutex_);
        names.insert(names_.begin(), names_.end());
        all.last_rejected = rejected_.last_name;
        all.last_run_timeout = run_timeouts_.last_name;
        all.last_queue_timeout = queue_timeouts_.last_name;
        all.last_thread_failed = threads_failed_.last_name;
    }
    std::vector<const worker_slot*> slots;
    task_metrics unnamed;
    {
        const std::lock_guard lock(mutex_);
        auto cpu = cpu_of_those_who_left_;
        for (const auto& slot : slots_) cpu += slot->cpu_so_far();
        all.cpu = std::chrono::nanoseconds(cpu);
        for (const auto& slot : slots_) {
            slots.push_back(slot.get());  // they stay
            unnamed.completed += slot->passed_over_so_far();
        }
    }
    for (const auto* slot : slots) read_record(unnamed, slot->unnamed);
    if (unnamed.completed > 0) all.tasks.push_back(std::move(unnamed));
    for (const auto& [name, index] : names) {
        task_metrics of{.name = name};
        for (const auto* slot : slots)
            if (const auto* r = slot->records[index].load(std::memory_order_acquire))
                read_record(of, *r);
        if (of.completed > 0) all.tasks.push_back(std::move(of));
    }
    for (const auto& of : all.tasks) {
        all.completed += of.completed;
        all.failed += of.failed;
        all.run.merge(of.run);
        all.wait.merge(of.wait);
    }
    return all;
}

std::vector<worker_view> monitor_core::workers() const {
    std::vector<worker_view> all;
    const auto now = now_ns();
    const std::lock_guard lock(mutex_);
    for (const auto& slot : slots_) {
        if (!slot->thread) continue;
        const auto seen = activity::of(*slot);
        worker_view view{
            .thread = slot->thread->name(), .busy = seen.is_busy(), .generation = seen.number()};
        const auto started = slot->started_at.load(std::memory_order_relaxed);
        const auto* current = slot->current.load(std::memory_order_relaxed);
        if (view.busy) {
            view.age = std::chrono::nanoseconds(std::max<std::int64_t>(now - started, 0));
            if (seen.is_timed() && current) view.task = name_of(current, *slot);
        }
        all.push_back(std::move(view));
    }
    std::sort(all.begin(), all.end(),
              [](const auto& a, const auto& b) { return a.thread < b.thread; });
    return all;
}

monitor_limits monitor_core::limits() const {
    return {.run_timeout = std::chrono::nanoseconds(run_timeout_.load()),
            .queue_timeout = std::chrono::nanoseconds(queue_timeout_.load()),
            .interrupt_on_run_timeout = interrupts_.load()};
}

void monitor_core::set_limits(monitor_limits limits) {
    if (limits.run_timeout.count() < 0)
        throw std::invalid_argument("run_timeout (" + to_text(limits.run_timeout) +
                                    ") is negative");
    if (limits.queue_timeout.count() < 0)
        throw std::invalid_argument("queue_timeout (" + to_text(limits.queue_timeout) +
                                    ") is negative");
    run_timeout_.store(limits.run_timeout.count());
    queue_timeout_.store(limits.queue_timeout.count());
    interrupts_.store(limits.interrupt_on_run_timeout);
    may_sample_.store(limits.queue_timeout.count() == 0 && !limits.interrupt_on_run_timeout &&
                      (limits.run_timeout.count() == 0 || limits.run_timeout >= long_enough));
    if (may_sample_.load()) return;
    ticker_->stop(*this);
    set_tick(0);
}

void monitor_core::check_running() {
    const auto limit = run_timeout_.load();
    if (limit <= 0) return;
    const auto now = now_ns();
    std::vector<std::stop_source> to_be_stopped;
    std::unique_lock lock(mutex_);
    for (const auto& slot : slots_) {
        if (!slot->thread) continue;
        const auto seen = activity::of(*slot);
        const bool seen_before = std::exchange(slot->seen, seen.number()) == seen.number();
        // acquire: if they are of a later task, the second look at what it does tells.
        const auto started = slot->started_at.load(std::memory_order_acquire);
        const auto* current = slot->current.load(std::memory_order_acquire);
        if (!seen.is_busy() || slot->timed_out == started || now - started <= limit) continue;
        if (started % 2 != 0) {  // only about when: look again
            if (!seen_before) continue;
            // Else its worker has yet to tell of it, and then it is known when it began.
            if (!slot->passes_over.load() && !slot->is_dropping_task()) continue;
        }
        if (activity::of(*slot) != seen) continue;
        slot->timed_out = started;
        const bool is_named = seen.is_timed() && current;
        tell(run_timeouts_, is_named ? name_of(current, *slot) : std::string_view(), 1);
        // One that was passed over does not look at looked_at when it ends; it began before
        // interrupts were asked for, or, the first of its worker since, at about that time.
        if (!interrupts_.load() || !seen.is_timed()) continue;
        slot->looked_at.store(true);
        {
            const std::lock_guard looking(slot->interrupting);
            if (slot->generation.load() == seen.generation) {
                slot->thread->interrupt();
                slot->thread->copy_stop_sources(to_be_stopped);
            }
        }
        slot->looked_at.store(false);
    }
    lock.unlock();
    // Users' callbacks run in here. A source is of one task only, be it over by now.
    for (auto& source : to_be_stopped) source.request_stop();
}

bool monitor_core::was_told_while_queued(const task& t, std::int64_t stamp) noexcept {
    const queued wanted{cadre::detail::task_access::identity(t), stamp};
    const std::lock_guard lock(waiting_mutex_);
    return std::binary_search(told_waiting_.begin(), told_waiting_.end(), wanted) ||
           std::binary_search(told_waiting_before_.begin(), told_waiting_before_.end(), wanted);
}

/// Who is taken before the look counts when it begins; who is seen queued counts now, and when it
/// begins, after the look for it holds the mutex, it is found among those told.
void monitor_core::check_waiting(const blocking_queue<task>& queue) {
    const auto limit = queue_timeout_.load();
    const std::lock_guard lock(waiting_mutex_);
    std::vector<queued> seen;
    std::string name;
    std::uint64_t news = 0;
    if (limit > 0) {
        seen.reserve(std::min(queue.size(), most_looked_at));
        const auto now = now_ns();
        look_at_first(queue, [&](const task& t) {
            const auto stamp = stamp_of(t);
            if (stamp == 0 || now - stamp <= limit || seen.size() == seen.capacity()) return;
            seen.emplace_back(cadre::detail::task_access::identity(t), stamp);
            if (std::binary_search(told_waiting_.begin(), told_waiting_.end(), seen.back())) return;
            ++news;
            name = t.name();
        });
        std::sort(seen.begin(), seen.end());
    }
    told_waiting_before_ = std::exchange(told_waiting_, std::move(seen));
    if (news > 0) tell(queue_timeouts_, name, news);
}

}  // namespace detail

pool_monitor::pool_monitor(monitor_options options)
    : core_(std::make_shared<detail::monitor_core>(options)),
      watch_(std::make_unique<detail::timeout_watch>(core_)) {}
pool_monitor::~pool_monitor() = default;

pool_hooks pool_monitor::hooks(pool_hooks own) const {
    if (own.observer) throw std::invalid_argument("hooks: have an observer already");
    own.observer = core_;
    return own;
}

pool_metrics pool_monitor::metrics() const { return core_->metrics(); }
std::chrono::nanoseconds pool_monitor::age() const {
    return std::chrono::steady_clock::now() - made_;
}
std::vector<worker_view> pool_monitor::workers() const { return core_->workers(); }
monitor_limits pool_monitor::limits() const { return core_->limits(); }
void pool_monitor::set_limits(monitor_limits limits) { watch_->set_limits(limits); }
void pool_monitor::check_running() { core_->check_running(); }
void pool_monitor::check_waiting(const blocking_queue<task>& queue) { core_->check_waiting(queue); }

std::chrono::nanoseconds pool_monitor::oldest_wait(const blocking_queue<task>& queue) {
    if (const auto* scheduled = dynamic_cast<const cadre::detail::delayed_work_queue*>(&queue))
        return scheduled->lateness();
    const std::size_t most = detail::keeps_order(queue) ? 1 : detail::most_looked_at;
    constexpr auto none = std::numeric_limits<std::int64_t>::max();
    struct enough_seen {};
    auto oldest = none;
    std::size_t seen = 0;
    try {
        queue.for_each([&](const task& t) {
            if (seen++ == most) throw enough_seen();
            if (const auto stamp = task_observer::stamp_of(t)) oldest = std::min(oldest, stamp);
        });
    } catch (const enough_seen&) {}
    if (oldest == none) return {};
    return std::chrono::nanoseconds(std::max<std::int64_t>(detail::now_ns() - oldest, 0));
}

}  // namespace cadre::manage
