// SPDX-License-Identifier: Apache-2.0
//
// The tasks are kept by timer_heap.hpp. Each knows its place there, so that it can be taken out
// again without a search.
//
// The pool's state is looked at under the mutex, in the same hold under which a task is put in. A
// shutdown changes the state first and looks at the queue afterwards, so either the one who puts a
// task in sees the shutdown, or the shutdown sees the task. A task may also be put in after a
// shutdown, which has perhaps seen nothing and is about to end the pool: so whoever does that asks
// for a worker, which keeps the pool from ending, and takes the task out again if it has ended. It
// is the same with a worker that leaves, and with a cancellation: that is looked for before a
// periodic task is put in again, and the canceller looks here after it has cancelled.
//
// Of the threads that wait while there is a task, one, the leader, sleeps until the time of the
// head: one task wakes one thread. Whoever leaves the waiting for whatever reason (with a task, by
// time-out, interrupted) and finds tasks but no leader calls the thread that has waited longest,
// which then leads; one is called at a time. A new head wakes the leader, to sleep for less long.
//
// To call a thread costs more than many a task. If the task that is taken is a periodic one whose
// last run was quick, its worker will be back before the other were there. In case it is not, there
// is the deputy: while the head is such a task, the second who waits sleeps until the leader is
// overdue by `grace`. As long as it covers for the leader, quick tasks are taken without a call.
// If it then finds another head, which is quick and not overdue by as much, the tasks are being
// taken: it sleeps on, until that one is. So one worker runs them all, and they stay in the caches
// of its processor. All others who wait sleep without a time.
//
// So, whenever mutex_ is free: if there is a task and somebody waits, there is a leader, or
// somebody has been called who will lead, or the deputy is asleep until at most `grace` after a
// quick task was taken or put back, or came due.
//
// A worker that puts a task back takes the next one in the same hold of the mutex, if that is due,
// quick and needs no call: it has nothing to do in between, least of all anything of a user's.
//
// Nor does a leader sleep for a few microseconds only, if the head is periodic: a sleep costs more
// than that, and among many with one period the next ones come due meanwhile.
//
// Times of the wall clock are kept as times of the steady clock, all worked out with one offset, so
// that their order is that of the wall clock, and anew whenever the two have moved against each
// other. While there are such tasks, the leader looks at least once a second; the first of them
// wakes it, wherever it is in the queue.

#include "timer_queue.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include <random>
#include <sys/prctl.h>

#include <cadre/detail/report.hpp>
#include <cadre/detail/schedule_point.hpp>

#include "thread_pool_core.hpp"
#include "timer_details.hpp"

