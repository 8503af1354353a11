// SPDX-License-Identifier: Apache-2.0
//
// Each worker has a slot, into which only it writes: counters by a load and a store, no atomic
// addition. Readers add the slots up. When a worker leaves, its slot goes to the next one, with
// what is in it, so nothing is ever lost or reset and there are as many slots as there were workers
// at a time.
//
// The clock is read twice for each task: where it is submitted, and where it ends; on a busy worker
// that is the beginning of the next. That costs more than an empty task itself. So while tiny tasks
// come fast, and no limit needs exact times, there is a tick: a rough time in a variable, of which
// bare tasks, that have neither name nor future, get their stamp; but one in 512 is stamped
// exactly. A worker whose last bare tasks took less than `tiny` passes over those with a coarse
// stamp until the tick moves on, which costs a few loads and stores each. The others it times, as
// ever: these are the samples. Who submits or ends a sample moves the tick on about every
// millisecond, and so does, every four, a thread of its own, the ticker, so that it also moves
// while a slow task runs.
//
// What is recorded of tasks that were passed over:
// - The run time of the next sample, for it was chosen without regard to what it takes.
// - But when the tick has moved on, the task that ends next is the last to be passed over, and the
//   next thing the worker does is to read the clock. If the time since the last reading is more
//   than so many tiny tasks may take, or than a tick, one of them was slow: it took that time,
//   which is too long by what went before in the same tick. It stands for itself alone, as does a
//   sample during which the tick moved on. So no slow task is missed, or counted for others.
// - The same for one of them if the tick came late, for want of a processor, and the clock shows
//   more than that where tiny tasks were.
// - The wait of the task that was last timed: by its stamp if that is exact, else the wait of the
//   one before, as far as the coarse stamp admits that.
// - Before the worker sleeps or leaves, what is left is recorded by the last sample.
// A row of tasks that took longer than tiny ones without any hint of that by a sample, as some of
// many do, makes the worker time ever longer rows before it passes over tasks again.
//
// When few tasks are passed over the ticks end, and everything is timed again.
//
// The generation of a slot is odd while a task runs that is timed. Who wants to interrupt a task
// locks the slot, looks at the generation, and interrupts; a worker that is to be interrupted at
// all passes through that lock at the end of a task that is being looked at, so that no later task
// is hit. Which task it is that ran for too long is known by when it began, which stays the same
// when others ran inside it. Tasks that are passed over are seen in the tally of the worker alone,
// which it writes anyway: how many there were is what that has completed and was not timed.

#include "monitor_core.hpp"

#include <pthread.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace cadre::manage::detail {
namespace {

constexpr std::int64_t tiny = 2000;  // ns
constexpr int tiny_in_a_row = 16;
constexpr int most_in_a_row = 1024;
constexpr std::int64_t tiny_each = 16'000;  // ns: of tasks that are worth a tick, one comes
constexpr std::int64_t tick_ns = task_observer::tick_unit.count();
constexpr std::int64_t behind_ns = task_observer::most_ticks_behind * tick_ns;
constexpr std::uint64_t worth_a_tick = 256;  // tasks
constexpr int most_quiet_ticks = 4;
constexpr std::uint64_t burst = 64;               // tasks
constexpr std::int64_t calm_for = 1'000'000'000;  // ns without ticks for bursts that are not tiny
constexpr std::string_view other = "other";

void bump(std::atomic<std::uint64_t>& counter, std::uint64_t n) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

// What a frame holds.
enum number { started, outer_started };
enum pointer { record, outer_record };

/// That of the calling thread, for others to read while the thread lives.
clockid_t own_cpu_clock() noexcept {
    clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
    ::pthread_getcpuclockid(::pthread_self(), &clock);  // which cannot fail for oneself
    return clock;
}

/// 0 if nobody can tell, as of a thread that a child of the process does not have.
std::int64_t cpu_time(clockid_t clock) noexcept {
    std::timespec t{};
    if (::clock_gettime(clock, &t) != 0) return 0;
    return std::int64_t{1'000'000'000} * t.tv_sec + t.tv_nsec;
}

/// Null: it is not watched.
worker_slot* slot_of(task_observer::worker_record& worker) noexcept {
    return static_cast<worker_slot*>(worker.observed);
}

}  // namespace

std::int64_t worker_slot::cpu_so_far() const noexcept {
    return thread ? std::max<std::int64_t>(cpu_time(cpu_clock) - cpu_before, 0) : 0;
}

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

monitor_core::~monitor_core() { ticker_->stop(*this); }

/// Of a task that was timed, task_ends() is told before the tally has it as completed, so for a
/// moment one too few have been passed over; and if another ends between the two readings, one too
/// few again, never one too many.
std::uint64_t worker_slot::passed_over_so_far() noexcept {
    for (int tries = 0; worker && tries < 3; ++tries) {
        const auto before = not_passed_over.load(std::memory_order_acquire);
        const auto tally = worker->tally.load(std::memory_order_acquire);
        const auto after = not_passed_over.load(std::memory_order_acquire);
        const auto passed = worker_record::completed(tally) - after;
        if (static_cast<std::int64_t>(passed - passed_over_told) > 0) passed_over_told = passed;
        if (before == after) break;
    }
    return passed_over_told;
}

void monitor_core::worker_begins(worker_record& worker) noexcept {
    threads_started_.fetch_add(1, std::memory_order_relaxed);
    worker.pass_over_none();
    worker.was_late = false;
    worker.observed = nullptr;
    try {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) {
            slots_.push_back(std::make_unique<worker_slot>(max_names_ + 1));
            free_.reserve(slots_.size());
            free_.push_back(slots_.back().get());
        }
        auto& slot = *free_.back();
        free_.pop_back();
        slot.thread = cadre::detail::intrusive_ptr<cadre::detail::thread_control>(
            &cadre::detail::thread_control::current());
        slot.worker = &worker;
        slot.cpu_clock = own_cpu_clock();
        slot.cpu_before = cpu_time(slot.cpu_clock);
        slot.seen = 0;  // the number that was seen was of another worker
        slot.not_passed_over.store(
            worker_record::completed(worker.tally.load(std::memory_order_relaxed)) -
            slot.passed_over_told);
        slot.clock = now_ns();
        begin_row(slot);
        slot.clock = 0;
        slot.passes_over.store(false);
        worker.observed = &slot;
    } catch (const std::bad_alloc&) {}  // it is not watched then
}

