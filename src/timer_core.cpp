// SPDX-License-Identifier: Apache-2.0
//
// A scheduled task. It is in the queue, or being run by a worker, or complete; while it is in the
// queue, the queue holds the reference that would run it, and dropping that cancels the task.
// After a run that may be repeated, the worker works out the next time and puts it back itself.

#include <cadre/detail/timer_core.hpp>

#include <algorithm>

#include "thread_pool_core.hpp"
#include "timer_details.hpp"

namespace cadre::detail {

namespace {

using std::chrono::nanoseconds;

steady_time saturated_add(steady_time t, nanoseconds d) noexcept {
    if (d.count() >= 0) return d >= forever - t ? forever : t + d;
    return t + d;
}

/// A number that looks random, the same for the same seed.
std::uint64_t scrambled(std::uint64_t seed) noexcept {
    seed += 0x9e3779b97f4a7c15u;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
    return seed ^ (seed >> 31);
}

nanoseconds jitter_of(nanoseconds most, std::uint64_t seed) noexcept {
    if (most.count() <= 0) return {};
    const auto width = static_cast<std::uint64_t>(most.count()) * 2 + 1;
    return nanoseconds(static_cast<nanoseconds::rep>(scrambled(seed) % width)) - most;
}

}  // namespace

timer_core::~timer_core() {
    if (has_details())
        delete &own();
    else if (owner_ & ~flag_bits)
        queue().release();
}

timer_handle::~timer_handle() {
    if (!timer_) return;
    if (!spent_) timer_->abandon();
    if (origin_ == origin::due) timer_->leave_flight();
}

void timer_core::leave_flight() noexcept { queue().landed(); }

steady_time timer_core::startable_at() const {
    if (is_periodic()) return forever;
    const auto due = queue().time_of(*this);
    if (!due) return steady_time::min();
    const auto real = queue().clock().real_time_of(*due);
    const auto now = std::chrono::steady_clock::now();
    if (!follows_wall_clock() || real <= now) return real;
    return std::min(real, now + timer_queue::wall_clock_look);
}

/// The details, made if there are none.
timer_core::details& timer_core::detailed() {
    if (!has_details()) {
        auto* made = new details(queue());
        owner_ = reinterpret_cast<std::uintptr_t>(made) | (owner_ & flag_bits) | has_details_bit;
    }
    return own();
}

void timer_core::prepare(timer_queue& queue, timetable&& when) {
    queue.add_ref();
    owner_ |= reinterpret_cast<std::uintptr_t>(&queue);
    if (when.how == timetable::kind::once && !when.wall) return;
    if (when.how != timetable::kind::once) owner_ |= periodic_bit;
    details& more = detailed();
    more.planned = when.wall ? queue.steady_time_of(*when.wall) : when.first;
    more.when = std::move(when);
}

void timer_core::decorate(const std::function<task(task)>& decorator) {
    struct body {
        intrusive_ptr<timer_core> timer;
        explicit body(timer_core& t) : timer(&t) {}
        body(body&&) noexcept = default;
        ~body() {
            if (timer) timer->abandon();
        }
        void operator()() {
            const auto alive = timer;
            alive->run_due();
        }
        std::string_view task_name() const noexcept { return timer->name(); }
        int task_priority() const noexcept { return timer->priority(); }
    };
    details& more = detailed();
    more.decorated = decorator(task(body(*this)));
    if (!more.decorated) throw std::invalid_argument("decorate_task returned an empty task");
    more.decoration.store(details::decoration_state::idle);
}

bool timer_core::has_wall_time() const noexcept { return own().when.wall.has_value(); }

std::chrono::system_clock::time_point timer_core::wall_time() const noexcept {
    return *own().when.wall;
}

std::optional<steady_time> timer_core::next_run() const {
    if (is_done()) return std::nullopt;
    return queue().time_of(*this);
}

nanoseconds timer_core::delay() const {
    const auto due = queue().time_of(*this);
    if (!due) return {};
    if (*due == forever) return nanoseconds::max();
    const auto now = queue().now().time_since_epoch();
    const auto then = due->time_since_epoch();
    if (now > nanoseconds::zero() && then < nanoseconds::min() + now) return nanoseconds::min();
    return then - now;
}

task_statistics timer_core::statistics() const {
    if (is_periodic()) return own().statistics.read();
    task_statistics plain;
    const auto how = state();
    if (how != future_state::success && how != future_state::failed) return plain;
    plain.runs = 1;
    plain.failures = how == future_state::failed ? 1 : 0;
    plain.last_duration = plain.longest_duration = duration_;
    return plain;
}

bool timer_core::is_decorated() const noexcept {
    return has_details() && own().decoration.load() != details::decoration_state::none;
}

void timer_core::execute(intrusive_ptr<timer_core>& held) {
    // Planned last of all: from then on another worker may run it again.
    struct at_the_end {
        timer_core& timer;
        intrusive_ptr<timer_core>* held = nullptr;  // null: who catches what was thrown may ask it
        ~at_the_end() {
            if (timer.is_periodic() && !timer.is_done()) timer.plan_next_run(held);
        }
    } planning{*this};
    if (is_decorated())
        run_decorated();
    else
        run_due();
    planning.held = &held;
}

void timer_core::run_decorated() {
    using state = details::decoration_state;
    auto idle = state::idle;
    if (!own().decoration.compare_exchange_strong(idle, state::running)) return;
    // A decoration that did not run a one-shot will not any more: dropping it cancels the task.
    struct over {
        timer_core& timer;
        ~over() {
            timer.own().decoration.store(state::idle);
            if (timer.is_done() || !timer.is_periodic()) timer.release_decoration();
        }
    } const at_the_end{*this};
    own().decorated();
}

/// The decoration holds the timer and the timer holds it: whoever ends the timer cuts that.
void timer_core::release_decoration() noexcept {
    using state = details::decoration_state;
    auto idle = state::idle;
    if (has_details() && own().decoration.compare_exchange_strong(idle, state::gone))
        own().decorated = task();
}

void timer_core::on_done(future_state) { release_decoration(); }

void timer_core::on_cancelled_unstarted() {
    if (queue().removes_cancelled()) queue().drop(*this);
}

void timer_core::end_with_details() noexcept {
    const intrusive_ptr<timer_core> alive(this);
    leave_queue();
    release_decoration();
}

/// True if there is no future, neither its own nor one of a task inside it, to tell that it did not
/// run.
bool timer_core::is_nobody_told() const noexcept {
    const auto id = identity();
    return has_no_future() && (id % 2 != 0 || id == future_core::identity());
}

/// Its time has come. What a worker has taken when the pool stops is cancelled, as in the JDK; but
/// not if nobody would know: then it runs, as a task of any other pool.
void timer_core::run_due() {
    if (!queue().may_run(*this, steady_time::min()) &&
        !(is_nobody_told() && queue().is_called_inside())) {
        cancel(false);
    } else if (is_periodic()) {
        run_periodic();
    } else {
        run();
        if (has_no_future() && state() == future_state::failed)
            queue().tell_uncaught(*this, error());
    }
}

/// When it began. Unknown to a one-shot whose statistics nobody can ask for, and if a user's clock
/// throws: the task runs all the same.
steady_time timer_core::call_begins() const noexcept {
    try {
        if (is_periodic() || (!has_no_future() && is_shared())) return queue().now();
    } catch (...) {}
    return steady_time::min();
}

/// What is not known took no time; of a periodic task it stays unknown, so that the clock is asked
/// again for the next run.
void timer_core::call_ends(steady_time start) noexcept {
    auto end = start;
    try {
        if (start != steady_time::min()) end = queue().now();
    } catch (...) {
        start = end = steady_time::min();
    }
    if (!is_periodic()) {
        duration_ = end - start;
    } else if (end != steady_time::min()) {
        own().started = start;
        own().finished = end;
    }
}

/// What a run threw: counted and told before anybody who waits for the end of the task knows.
bool timer_core::survives(const std::exception_ptr& error) {
    const bool by_itself = !is_cancelled();  // else it was made to throw
    own().threw = true;
    count_run(by_itself);
    if (by_itself) queue().tell_failed(*this, error);
    return by_itself && own().when.options.on_error == on_error::keep_going;
}

void timer_core::run_periodic() {
    own().threw = false;
    own().started = own().finished = {};
    bool started = false;
    run_and_reset(&started);
    if (started && !own().threw) count_run(false);
}

void timer_core::count_run(bool has_failed) {
    const auto period = own().when.period;
    const nanoseconds duration = own().finished - own().started;
    own().statistics.count(duration, has_failed, period.count() > 0 && duration > period);
}

/// True of a periodic task whose last run took less than the waking of a thread does. For whoever
/// holds the queue's mutex, while it is queued or the caller runs it.
bool timer_core::was_quick() const noexcept {
    constexpr nanoseconds quick = std::chrono::microseconds(10);
    // Of one that is decorated the times are of the inner task, perhaps of another thread.
    return is_periodic() && !is_decorated() && own().finished != steady_time{} &&
           own().finished - own().started <= quick;
}

/// By how much it may be late so that it runs together with others: no more than what the kernel
/// allows itself with a sleeping thread unless told otherwise.
nanoseconds timer_core::slack() const noexcept {
    constexpr nanoseconds most = std::chrono::microseconds(50);
    return is_periodic() ? std::min(most, own().when.period / 64) : nanoseconds::zero();
}

void timer_core::plan_next_run(intrusive_ptr<timer_core>* held) {
    try {
        const bool is_known = !is_decorated() && own().finished != steady_time{};
        const auto finished = is_known ? own().finished : queue().now();
        const auto next = time_after(finished);
        if (!next || !queue().requeue(*this, *next, finished, held)) cancel(false);
    } catch (...) {  // no memory: it cannot go on, and whoever waits must know
        const auto error = std::current_exception();
        if (set_exception(error)) queue().tell_failed(*this, error);
    }
}

/// The time of the next run; nothing if there is none.
std::optional<steady_time> timer_core::time_after(steady_time finished) {
    details& more = own();
    const auto& when = more.when;
    const bool by_calendar = when.how == timetable::kind::by_calendar;
    const bool skip =
        when.options.missed.value_or(by_calendar ? missed_runs::skip : missed_runs::catch_up) ==
        missed_runs::skip;
    if (by_calendar) {
        auto after = *when.wall;
        if (skip) after = std::max(after, queue().clock().wall_now());
        const auto next = when.calendar->next_after(after);
        if (!next) return std::nullopt;
        more.when.wall = next;
        return more.planned = queue().steady_time_of(*next);
    }
    if (when.how == timetable::kind::with_fixed_delay) {
        more.planned = saturated_add(finished, when.period);
    } else {
        more.planned = saturated_add(more.planned, when.period);
        if (skip && more.planned <= finished) {
            const auto missed = (finished - more.planned) / when.period + 1;
            more.planned = saturated_add(more.planned, when.period * missed);
        }
    }
    if (more.planned == forever) return forever;
    const auto seed = scrambled(queue().salt() + sequence_) +
                      static_cast<std::uint64_t>(more.planned.time_since_epoch().count());
    return saturated_add(more.planned, jitter_of(when.options.jitter, seed));
}

}  // namespace cadre::detail
