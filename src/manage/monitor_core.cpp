// SPDX-License-Identifier: Apache-2.0
//
// Each worker has a slot, into which only it writes: counters by a load and a store, no atomic
// addition. Readers add the slots up. When a worker leaves, its slot goes to the next one, with
// what is in it, so nothing is ever lost or reset and there are as many slots as there were workers
// at a time.
//
// The clock is read twice for each task: where it is submitted, and where it ends; on a busy worker
// that is the beginning of the next. Even that costs more than an empty task itself. So while the
// last tasks of a worker took less than `tiny`, and nobody set a limit, it passes over up to
// `in_a_batch` bare tasks, which have neither name nor future, before it times the next one: they
// count as long as the one that was timed before them. What they took beyond that, if they were not
// tiny after all, goes to one of them, and a coarse clock keeps such tasks from being passed over
// in a row. Submitters meanwhile give most bare tasks a stamp of that coarse clock, good enough to
// see how long one is queued; when such a task begins, its wait counts as the last one measured
// unless it was a long one.
//
// The generation of a slot is odd while a task runs. Who wants to interrupt a task locks the slot,
// looks at the generation, and interrupts; a worker that is to be interrupted at all passes through
// that lock at the end of a task that is being looked at, so that no later task is hit.

#include "monitor_core.hpp"

#include <algorithm>
#include <utility>

namespace cadre::manage::detail {
namespace {

constexpr std::int64_t tiny = 2000;  // ns
constexpr int tiny_in_a_row = 16;
constexpr std::uint64_t in_a_batch = 127;
constexpr std::int64_t long_wait = 50'000'000;  // ns: a coarse stamp is good enough
constexpr std::string_view other = "other";

void bump(std::atomic<std::uint64_t>& counter, std::uint64_t n) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

// What a frame holds.
enum number { started, outer_started };
enum pointer { record, outer_record };

}  // namespace

void recorder::add(std::int64_t ns, std::uint64_t weight) noexcept {
    bump(counts_[latency_histogram::bucket_of(ns)], weight);
    bump(sum_, static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0)) * weight);
}

void recorder::read_into(latency_histogram& into) const noexcept {
    for (std::size_t i = 0; i < counts_.size(); ++i)
        if (const auto n = counts_[i].load(std::memory_order_relaxed)) into.add(i, n);
    into.add_sum(sum_.load(std::memory_order_relaxed));
}

monitor_core::monitor_core(monitor_options options) : max_names_(options.max_task_names) {
    names_.emplace(other, 0);
    names_full_.store(max_names_ == 0);
}

monitor_core::~monitor_core() = default;

task_observer::worker_record* monitor_core::worker_begins() noexcept {
    threads_started_.fetch_add(1, std::memory_order_relaxed);
    try {
        auto handle = std::make_unique<thread_handle>(thread_handle::current());
        const std::lock_guard lock(mutex_);
        if (free_.empty()) {
            slots_.push_back(std::make_unique<worker_slot>(max_names_ + 1));
            free_.reserve(slots_.size());
            free_.push_back(slots_.back().get());
        }
        auto* slot = free_.back();
        free_.pop_back();
        slot->thread = std::move(handle);
        slot->clock = 0;
        slot->pass_up_to = 0;
        return slot;
    } catch (const std::bad_alloc&) {
        return nullptr;  // it is not watched then
    }
}

void monitor_core::worker_ends(worker_record* worker) noexcept {
    threads_ended_.fetch_add(1, std::memory_order_relaxed);
    if (!worker) return;
    auto* slot = static_cast<worker_slot*>(worker);
    record_passed_over(*slot, now_ns());
    std::unique_ptr<thread_handle> handle;
    const std::lock_guard lock(mutex_);
    handle.swap(slot->thread);
    free_.push_back(slot);  // has room: see worker_begins()
}

void monitor_core::worker_waits(worker_record* worker) noexcept {
    if (!worker) return;
    auto& slot = *static_cast<worker_slot*>(worker);
    record_passed_over(slot, now_ns());
    slot.clock = 0;
    slot.pass_up_to = 0;
}

