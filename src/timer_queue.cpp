// SPDX-License-Identifier: Apache-2.0
//
// A heap of four children a node, ordered by time, then by the order of insertion. Each entry is a
// time and a pointer; the task knows its place, so that it can be taken out again without a search.
//
// Of the threads that wait while there is a task, one, the leader, sleeps until the time of the
// head, the others without a time: one task wakes one thread. Whoever leaves the waiting for
// whatever reason (with a task, by time-out, interrupted) and finds tasks but no leader wakes the
// thread that has waited longest, which then leads. A new head wakes the leader, to sleep for less
// long. So, whenever mutex_ is free: if there is a task and somebody waits, there is a leader, or
// somebody has been woken who will lead.
//
// Times of the wall clock are kept as times of the steady clock, worked out anew whenever the two
// have moved against each other. While there are such tasks, the leader looks at least once a
// second.

#include "timer_queue.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include <random>
#include <sys/prctl.h>

#include "report.hpp"
#include "thread_pool_core.hpp"
#include "timer_details.hpp"

namespace cadre::detail {

timer_queue::timer_queue(scheduler_clock& clock)
    : clock_(clock),
      counts_flights_(&clock != &scheduler_clock::system()),
      salt_(counts_flights_ ? 0 : std::random_device()()) {}

void timer_queue::open(std::weak_ptr<thread_pool_core> taker) {
    pool = std::move(taker);
    clock_.subscribe(*this);
    subscribed_.store(true);
}

void timer_queue::leave_clock() noexcept {
    if (subscribed_.exchange(false)) clock_.unsubscribe(*this);
}

void timer_queue::close() noexcept {
    leave_clock();
    std::vector<entry> dropped;
    {
        std::lock_guard lock(mutex_);
        closed_ = true;
        dropped.swap(heap_);
        for (const entry& e : dropped) e.timer->place_ = timer_core::not_queued;
    }
    for (const entry& e : dropped) taken::adopt(e.timer)->abandon();
}

// ---- the heap

bool timer_queue::before(const entry& a, const entry& b) const noexcept {
    if (a.due != b.due) return a.due < b.due;
    return a.timer->sequence_ < b.timer->sequence_;
}

void timer_queue::put(std::size_t place, const entry& e) noexcept {
    heap_[place] = e;
    e.timer->place_ = static_cast<std::uint32_t>(place);
}

void timer_queue::sift_up(std::size_t place, entry e) noexcept {
    while (place > 0) {
        const std::size_t parent = (place - 1) / arity;
        if (!before(e, heap_[parent])) break;
        put(place, heap_[parent]);
        place = parent;
    }
    put(place, e);
}

void timer_queue::sift_down(std::size_t place, entry e) noexcept {
    for (;;) {
        const std::size_t first = place * arity + 1;
        if (first >= heap_.size()) break;
        std::size_t least = first;
        const std::size_t end = std::min(first + arity, heap_.size());
        for (std::size_t child = first + 1; child < end; ++child)
            if (before(heap_[child], heap_[least])) least = child;
        if (!before(heap_[least], e)) break;
        put(place, heap_[least]);
        place = least;
    }
    put(place, e);
}

timer_queue::taken timer_queue::take_out(std::size_t place) noexcept {
    const entry out = heap_[place];
    const entry last = heap_.back();
    heap_.pop_back();
    if (place < heap_.size()) {
        if (place > 0 && before(last, heap_[(place - 1) / arity]))
            sift_up(place, last);
        else
            sift_down(place, last);
    }
    out.timer->place_ = timer_core::not_queued;
    if (out.timer->follows_wall_clock()) --wall_timers_;
    return taken::adopt(out.timer);
}

bool timer_queue::insert(taken timer, steady_time due) {
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    const bool by_wall_clock = timer->follows_wall_clock();
    if (by_wall_clock) {  // as the clock is now: it may have been set since `due` was worked out
        if (wall_timers_ == 0) wall_offset_ = wall_offset();
        due = steady_time_of(timer->wall_time());
    }
    heap_.push_back({});
    if (by_wall_clock) ++wall_timers_;
    timer->sequence_ = next_sequence_++;
    timer_core* const inserted = timer.detach();
    sift_up(heap_.size() - 1, {due, inserted});
    if (inserted->place_ == 0) wake_leader(wake);
    return true;
}

timer_queue::taken timer_queue::remove(timer_core& timer) {
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    if (timer.place_ == timer_core::not_queued) return nullptr;
    quiet_.notify_all(wake);
    return take_out(timer.place_);
}

std::vector<timer_queue::taken> timer_queue::extract_if(
    function_ref<bool(timer_core&, steady_time)> wanted, std::size_t most,
    function_ref<void(std::size_t)> make_room) {
    std::vector<taken> out;
    std::vector<entry> found;
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    for (const entry& e : heap_)
        if (wanted(*e.timer, e.due)) found.push_back(e);
    std::sort(found.begin(), found.end(),
              [this](const entry& a, const entry& b) { return before(a, b); });
    if (found.size() > most) found.resize(most);
    out.reserve(found.size());
    make_room(found.size());
    for (const entry& e : found) out.push_back(take_out(e.timer->place_));
    quiet_.notify_all(wake);
    return out;
}

timer_queue::taken timer_queue::extract_first(function_ref<bool(timer_core&, steady_time)> wanted) {
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    const entry* first = nullptr;
    for (const entry& e : heap_)
        if (wanted(*e.timer, e.due) && (!first || before(e, *first))) first = &e;
    if (!first) return nullptr;
    quiet_.notify_all(wake);
    return take_out(first->timer->place_);
}

void timer_queue::for_each(function_ref<void(timer_core&, steady_time)> visit) const {
    std::lock_guard lock(mutex_);
    for (const entry& e : heap_) visit(*e.timer, e.due);
}

std::size_t timer_queue::size() const {
    std::lock_guard lock(mutex_);
    return heap_.size();
}

std::optional<steady_time> timer_queue::time_of(const timer_core& timer) {
    std::lock_guard lock(mutex_);
    follow_wall_clock();
    if (timer.place_ == timer_core::not_queued) return std::nullopt;
    return heap_[timer.place_].due;
}

// ---- waiting for the head

bool timer_queue::is_due() const { return !heap_.empty() && heap_.front().due <= clock_.now(); }

timer_queue::taken timer_queue::take_head() noexcept {
    if (counts_flights_) ++in_flight_;
    return take_out(0);
}

void timer_queue::landed() noexcept {
    if (!counts_flights_) return;
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    if (in_flight_ > 0 && --in_flight_ == 0) quiet_.notify_all(wake);
}

timer_queue::taken timer_queue::poll() {
    std::lock_guard lock(mutex_);
    follow_wall_clock();
    return is_due() ? take_head() : nullptr;
}

timer_queue::taken timer_queue::poll_until(steady_time deadline) {
    thread_control::current().throw_if_interrupted();
    deferred_wake wake;
    std::unique_lock lock(mutex_);
    try {
        auto timer = wait_for_head(lock, deadline);
        appoint_leader(wake);
        return timer;
    } catch (...) {
        appoint_leader(wake);
        throw;
    }
}

namespace {

/// The kernel may let a thread oversleep by its timer slack, 50 microseconds unless told otherwise.
/// Who leads is to wake on time.
void wake_on_time() noexcept {
    thread_local bool told = false;
    if (!std::exchange(told, true)) prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

}  // namespace

timer_queue::taken timer_queue::wait_for_head(std::unique_lock<std::mutex>& lock,
                                              steady_time deadline) {
    for (;;) {
        follow_wall_clock();
        if (is_due()) return take_head();
        waiter self;
        self.thread->throw_if_interrupted();
        const auto real_now = std::chrono::steady_clock::now();
        if (deadline != forever && real_now >= deadline) return nullptr;
        auto until = deadline;
        if (!leader_ && !heap_.empty()) {
            until = std::min(until, clock_.real_time_of(heap_.front().due));
            if (wall_timers_ > 0) until = std::min(until, real_now + wall_clock_look);
            leader_ = &self;
            wake_on_time();
        }
        waiters_.push_back(self);
        waiters_.park(self, lock, until);
        if (leader_ == &self) leader_ = nullptr;
    }
}

/// Lets somebody lead, if there is a task to wait for and nobody does.
void timer_queue::appoint_leader(deferred_wake& wake) noexcept {
    if (leader_ || heap_.empty() || waiters_.empty()) return;
    waiter& next = *waiters_.front();
    waiters_.remove(next);
    wake.wake(next);
}

/// The head is another one: whoever leads is to look again.
void timer_queue::wake_leader(deferred_wake& wake) noexcept {
    if (!leader_) return appoint_leader(wake);
    waiter& old = *std::exchange(leader_, nullptr);
    waiters_.remove(old);
    wake.wake(old);
}

// ---- clocks

steady_time timer_queue::steady_time_of(std::chrono::system_clock::time_point wall) const {
    const auto wall_now = clock_.wall_now();
    const auto now = clock_.now();
    if (wall <= wall_now) return now;
    const auto rest = saturated_difference(wall.time_since_epoch(), wall_now.time_since_epoch());
    return rest >= forever - now ? forever : now + rest;
}

std::chrono::nanoseconds timer_queue::wall_offset() const {
    return saturated_difference(clock_.wall_now().time_since_epoch(),
                                clock_.now().time_since_epoch());
}

/// If the wall clock was set, works out the times of those who follow it anew.
void timer_queue::follow_wall_clock() {
    if (wall_timers_ == 0) return;
    constexpr std::chrono::nanoseconds tolerance = std::chrono::milliseconds(1);
    const auto offset = wall_offset();
    const auto moved = saturated_difference(offset, wall_offset_);
    if (-tolerance < moved && moved < tolerance) return;
    wall_offset_ = offset;
    for (entry& e : heap_)
        if (e.timer->follows_wall_clock()) e.due = steady_time_of(e.timer->wall_time());
    for (std::size_t place = heap_.size(); place-- > 0;) sift_down(place, heap_[place]);
}

void timer_queue::time_changed() {
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    follow_wall_clock();
    if (!heap_.empty()) wake_leader(wake);
}

std::optional<steady_time> timer_queue::next_due() {
    const auto core = pool.lock();  // let go of after the mutex: that may end the pool
    if (!core || core->state() >= run_state::stop) return std::nullopt;
    std::lock_guard lock(mutex_);
    follow_wall_clock();
    if (heap_.empty() || heap_.front().due == forever) return std::nullopt;
    return heap_.front().due;
}

void timer_queue::await_quiet() {
    const auto core = pool.lock();  // let go of after the mutex: that may end the pool
    std::unique_lock lock(mutex_);
    quiet_.wait(lock, [&] {
        return in_flight_ == 0 && (!is_due() || !core || core->state() >= run_state::stop);
    });
}

// ---- the scheduler, as its tasks see it

namespace {

/// Whether the task's future is: the timer's own, or that of the submitted task inside it.
bool is_cancelled(const timer_core& timer) {
    const auto identity = timer.identity();
    return timer.is_cancelled() ||
           (identity % 2 == 0 && reinterpret_cast<const future_core*>(identity)->is_cancelled());
}

}  // namespace

bool timer_queue::may_run(const timer_core& timer, steady_time due) const {
    const auto core = pool.lock();
    const auto state = core ? core->state() : run_state::terminated;
    if (state == run_state::running) return true;
    if (state >= run_state::stop) return false;
    return timer.is_periodic() ? run_periodic_after_shutdown.load()
                               : run_delayed_after_shutdown.load() || due <= clock_.now();
}

bool timer_queue::requeue(timer_core& timer, steady_time due) {
    if (!may_run(timer, due)) return false;
    if (!insert(taken(&timer), due)) return false;
    if (!may_run(timer, due) && remove(timer)) return false;
    if (timer.is_done() && remove_on_cancel.load()) remove(timer);  // cancelled in between
    if (const auto core = pool.lock()) core->ensure_worker_quietly();
    return true;
}

void timer_queue::apply_shutdown_policies() {
    const auto unwanted = [this](timer_core& timer, steady_time due) {
        return is_cancelled(timer) || !may_run(timer, due);
    };
    try {
        const auto all = std::numeric_limits<std::size_t>::max();
        for (const auto& timer : extract_if(unwanted, all, [](std::size_t) {}))
            timer->cancel(false);
    } catch (const std::bad_alloc&) {
        while (const auto timer = extract_first(unwanted)) timer->cancel(false);
    }
}

void timer_queue::tell_failed(timer_core& timer, const std::exception_ptr& error) noexcept {
    try {
        const task shown{timer_view(timer)};
        if (periodic_failed)
            periodic_failed(shown, error);
        else
            report_uncaught(timer.name().empty()
                                ? std::string("a periodic task")
                                : "periodic task '" + std::string(timer.name()) + "'",
                            error);
    } catch (...) {
        report_uncaught("periodic_failed", std::current_exception());
    }
}

void timer_queue::tell_uncaught(timer_core& timer, const std::exception_ptr& error) noexcept {
    const task shown{timer_view(timer)};
    if (const auto core = pool.lock()) core->tell_uncaught(shown, error);
}

}  // namespace cadre::detail