void monitor_core::worker_ends(worker_record& worker) noexcept {
    threads_ended_.fetch_add(1, std::memory_order_relaxed);
    auto* slot = slot_of(worker);
    if (!slot) return;
    settle(*slot);
    const std::lock_guard lock(mutex_);
    cpu_of_those_who_left_ += slot->cpu_so_far();
    slot->thread = nullptr;  // which is not the last that has it: the thread itself does
    slot->passed_over_told = slot->passed_over();
    slot->worker = nullptr;
    free_.push_back(slot);  // has room: see worker_begins()
}

void monitor_core::worker_waits(worker_record& worker) noexcept {
    auto* slot = slot_of(worker);
    if (!slot) return;
    settle(*slot);
    slot->clock = 0;
}

void monitor_core::worker_wakes(worker_record& worker) noexcept {
    auto* slot = slot_of(worker);
    if (!slot) return;
    slot->clock = now_ns();
    slot->clock_is_fresh = true;
    begin_row(*slot);
}

/// The next tasks may be passed over, and begin about now.
void monitor_core::begin_row(worker_slot& slot) noexcept {
    slot.passed_since = slot.clock;
    slot.passed_before = slot.passed_over();
    slot.started_at.store(slot.clock | 1, std::memory_order_release);  // as in task_ends()
}

/// Before the worker stops taking tasks: there may be no other sample for long.
void monitor_core::settle(worker_slot& slot) noexcept {
    if (slot.passed_over() != slot.passed_before) {
        slot.clock = now_ns();
        look_at_passed_over(slot);
        slot.passed_before = slot.passed_over();
    }
    record_waits(slot);
    record_runs(slot, slot.last_run);
}

/// Once the clock was read: at those that were passed over since a task was last timed.
void monitor_core::look_at_passed_over(worker_slot& slot) noexcept {
    const auto count = slot.passed_over() - slot.passed_before;
    if (count == 0) return;
    const auto took = slot.clock - slot.passed_since;
    const auto tiny_take = static_cast<std::int64_t>(count) * tiny;
    const bool was_late = std::exchange(slot.worker->was_late, false);
    if ((was_late && took > std::min(tiny_take, tick_ns)) ||
        (took > behind_ns && was_tick_late(slot))) {
        slot.unnamed.run.add(took);
        ++slot.runs_recorded;
        slot.tiny_seen = 0;
        tell_if_slow(slot, slot.passed_since | 1, took, nullptr);
    } else if (was_late || slot.worker->passes_over_during(tick())) {
        const bool were_tiny = took <= tiny_take;
        if (!were_tiny) slot.tiny_seen = 0;
        slot.tiny_wanted =
            were_tiny ? tiny_in_a_row : std::min(2 * slot.tiny_wanted, most_in_a_row);
    }  // else the worker may have been held up between them
}

/// Then a slow task need not have felt it.
bool monitor_core::was_tick_late(const worker_slot& slot) noexcept {
    note_late_tick(static_cast<std::uint64_t>(slot.clock / tick_ns));
    return static_cast<std::int64_t>(late_tick_.load()) >= slot.passed_since / tick_ns;
}