namespace cadre::detail {

timer_queue::timer_queue(scheduler_clock& clock)
    : clock_(clock),
      counts_flights_(&clock != &scheduler_clock::system()),
      salt_(counts_flights_ ? 0 : std::random_device()()) {}

void timer_queue::open(const std::shared_ptr<thread_pool_core>& taker) {
    pool = taker;
    core_.store(taker.get());
    clock_.subscribe(*this);
    subscribed_.store(true);
}

void timer_queue::leave_clock() noexcept {
    if (subscribed_.exchange(false)) clock_.unsubscribe(*this);
}

void timer_queue::close() noexcept {
    leave_clock();
    heap dropped;
    {
        std::lock_guard lock(mutex_);
        core_.store(nullptr);
        closed_ = true;
        wall_timers_ = 0;
        dropped.swap(timers_);
        dropped.for_each([](const entry& e) { e.timer->place_ = heap::nowhere; });
    }
    dropped.for_each([](const entry& e) { taken::adopt(e.timer)->abandon(); });
}

namespace {

/// The offset is what wall_offset() says. With the same offset, the order stays the same.
steady_time steady_time_at(std::chrono::system_clock::time_point wall,
                           std::chrono::nanoseconds offset) noexcept {
    return steady_time(saturated_difference(wall.time_since_epoch(), offset));
}

/// Whether the task's future is: the timer's own, or that of the submitted task inside it.
bool is_cancelled(const timer_core& timer) {
    const auto identity = timer.identity();
    return timer.is_cancelled() ||
           (identity % 2 == 0 && reinterpret_cast<const future_core*>(identity)->is_cancelled());
}

}  // namespace

// ---- in and out

/// True if whoever leads has to look again. If it does not throw, one reference of the caller's is
/// the queue's from now on.
bool timer_queue::put_in(timer_core& timer, steady_time due) {
    const bool by_wall_clock = timer.follows_wall_clock();
    if (by_wall_clock) {  // as the clock is now: it may have been set since `due` was worked out
        if (wall_timers_ == 0)
            wall_offset_ = wall_offset();
        else
            follow_wall_clock();
        due = steady_time_at(timer.wall_time(), wall_offset_);
    }
    const bool is_first =
        timers_.insert(timer, due, by_wall_clock ? heap::region::near : heap::region::any);
    // Whoever leads while nobody follows the wall clock does not look at it.
    const bool is_first_to_follow = by_wall_clock && ++wall_timers_ == 1;
    return is_first || is_first_to_follow;
}

timer_queue::taken timer_queue::take_out(timer_core& timer) noexcept {
    timers_.remove(timer);
    if (timer.follows_wall_clock()) --wall_timers_;
    return taken::adopt(&timer);
}

bool timer_queue::insert(taken timer, steady_time due) {
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    const bool must_look = put_in(*timer, due);
    static_cast<void>(timer.detach());
    if (must_look) wake_leader(wake);
    return true;
}

timer_queue::admission timer_queue::admit(taken& timer, steady_time due) {
    CADRE_SCHEDULE_POINT("the admission of a timer");
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    if (closed_) return admission::refused;
    const auto& core = *core_.load();
    const auto state = core.state();
    if (!may_run(state, *timer, due)) return admission::refused;
    const bool is_settled = state == run_state::running && !core.lacks_worker();
    const bool must_look = put_in(*timer, due);
    if (is_settled)
        static_cast<void>(timer.detach());
    else
        timer->add_ref();
    if (must_look) wake_leader(wake);
    return is_settled ? admission::settled : admission::unsettled;
}

timer_queue::taken timer_queue::remove(timer_core& timer) {
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    if (timer.place_ == heap::nowhere) return nullptr;
    quiet_.notify_all(wake);
    return take_out(timer);
}

inline bool timer_queue::drop_here(timer_core& timer) noexcept {
    bool is_news = false;  // to the pool
    {
        std::lock_guard lock(mutex_);
        if (timer.place_ == heap::nowhere) return false;
        if (quiet_.has_waiters()) tell_quiet();
        timers_.remove(timer);
        if (timer.follows_wall_clock()) --wall_timers_;
        auto& core = *core_.load();
        core.count_dropped_timer();
        is_news = timers_.empty() || core.state() != run_state::running;
    }
    // The queue's reference, which keeps the timer alive until here.
    const auto dropped = taken::adopt(&timer);
    if (is_news) tell_pool();
    return true;
}

bool timer_queue::drop(timer_core& timer) noexcept { return drop_here(timer); }

/// Here, for the compiler to see all of it.
void timer_core::end_without_callable() noexcept {
    if (has_extras() || has_details())
        end_with_details();
    else if (auto& timers = queue(); timers.removes_cancelled())
        timers.drop_here(*this);
}

[[gnu::noinline]] void timer_queue::tell_quiet() noexcept {
    deferred_wake wake;
    quiet_.notify_all(wake);
}

/// What was dropped may have been all that it waited for.
[[gnu::noinline]] void timer_queue::tell_pool() noexcept {
    try {
        if (const auto core = pool.lock()) core->queue_was_searched();
    } catch (...) {
        report_uncaught("the removal of a cancelled task", std::current_exception());
    }
}

std::vector<timer_queue::taken> timer_queue::extract_if(
    function_ref<bool(timer_core&, steady_time)> wanted, std::size_t most,
    function_ref<void(std::size_t)> make_room) {
    std::vector<taken> out;
    std::vector<entry> found;
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    follow_wall_clock();
    timers_.for_each([&](const entry& e) {
        if (wanted(*e.timer, e.due)) found.push_back(e);
    });
    std::sort(found.begin(), found.end(), heap::before);
    if (found.size() > most) found.resize(most);
    out.reserve(found.size());
    make_room(found.size());
    for (const entry& e : found) out.push_back(take_out(*e.timer));
    quiet_.notify_all(wake);
    return out;
}

timer_queue::taken timer_queue::extract_first(function_ref<bool(timer_core&, steady_time)> wanted) {
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    try {
        follow_wall_clock();
    } catch (...) {}  // by the times as they are: it must not fail
    const entry* first = nullptr;
    timers_.for_each([&](const entry& e) {
        if (wanted(*e.timer, e.due) && (!first || heap::before(e, *first))) first = &e;
    });
    if (!first) return nullptr;
    quiet_.notify_all(wake);
    return take_out(*first->timer);
}

void timer_queue::for_each(function_ref<void(timer_core&, steady_time)> visit) const {
    std::lock_guard lock(mutex_);
    timers_.for_each([&](const entry& e) { visit(*e.timer, e.due); });
}

std::vector<timer_queue::given> timer_queue::in_order() {
    struct numbered {
        given what;
        std::uint64_t sequence;
    };
    std::vector<numbered> found;
    {
        std::lock_guard lock(mutex_);
        follow_wall_clock();
        found.reserve(timers_.size());
        timers_.for_each([&](const entry& e) {
            if (!is_cancelled(*e.timer))
                found.push_back({{taken(e.timer), e.due}, e.timer->sequence_});
        });
    }
    std::sort(found.begin(), found.end(), [](const numbered& a, const numbered& b) {
        return a.what.due != b.what.due ? a.what.due < b.what.due : a.sequence < b.sequence;
    });
    std::vector<given> all;
    all.reserve(found.size());
    for (auto& each : found) all.push_back(std::move(each.what));
    return all;
}

std::size_t timer_queue::size() const {
    std::lock_guard lock(mutex_);
    return timers_.size();
}

std::optional<steady_time> timer_queue::time_of(const timer_core& timer) {
    // It does not run here, and whoever held the mutex is not there to let go.
    if (forks_ != forks()) return std::nullopt;
    std::lock_guard lock(mutex_);
    follow_wall_clock();
    if (timer.place_ == heap::nowhere) return std::nullopt;
    return timers_.due_of(timer);
}

// ---- waiting for the head

bool timer_queue::is_due() {
    if (timers_.empty()) return false;
    const auto due = timers_.front().due;
    if (due <= seen_now_) return true;  // the clock never goes back
    seen_now_ = now();
    return due <= seen_now_;
}

timer_queue::given timer_queue::take_head() noexcept {
    if (counts_flights_) ++in_flight_;
    const auto due = timers_.front().due;
    return {take_out(*timers_.front().timer), due};
}

std::chrono::nanoseconds timer_queue::lateness() {
    std::lock_guard lock(mutex_);
    if (timers_.empty()) return {};
    const auto due = timers_.front().due;
    if (due == forever) return {};
    const std::chrono::nanoseconds late =
        saturated_difference(clock_.now().time_since_epoch(), due.time_since_epoch());
    return std::max(std::chrono::nanoseconds(0), late);
}

void timer_queue::landed() noexcept {
    if (!counts_flights_) return;
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    if (in_flight_ > 0 && --in_flight_ == 0) quiet_.notify_all(wake);
}

bool timer_queue::has_due() {
    std::lock_guard lock(mutex_);
    follow_wall_clock();
    return is_due();
}

timer_queue::given timer_queue::poll() {
    std::lock_guard lock(mutex_);
    follow_wall_clock();
    return is_due() ? take_head() : given();
}

timer_queue::given timer_queue::poll_until(steady_time deadline) {
    thread_control::current().throw_if_interrupted();
    deferred_wake wake;
    std::unique_lock lock(mutex_);
    try {
        auto head = wait_for_head(lock, deadline);
        if (!head.timer || !is_quick(*head.timer) || !is_covered(seen_now_)) appoint_leader(wake);
        return head;
    } catch (...) {
        appoint_leader(wake);
        throw;
    }
}

namespace {

/// For how long a task may be due and wait for a worker that was expected to be back.
constexpr std::chrono::nanoseconds grace = std::chrono::microseconds(250);

/// The kernel may let a thread oversleep by its timer slack, 50 microseconds unless told otherwise.
/// Who leads is to wake on time.
void wake_on_time() noexcept {
    thread_local bool told = false;
    if (!std::exchange(told, true)) prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

}  // namespace

timer_queue::given timer_queue::wait_for_head(std::unique_lock<brief_mutex>& lock,
                                              steady_time deadline) {
    for (bool was_deputy = false;;) {
        follow_wall_clock();
        const bool stays_deputy = was_deputy && is_in_good_hands();
        if (!stays_deputy && is_due()) return take_head();
        waiter self;
        self.thread->throw_if_interrupted();
        const auto real_now = std::chrono::steady_clock::now();
        if (deadline != forever && real_now >= deadline) return {};
        auto until = deadline;
        if (timers_.empty()) {
            // Whoever puts one in calls somebody to lead.
        } else if (!leader_ && !stays_deputy) {
            until = std::min(until, leads_until(real_now));
            leader_ = &self;
            wake_on_time();
        } else if (!deputy_ && is_quick(*timers_.front().timer)) {
            const auto expected = std::min(timers_.front().due, forever - grace);
            until = deputy_until_ = std::min(until, expected + grace);
            deputy_ = &self;
        }
        waiters_.push_back(self);
        const bool was_woken = waiters_.park(self, lock, until);
        was_deputy = deputy_ == &self && !was_woken;
        if (leader_ == &self) leader_ = nullptr;
        if (deputy_ == &self) deputy_ = nullptr;
        if (called_ == &self) called_ = nullptr;
    }
}

bool timer_queue::is_quick(const timer_core& timer) const noexcept {
    return !counts_flights_ && timer.was_quick();
}

/// When the leader is to look at the head, which is not due.
steady_time timer_queue::leads_until(steady_time real_now) const {
    const auto& [due, timer] = timers_.front();
    const auto until = std::max(clock_.real_time_of(due), real_now + timer->slack());
    return wall_timers_ > 0 ? std::min(until, real_now + wall_clock_look) : until;
}

/// Whether the deputy looks at the queue at most `grace` after this time.
bool timer_queue::is_covered(steady_time from) const noexcept {
    return deputy_ && deputy_until_ - grace <= from;
}

/// Whether the deputy may leave the head to whoever leads, or has taken a quick task: it is quick
/// itself and has not been due for long.
bool timer_queue::is_in_good_hands() const {
    if (timers_.empty() || wall_timers_ > 0) return false;
    const auto& [due, timer] = timers_.front();
    return is_quick(*timer) && due > now() - grace;
}

void timer_queue::call(waiter& w, deferred_wake& wake) noexcept {
    waiters_.remove(w);
    called_ = &w;
    wake.wake(w);
}

/// Lets somebody lead, if there is a task to wait for and nobody does.
void timer_queue::appoint_leader(deferred_wake& wake) noexcept {
    if (leader_ || called_ || timers_.empty() || waiters_.empty()) return;
    call(*waiters_.front(), wake);
}

/// The head is another one: whoever leads is to look again.
void timer_queue::wake_leader(deferred_wake& wake) noexcept {
    if (leader_)
        call(*std::exchange(leader_, nullptr), wake);
    else
        appoint_leader(wake);
}

// ---- clocks

steady_time timer_queue::steady_time_of(std::chrono::system_clock::time_point wall) const {
    return steady_time_at(wall, wall_offset());
}

std::chrono::nanoseconds timer_queue::wall_offset() const {
    // The wall clock first: held up in between, a task is late for a moment, never early.
    const auto wall = clock_.wall_now().time_since_epoch();
    return saturated_difference(wall, clock_.now().time_since_epoch());
}

/// If the wall clock was set by this much or more, or the first task would run before it shows its
/// time, works out the times of those who follow it anew.
void timer_queue::follow_wall_clock(std::chrono::nanoseconds least) {
    if (wall_timers_ == 0) return;
    const auto offset = wall_offset();
    const auto moved = saturated_difference(offset, wall_offset_);
    if (-least < moved && moved < least && !(moved.count() < 0 && would_be_early())) return;
    timers_.retime([offset](const entry& e) {
        return e.timer->follows_wall_clock() ? steady_time_at(e.timer->wall_time(), offset) : e.due;
    });
    wall_offset_ = offset;
}

bool timer_queue::would_be_early() {
    const auto& first = *timers_.front().timer;
    return first.follows_wall_clock() && is_due() && clock_.wall_now() < first.wall_time();
}

void timer_queue::time_changed() {
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    follow_wall_clock(std::chrono::nanoseconds(1));  // it was set, by however little
    if (!timers_.empty()) wake_leader(wake);
}

std::optional<steady_time> timer_queue::next_due() {
    const auto core = pool.lock();  // let go of after the mutex: that may end the pool
    if (!core || core->state() >= run_state::stop) return std::nullopt;
    std::lock_guard lock(mutex_);
    follow_wall_clock();
    if (timers_.empty() || timers_.front().due == forever) return std::nullopt;
    return timers_.front().due;
}

void timer_queue::await_quiet() {
    const auto core = pool.lock();  // let go of after the mutex: that may end the pool
    const auto must_run = [&] { return is_due() && core && core->state() < run_state::stop; };
    // A worker that dies and has no successor tells nobody here.
    constexpr std::chrono::milliseconds between_looks(20);
    for (bool is_quiet = false; !is_quiet;) {
        std::unique_lock lock(mutex_);
        if (must_run()) {
            lock.unlock();
            core->require_worker();
            lock.lock();
        }
        is_quiet = quiet_.wait_until(lock, std::chrono::steady_clock::now() + between_looks,
                                     [&] { return in_flight_ == 0 && !must_run(); });
    }
}

bool timer_queue::is_called_inside() const noexcept { return pool_of_caller() != nullptr; }

// ---- the scheduler, as its tasks see it

/// The pool, if the caller is one of its workers, which keep it alive; else null.
const thread_pool_core* timer_queue::pool_of_caller() const noexcept {
    const auto* const known = core_.load();
    const auto* self = thread_control::current_if_any();
    return self && self->helper && self->helper->works_for() == known ? known : nullptr;
}

run_state timer_queue::pool_state() const {
    if (const auto* known = pool_of_caller()) return known->state();
    const auto core = pool.lock();
    return core ? core->state() : run_state::terminated;
}

bool timer_queue::may_run(run_state state, const timer_core& timer, steady_time due) const {
    if (state == run_state::running) return true;
    if (state >= run_state::stop) return false;
    return timer.is_periodic() ? run_periodic_after_shutdown.load()
                               : run_delayed_after_shutdown.load() || has_come(due);
}

/// A shutdown must not fail because a user's clock does: it shows what it has shown last, then.
bool timer_queue::has_come(steady_time due) const noexcept {
    if (due == steady_time::min()) return true;  // and the mutex is not held
    try {
        return due <= clock_.now();
    } catch (...) {
        return due <= seen_now_;
    }
}

bool timer_queue::may_run(const timer_core& timer, steady_time due) const {
    return may_run(pool_state(), timer, due);
}

/// Gives a worker that has put a task back the next one, if that is due and needs no call. Nothing
/// of a user's is called before it runs.
bool timer_queue::hand_on(worker& w) noexcept {
    const auto& [due, timer] = timers_.front();
    if (due > seen_now_ || wall_timers_ > 0 || !is_quick(*timer)) return false;
    if (!waiters_.empty() && !is_covered(seen_now_)) return false;
    w.successor_stamp = stamp_of(due);
    w.successor = take_out(*timer);
    return true;
}

bool timer_queue::requeue(timer_core& timer, steady_time due, steady_time finished, taken* held) {
    bool lacks_worker = false;
    {
        deferred_wake wake;
        std::lock_guard lock(mutex_);
        if (closed_ || timer.is_done()) return false;
        auto& core = *core_.load();
        if (!may_run(core.state(), timer, due)) return false;
        seen_now_ = std::max(seen_now_, finished);
        const bool must_look = put_in(timer, due);
        lacks_worker = core.lacks_worker();
        auto* const w =
            held && !lacks_worker && !counts_flights_ ? core.worker_that_goes_on(held) : nullptr;
        if (w)
            static_cast<void>(held->detach());
        else
            timer.add_ref();
        // The caller itself will look, when it is done with this task. A deputy that sleeps for
        // long does not look at the wall clock meanwhile.
        const auto needed_at = wall_timers_ > 0 ? seen_now_ : std::max(due, seen_now_);
        if (w && hand_on(*w)) return true;
        if (must_look && (leader_ || !is_quick(timer) || !is_covered(needed_at))) wake_leader(wake);
    }
    if (!lacks_worker) return true;
    const auto core = pool.lock();
    if (core) core->ensure_worker_quietly();
    // As with one that is scheduled: if there was no worker, the pool may have ended meanwhile.
    if ((core && core->state() < run_state::stop) || !remove(timer)) return true;
    if (core) core->count_withdrawn(1);
    return false;
}

void timer_queue::apply_shutdown_policies() {
    const auto unwanted = [this](timer_core& timer, steady_time due) {
        return is_cancelled(timer) || !may_run(timer, due);
    };
    const auto core = pool.lock();
    const auto end = [&](timer_core& timer) {
        if (core) core->count_withdrawn(1);
        timer.cancel(false);
    };
    try {
        const auto all = std::numeric_limits<std::size_t>::max();
        for (const auto& timer : extract_if(unwanted, all, [](std::size_t) {})) end(*timer);
    } catch (...) {  // no memory, or a clock that throws
        while (const auto timer = extract_first(unwanted)) end(*timer);
    }
}

void timer_queue::tell_failed(timer_core& timer, const std::exception_ptr& error) noexcept {
    try {
        const task shown{timer_view(timer)};
        const auto core = pool.lock();
        if (periodic_failed)
            periodic_failed(shown, error);
        else if (!core || !core->is_asked_for(error))
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