/// Enters those that were passed over since the last task that was timed.
void monitor_core::record_passed_over(worker_slot& slot, std::int64_t now) noexcept {
    const auto passed = slot.passed_over.load(std::memory_order_relaxed);
    auto count = passed - std::exchange(slot.passed_over_recorded, passed);
    if (count == 0) return;
    slot.unnamed.wait.add(slot.last_wait, count);
    const auto took = now - slot.passing_since;
    const auto expected = static_cast<std::int64_t>(count - 1) * slot.last_run;
    if (took > static_cast<std::int64_t>(count) * tiny) {
        slot.unnamed.run.add(std::max(took - expected, slot.last_run));
        if (--count == 0) return;
    }
    slot.unnamed.run.add(slot.last_run, count);
}

void monitor_core::task_begins(worker_record* worker, const task& t, frame& f) noexcept {
    if (!worker) return;
    auto& slot = *static_cast<worker_slot*>(worker);
    f.pointers[outer_record] = slot.current.load(std::memory_order_relaxed);
    const auto generation = slot.generation.load(std::memory_order_relaxed);
    const bool inside = generation % 2 != 0;
    f.numbers[outer_started] = inside ? slot.started_at.load(std::memory_order_relaxed) : 0;
    const auto name = t.name();
    auto* found = name.empty() ? &slot.unnamed : record_for(slot, name);
    f.pointers[record] = found;
    const bool at_once =
        !inside && slot.clock_is_fresh && slot.clock != 0 &&
        slot.passed_over.load(std::memory_order_relaxed) == slot.passed_over_recorded;
    if (!at_once) slot.clock = now_ns();
    slot.clock_is_fresh = false;
    if (!inside) record_passed_over(slot, slot.clock);
    f.numbers[started] = slot.clock;
    slot.started_at.store(slot.clock & ~std::int64_t{1}, std::memory_order_relaxed);
    if (found != f.pointers[outer_record]) slot.current.store(found, std::memory_order_relaxed);
    // release: who sees the generation sees what was written before. A task inside another is one
    // more change by two, so that the number stays odd.
    slot.generation.store(generation + (inside ? 2 : 1), std::memory_order_release);
    record_wait(slot, t, *found);
}

void monitor_core::record_wait(worker_slot& slot, const task& t, task_record& of) noexcept {
    const auto stamp = stamp_of(t);
    if (stamp == 0) return;
    const auto waited = std::max<std::int64_t>(slot.clock - stamp, 0);
    if (!has_coarse_stamp(t) || waited > long_wait) slot.last_wait = waited;
    of.wait.add(slot.last_wait);
    const auto limit = queue_timeout_.load(std::memory_order_relaxed);
    if (limit > 0 && waited > limit && !was_told_while_queued(t, stamp))
        tell(queue_timeouts_, t.name(), 1);
}

void monitor_core::task_ends(worker_record* worker, const frame& f, bool failed) noexcept {
    if (!worker) return;
    auto& slot = *static_cast<worker_slot*>(worker);
    auto* of = static_cast<task_record*>(const_cast<void*>(f.pointers[record]));
    const auto* outer = static_cast<const task_record*>(f.pointers[outer_record]);
    const auto generation = slot.generation.load(std::memory_order_relaxed);
    const bool inside = f.numbers[outer_started] != 0;
    const auto next = generation + (inside ? 2 : 1);
    if (interrupts_.load(std::memory_order_relaxed)) {
        slot.generation.exchange(next);  // before the look at looked_at, as check_running() does
        if (slot.looked_at.load()) {
            const std::lock_guard passed(slot.interrupting);
        }
    } else {
        slot.generation.store(next, std::memory_order_release);
    }
    if (inside) slot.started_at.store(f.numbers[outer_started], std::memory_order_relaxed);
    if (outer != of) slot.current.store(outer, std::memory_order_relaxed);
    bump(of->completed, 1);
    if (failed) bump(of->failed, 1);

    slot.clock = now_ns();
    slot.clock_is_fresh = true;
    const auto took = slot.clock - f.numbers[started];
    of->run.add(took);
    if (!inside) consider_passing(slot, took);
    const auto limit = run_timeout_.load(std::memory_order_relaxed);
    if (limit > 0 && took > limit) {
        const std::lock_guard lock(mutex_);
        if (slot.timed_out == generation) return;  // check_running() has told of it
    }
    if (limit > 0 && took > limit) tell(run_timeouts_, name_of(of, slot), 1);
}