/// Before it is moved on.
void monitor_core::note_late_tick(std::uint64_t now) noexcept {
    const auto seen = tick();
    if (seen != 0 && now > seen + task_observer::most_ticks_behind) late_tick_.store(now);
}

/// The ticker may be late for want of a processor.
void monitor_core::help_tick(std::int64_t clock) noexcept {
    const auto now = static_cast<std::uint64_t>(clock / tick_ns);
    if (now <= tick()) return;
    note_late_tick(now);
    move_tick_on(now);
}

/// Enters the run times of those passed over that are not in the histogram yet.
void monitor_core::record_runs(worker_slot& slot, std::int64_t each) noexcept {
    const auto passed = slot.passed_over();
    const auto count = passed - std::exchange(slot.runs_recorded, passed);
    if (count > 0) slot.unnamed.run.add(each, count);
}

void monitor_core::record_waits(worker_slot& slot) noexcept {
    const auto passed = slot.passed_over();
    const auto count = passed - std::exchange(slot.waits_recorded, passed);
    if (count == 0) return;
    slot.unnamed.wait.add(slot.last_wait, count);
    passed_over_.fetch_add(count, std::memory_order_relaxed);
}

void monitor_core::task_begins(worker_record& worker, const task& t, frame& f) noexcept {
    if (!worker.observed) return;
    auto& slot = *slot_of(worker);
    f.pointers[outer_record] = slot.current.load(std::memory_order_relaxed);
    const auto generation = slot.generation.load(std::memory_order_relaxed);
    const bool inside = worker_record::running(worker.tally.load(std::memory_order_relaxed)) > 1;
    f.numbers[outer_started] = inside ? slot.started_at.load(std::memory_order_relaxed) : 0;
    const auto name = t.name();
    auto* found = name.empty() ? &slot.unnamed : record_for(slot, name);
    f.pointers[record] = found;
    const bool at_once = !inside && slot.clock_is_fresh && slot.clock != 0 &&
                         slot.passed_over() == slot.passed_before;
    if (!at_once) slot.clock = now_ns();
    slot.clock_is_fresh = false;
    if (!inside) {
        look_at_passed_over(slot);
        slot.passes_over.store(false, std::memory_order_relaxed);
        slot.is_sample = is_bare(t);
        slot.began_in = tick();
    }
    f.numbers[started] = slot.clock;
    slot.started_at.store(slot.clock & ~std::int64_t{1}, std::memory_order_release);
    if (found != f.pointers[outer_record]) slot.current.store(found, std::memory_order_release);
    // release: who sees the generation sees what was written before. A task inside another that is
    // timed is one more change by two, so that the number stays odd.
    slot.generation.store(generation + (generation % 2 != 0 ? 2 : 1), std::memory_order_release);
    record_wait(slot, t, *found);
    if (!inside) record_waits(slot);
}

void monitor_core::record_wait(worker_slot& slot, const task& t, task_record& of) noexcept {
    const auto stamp = stamp_of(t);
    if (stamp == 0) return;
    const auto waited = std::max<std::int64_t>(slot.clock - stamp, 0);
    const auto off = has_coarse_stamp(t) ? behind_ns : 0;  // so much longer it may have been
    slot.last_wait = std::clamp(slot.last_wait, waited, waited + off);
    of.wait.add(slot.last_wait);
    const auto limit = queue_timeout_.load(std::memory_order_relaxed);
    if (limit > 0 && waited > limit && !was_told_while_queued(t, stamp))
        tell(queue_timeouts_, t.name(), 1);
}

void monitor_core::task_ends(worker_record& worker, const frame& f, bool failed) noexcept {
    if (!worker.observed) return;
    auto& slot = *slot_of(worker);
    auto* of = static_cast<task_record*>(const_cast<void*>(f.pointers[record]));
    const auto* outer = static_cast<const task_record*>(f.pointers[outer_record]);
    const auto generation = slot.generation.load(std::memory_order_relaxed);
    const bool inside = f.numbers[outer_started] != 0;
    const bool outer_is_timed = inside && f.numbers[outer_started] % 2 == 0;
    const auto next = generation + (outer_is_timed ? 2 : 1);
    // Before the look at looked_at, as check_running() does; whether or not tasks are interrupted,
    // which may change amid either.
    slot.generation.exchange(next);
    if (slot.looked_at.load()) {
        const std::lock_guard passed(slot.interrupting);
    }
    // release: who sees what is written for the next sees that the generation is another.
    if (inside) slot.started_at.store(f.numbers[outer_started], std::memory_order_release);
    if (outer != of) slot.current.store(outer, std::memory_order_release);
    bump(of->completed, 1);
    if (failed) bump(of->failed, 1);

    slot.clock = now_ns();
    slot.clock_is_fresh = true;
    const auto took = slot.clock - f.numbers[started];
    of->run.add(took);
    if (!inside) {
        begin_row(slot);
        if (slot.is_sample) sample_ends(slot, took);
    }
    tell_if_slow(slot, f.numbers[started] & ~std::int64_t{1}, took, of);
    bump(slot.not_passed_over, 1);  // soon it is completed; till now passed_over() was right
}

/// Of a task that has ended; `of` is null if it was passed over.
void monitor_core::tell_if_slow(worker_slot& slot, std::int64_t started_at, std::int64_t took,
                                const task_record* of) noexcept {
    const auto limit = run_timeout_.load(std::memory_order_relaxed);
    if (limit <= 0 || took <= limit) return;
    {
        const std::lock_guard lock(mutex_);
        if (slot.timed_out == started_at) return;  // check_running() has told of it
    }
    tell(run_timeouts_, of ? name_of(of, slot) : std::string_view(), 1);
}

void monitor_core::passed_over_failed(worker_record& worker) noexcept {
    if (auto* slot = slot_of(worker)) bump(slot->unnamed.failed, 1);
}

void monitor_core::sample_ends(worker_slot& slot, std::int64_t took) noexcept {
    if (took < tick_ns && tick() == slot.began_in) slot.last_run = took;
    record_runs(slot, slot.last_run);
    slot.worker->pass_over_none();
    if (took >= tiny) {
        slot.tiny_seen = 0;
        return;
    }
    if (slot.tiny_seen++ == 0) slot.tiny_since = slot.clock;
    if (slot.tiny_seen < slot.tiny_wanted) return;
    if (tick() == 0) {
        if (slot.clock - slot.tiny_since < slot.tiny_seen * tiny_each) ticker_->start(*this);
        slot.tiny_seen = 0;
        return;
    }
    slot.tiny_seen = slot.tiny_wanted;
    help_tick(slot.clock);
    if (const auto now = tick()) {
        slot.passes_over.store(true, std::memory_order_relaxed);
        slot.worker->pass_over_during(now);
    }
}

/// How many tasks were timed and have ended.
std::uint64_t monitor_core::timed_so_far() const noexcept {
    const std::lock_guard lock(mutex_);
    std::uint64_t sum = 0;
    for (const auto& slot : slots_) sum += slot->not_passed_over.load(std::memory_order_relaxed);
    return sum;
}

/// The tick goes on while that is worth its price, and while tasks come to workers that are all
/// held up: nobody knows yet what they will take.
bool monitor_core::time_passed(std::uint64_t now) noexcept {
    const auto passed = passed_over_.load(std::memory_order_relaxed);
    const auto submitted = submitted_.load(std::memory_order_relaxed);
    const auto timed = timed_so_far();
    const bool is_any_submitted = submitted != std::exchange(submitted_seen_, submitted);
    const bool is_any_timed = timed != std::exchange(timed_seen_, timed);
    const bool quiet = passed - std::exchange(passed_over_seen_, passed) < worth_a_tick;
    if (!quiet)
        quiet_ticks_ = 0;
    else if (is_any_timed || !is_any_submitted)
        ++quiet_ticks_;
    if (tick() == 0) {  // it starts
        passed_over_before_ = passed;
        timed_before_ = timed;
        quiet_ticks_ = 0;
    }
    note_late_tick(now);
    if (may_sample_.load() && quiet_ticks_ < most_quiet_ticks) {
        if (now > tick()) set_tick(now);
        return true;
    }
    if (passed - passed_over_before_ < worth_a_tick && timed != timed_before_)
        calm_until_.store(static_cast<std::int64_t>(now) * tick_ns + calm_for);
    set_tick(0);
    return false;
}

/// A burst is a reason to tick before anybody knows that its tasks are tiny: until then all of them
/// are stamped exactly, and timed.
std::int64_t monitor_core::task_submitted() noexcept {
    const auto now = now_ns();
    help_tick(now);
    if (submitted_.fetch_add(1, std::memory_order_relaxed) % burst != burst - 1) return now;
    const auto since = burst_since_.exchange(now, std::memory_order_relaxed);
    if (tick() == 0 && now - since < static_cast<std::int64_t>(burst) * tiny_each &&
        now > calm_until_.load())
        ticker_->start(*this);
    return now;
}

void monitor_core::task_rejected(const task& t) noexcept { tell(rejected_, t.name(), 1); }

void monitor_core::thread_failed(const task* first) noexcept {
    tell(threads_failed_, first == nullptr ? std::string_view() : first->name(), 1);
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