void monitor_core::passed_over_failed(worker_record* worker) noexcept {
    bump(static_cast<worker_slot*>(worker)->unnamed.failed, 1);
}

void monitor_core::consider_passing(worker_slot& slot, std::int64_t took) noexcept {
    slot.last_run = took;
    slot.passing_since = slot.clock;
    // For those that will be passed over, and begin about now.
    slot.started_at.store(slot.clock | 1, std::memory_order_relaxed);
    slot.tiny_seen = took < tiny ? std::min(slot.tiny_seen + 1, tiny_in_a_row) : 0;
    if (slot.tiny_seen < tiny_in_a_row) {
        slot.pass_up_to = 0;
        if (took >= tiny && samples()) sample(false);
        return;
    }
    slot.pass_up_to = slot.passed_over.load(std::memory_order_relaxed) + in_a_batch;
    slot.pass_until = slot.clock;
    if (samples() || !may_sample_.load(std::memory_order_relaxed)) return;
    sample(true);
    if (!may_sample_.load()) sample(false);  // set_limits() stores in the other order
}

std::int64_t monitor_core::task_submitted() noexcept { return now_ns(); }

void monitor_core::task_rejected(const task& t) noexcept { tell(rejected_, t.name(), 1); }

void monitor_core::thread_failed() noexcept {
    threads_failed_.fetch_add(1, std::memory_order_relaxed);
}

/// The name is kept if nobody is in the way: of many at once any will do.
void monitor_core::tell(told& event, std::string_view name, std::uint64_t times) noexcept {
    event.count.fetch_add(times, std::memory_order_relaxed);
    const std::unique_lock lock(names_mutex_, std::try_to_lock);
    if (!lock) return;
    try {
        event.last_name = name;
    } catch (const std::bad_alloc&) {}
}

task_record* monitor_core::record_for(worker_slot& slot, std::string_view name) noexcept {
    if (name == slot.last_name && slot.last_record) return slot.last_record;
    try {
        std::size_t index = 0;
        std::string_view kept;
        {
            // Once the names are full they do not change any more, and need no lock.
            std::unique_lock lock(names_mutex_, std::defer_lock);
            if (!names_full_.load(std::memory_order_acquire)) lock.lock();
            auto found = names_.find(name);
            // Others may have filled them up while we waited for the lock.
            if (found == names_.end() && lock && names_.size() <= max_names_) {
                found = names_.emplace(std::string(name), names_.size()).first;
                if (names_.size() > max_names_) names_full_.store(true, std::memory_order_release);
            }
            if (found == names_.end()) found = names_.find(other);
            index = found->second;
            kept = found->first;
        }
        auto& place = slot.records[index];
        if (!place.load(std::memory_order_relaxed))
            place.store(new task_record, std::memory_order_release);
        if (kept != name) return place.load(std::memory_order_relaxed);
        slot.last_name = kept;
        return slot.last_record = place.load(std::memory_order_relaxed);
    } catch (const std::bad_alloc&) {
        return &slot.unnamed;
    }
}

std::string_view monitor_core::name_of(const task_record* of,
                                       const worker_slot& slot) const noexcept {
    if (of == &slot.unnamed) return {};
    const std::lock_guard lock(names_mutex_);
    for (const auto& [name, index] : names_)
        if (slot.records[index].load(std::memory_order_acquire) == of) return name;
    return {};
}

}  // namespace cadre::manage::detail
