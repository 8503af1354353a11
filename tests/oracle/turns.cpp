// SPDX-License-Identifier: Apache-2.0
//
// Threads in turns, and a clock that goes on only while nobody can act. However busy the machine
// is, a thread runs until it waits for something; then comes the one that could have gone on first.
// When all of them wait, the clock moves to the first time that one waits for. So computing takes
// no time, and a trace depends on its scenario alone.
//
// Linked into oracle_driver, and preloaded into the JVM, this stands in for the functions of the C
// library by which the two start threads, wait and see the clock. All their waits are kept here;
// the system only holds up each thread until it is let go.
//
// ORACLE_REAL_TIME=1 leaves threads and time as they are.

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace oracle::turns {

namespace {

/// The function that one of this file stands in for; if a sanitizer does too, then the sanitizer's.
void* next_named(const char* name) {
    void* const sanitizers = dlsym(RTLD_DEFAULT, ("__interceptor_" + std::string(name)).c_str());
    return sanitizers ? sanitizers : dlsym(RTLD_NEXT, name);
}
#define CADRE_NEXT(name) reinterpret_cast<decltype(&::name)>(oracle::turns::next_named(#name))

long real_futex(const std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
    static const auto next = CADRE_NEXT(syscall);
    return next(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

using nanoseconds = std::int64_t;
constexpr nanoseconds second = 1'000'000'000;
constexpr nanoseconds never = INT64_MAX;

nanoseconds from(const timespec& t) { return t.tv_sec * second + t.tv_nsec; }
timespec to(nanoseconds t) { return {t / second, t % second}; }

/// Held for a moment only. Not one of the C library's, which this file stands in for.
class bare_mutex {
public:
    void lock() {
        while (word_.exchange(1) != 0) real_futex(word_, FUTEX_WAIT, 1);
    }
    void unlock() {
        word_ = 0;
        real_futex(word_, FUTEX_WAKE, 1);
    }

private:
    std::atomic<std::uint32_t> word_ = 0;
};

/// One that waits for something, or for its turn.
struct waiter {
    explicit waiter(bool turns) : takes_turns(turns) {}

    const bool takes_turns;  // else it goes on as soon as it can
    const void* at = nullptr;
    nanoseconds until = never;
    bool timed_out = false;
    bool is_new = true;  // it has not had a turn yet
    std::atomic<std::uint32_t> may_go = 0;
    waiter* next = nullptr;
};

/// A thread that has not ended.
struct thread {
    thread(void* (*r)(void*), void* a) : run(r), argument(a) {}

    void* (*const run)(void*);
    void* const argument;
    pthread_t id{};
    waiter turn{true};
    thread* next = nullptr;
};

/// Nodes in the order in which they came. Takes no memory: what one thread takes and another frees,
/// with nothing between them that a sanitizer sees, would look like a race to it.
template <class Node>
class line {
public:
    Node* first() const { return first_; }
    void push_back(Node& n) {
        Node** end = &first_;
        while (*end) end = &(*end)->next;
        *end = &n;
        n.next = nullptr;
    }
    void remove(Node& n) {
        Node** at = &first_;
        while (*at != &n) at = &(*at)->next;
        *at = n.next;
    }

private:
    Node* first_ = nullptr;
};

struct threads {
    bare_mutex mutex;          // guards all below
    line<waiter> ready;        // those that could go on
    line<waiter> waiting;      // and those that could not
    waiter* holder = nullptr;  // whose turn it is; null if all wait
    line<thread> alive;

    std::atomic<nanoseconds> time = 0;  // of CLOCK_MONOTONIC
    nanoseconds wall_offset = 0;        // of CLOCK_REALTIME to it
};
constinit threads* all = nullptr;     // never destroyed; null if all is as the system has it
thread_local waiter* self = nullptr;  // null in one that is about to end

nanoseconds now_of(clockid_t clock) {
    static const auto next = CADRE_NEXT(clock_gettime);
    timespec t{};
    next(clock, &t);
    return from(t);
}

/// A thread that finds another one making a static waits for it by syscall(): those of syscall()
/// and of real_futex(), which that needs itself, are made before there is a second thread.
void prepare_for_waits() {
    const std::atomic<std::uint32_t> nobody_waits_here = 0;
    real_futex(nobody_waits_here, FUTEX_WAKE, 1);
    ::syscall(SYS_gettid);
}

[[gnu::constructor]] void begin() {
    if (std::getenv("ORACLE_REAL_TIME")) return;
    prepare_for_waits();
    self = new waiter(true);
    self->is_new = false;
    auto* const made = new threads;
    made->holder = self;
    made->time = now_of(CLOCK_MONOTONIC);
    made->wall_offset = now_of(CLOCK_REALTIME) - made->time;
    all = made;
}

bool is_ours(clockid_t clock) {
    return all && (clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME);
}
nanoseconds offset_of(clockid_t clock) { return clock == CLOCK_REALTIME ? all->wall_offset : 0; }

/// No two looks show the same time, so that who looked first stays first.
nanoseconds look() { return all->time.fetch_add(1) + 1; }

// ---- turns: all this with the mutex locked ----
void let_go(waiter& w) {
    w.may_go = 1;
    real_futex(w.may_go, FUTEX_WAKE, 1);
}

void add_ready(waiter& w) { w.takes_turns ? all->ready.push_back(w) : let_go(w); }

void move_clock() {
    waiter* first = nullptr;
    for (auto* w = all->waiting.first(); w; w = w->next)
        if (w->until < (first ? first->until : never)) first = w;
    if (!first) return;
    all->waiting.remove(*first);
    if (first->until > all->time) all->time = first->until;
    first->timed_out = true;
    add_ready(*first);
}

void pass_turn_on() {
    if (!all->ready.first()) move_clock();
    all->holder = all->ready.first();
    if (!all->holder) return;
    all->ready.remove(*all->holder);
    all->holder->is_new = false;
    let_go(*all->holder);
}

void make_ready(waiter& w) {
    add_ready(w);
    if (!all->holder) pass_turn_on();
}

// ---- waits ----
void sleep_until_let_go(waiter& w) {
    while (w.may_go.exchange(0) == 0) real_futex(w.may_go, FUTEX_WAIT, 0);
}

/// A wait: enter it, let go of what others need, then sleep.
class [[nodiscard]] wait_scope {
public:
    /// `still`: whether there is anything to wait for; who changes that calls wake_at().
    template <class Predicate>
    wait_scope(const void* at, nanoseconds until, Predicate still) : me_(self ? *self : guest_) {
        const std::lock_guard lock(all->mutex);
        is_needed_ = still();
        if (!is_needed_) return;
        me_.at = at;
        me_.until = until;
        me_.timed_out = false;
        all->waiting.push_back(me_);
    }
    bool is_needed() const { return is_needed_; }
    /// False if the time is up.
    bool sleep() {
        {
            const std::lock_guard lock(all->mutex);
            if (all->holder == &me_) pass_turn_on();
        }
        sleep_until_let_go(me_);
        return !me_.timed_out;
    }

private:
    waiter guest_{false};
    waiter& me_;
    bool is_needed_;
};

int wake_at(const void* at, int most) {
    const std::lock_guard lock(all->mutex);
    int woken = 0;
    for (auto* w = all->waiting.first(); w && woken < most;) {
        waiter& seen = *std::exchange(w, w->next);
        if (seen.at != at) continue;
        all->waiting.remove(seen);
        make_ready(seen);
        ++woken;
    }
    return woken;
}

/// Waits at something until `attempt` succeeds there.
template <class Attempt>
void wait_until(const void* at, Attempt attempt) {
    for (;;) {
        wait_scope wait(at, never, [&] { return !attempt(); });
        if (!wait.is_needed()) return;
        wait.sleep();
    }
}

void sleep_until(nanoseconds time) {
    static_cast<void>(wait_scope(nullptr, time, [] { return true; }).sleep());
}

int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* owner, nanoseconds until) {
    wait_scope wait(condition, until, [] { return true; });
    pthread_mutex_unlock(owner);
    const bool in_time = wait.sleep();
    pthread_mutex_lock(owner);
    return in_time ? 0 : ETIMEDOUT;
}

long futex(const long (&argument)[6]) {
    const auto* const word = reinterpret_cast<const std::uint32_t*>(argument[0]);
    const auto* const time = reinterpret_cast<const timespec*>(argument[3]);
    const auto value = static_cast<std::uint32_t>(argument[2]);
    const long command = argument[1] & ~FUTEX_PRIVATE_FLAG;
    if (command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET)
        return wake_at(word, static_cast<int>(value));
    if (command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET) {
        errno = ENOSYS;
        return -1;
    }
    const auto limit = time ? from(*time) + (command == FUTEX_WAIT ? look() : 0) : never;
    wait_scope wait(word, limit, [&] { return __atomic_load_n(word, __ATOMIC_SEQ_CST) == value; });
    if (wait.is_needed() && wait.sleep()) return 0;
    errno = wait.is_needed() ? ETIMEDOUT : EAGAIN;
    return -1;
}

// ---- threads ----
void* run_in_turns(void* of) {
    const std::unique_ptr<thread> me(static_cast<thread*>(of));
    self = &me->turn;
    sleep_until_let_go(*self);
    void* const result = me->run(me->argument);
    {
        const std::lock_guard lock(all->mutex);
        all->alive.remove(*me);
    }
    wake_at(reinterpret_cast<void*>(me->id), INT_MAX);
    const std::lock_guard lock(all->mutex);
    if (all->holder == self) pass_turn_on();
    self = nullptr;
    return result;
}

/// To start a thread takes longer than to wake one: those that were woken go first, and those that
/// were started before stay behind.
void yield_to_the_woken(waiter& me) {
    line<waiter> woken;
    line<waiter> started;
    for (auto* w = all->ready.first(); w;) {
        waiter& each = *std::exchange(w, w->next);
        (each.is_new ? started : woken).push_back(each);
    }
    all->ready = woken;
    all->ready.push_back(me);
    for (auto* w = started.first(); w;) all->ready.push_back(*std::exchange(w, w->next));
    pass_turn_on();
}

bool has_ended(pthread_t id) {
    for (const auto* t = all->alive.first(); t; t = t->next)
        if (t->id == id) return false;
    return true;
}

}  // namespace

}  // namespace oracle::turns

namespace turns = oracle::turns;

extern "C" {

int pthread_create(pthread_t* made, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
    static const auto next = CADRE_NEXT(pthread_create);
    if (!turns::all) return next(made, attributes, run, argument);
    auto started = std::make_unique<turns::thread>(run, argument);
    if (const int error = next(made, attributes, turns::run_in_turns, started.get())) return error;
    auto& thread = *started.release();  // it owns itself
    {
        const std::lock_guard lock(turns::all->mutex);
        thread.id = *made;
        turns::all->alive.push_back(thread);
        turns::make_ready(thread.turn);
        if (!turns::self) return 0;
        turns::yield_to_the_woken(*turns::self);
    }
    turns::sleep_until_let_go(*turns::self);
    return 0;
}

int pthread_join(pthread_t thread, void** result) {
    static const auto next = CADRE_NEXT(pthread_join);
    if (turns::all)
        turns::wait_until(reinterpret_cast<void*>(thread),
                          [&] { return turns::has_ended(thread); });
    return next(thread, result);
}

int sched_yield() noexcept {
    static const auto next = CADRE_NEXT(sched_yield);
    if (!turns::all || !turns::self) return next();
    {
        const std::lock_guard lock(turns::all->mutex);
        turns::add_ready(*turns::self);
        turns::pass_turn_on();
    }
    turns::sleep_until_let_go(*turns::self);
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    static const auto next = CADRE_NEXT(pthread_mutex_lock);
    if (!turns::all) return next(mutex);
    int error = pthread_mutex_trylock(mutex);
    if (error == EBUSY)
        turns::wait_until(mutex, [&] { return (error = pthread_mutex_trylock(mutex)) != EBUSY; });
    return error;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
    static const auto next = CADRE_NEXT(pthread_mutex_unlock);
    const int error = next(mutex);
    if (turns::all) turns::wake_at(mutex, 1);
    return error;
}

int sem_wait(sem_t* semaphore) {
    static const auto next = CADRE_NEXT(sem_wait);
    if (!turns::all) return next(semaphore);
    turns::wait_until(semaphore, [&] { return sem_trywait(semaphore) == 0; });
    return 0;
}

int sem_post(sem_t* semaphore) noexcept {
    static const auto next = CADRE_NEXT(sem_post);
    const int error = next(semaphore);
    if (turns::all) turns::wake_at(semaphore, 1);
    return error;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
    static const auto next = CADRE_NEXT(pthread_cond_wait);
    if (!turns::all) return next(condition, mutex);
    return turns::wait_for_condition(condition, mutex, turns::never);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
    static const auto next = CADRE_NEXT(pthread_cond_clockwait);
    if (!turns::all) return next(condition, mutex, clock, until);
    return turns::wait_for_condition(condition, mutex,
                                     turns::from(*until) - turns::offset_of(clock));
}

/// Which clock the time is of, it shows itself: no machine is up for thirty years.
int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           const timespec* until) {
    static const auto next = CADRE_NEXT(pthread_cond_timedwait);
    if (!turns::all) return next(condition, mutex, until);
    const auto clock = until->tv_sec > 1'000'000'000 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    return pthread_cond_clockwait(condition, mutex, clock, until);
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
    static const auto next = CADRE_NEXT(pthread_cond_signal);
    if (!turns::all) return next(condition);
    turns::wake_at(condition, 1);
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
    static const auto next = CADRE_NEXT(pthread_cond_broadcast);
    if (!turns::all) return next(condition);
    turns::wake_at(condition, INT_MAX);
    return 0;
}

int clock_gettime(clockid_t clock, timespec* result) noexcept {
    static const auto next = CADRE_NEXT(clock_gettime);
    if (!turns::is_ours(clock)) return next(clock, result);
    *result = turns::to(turns::look() + turns::offset_of(clock));
    return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
    static const auto next = CADRE_NEXT(clock_nanosleep);
    if (!turns::is_ours(clock)) return next(clock, flags, time, left);
    turns::sleep_until(turns::from(*time) +
                       (flags & TIMER_ABSTIME ? -turns::offset_of(clock) : turns::look()));
    return 0;
}

int nanosleep(const timespec* time, timespec* left) {
    static const auto next = CADRE_NEXT(nanosleep);
    if (!turns::all) return next(time, left);
    return clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
}

long syscall(long number, ...) noexcept {
    static const auto next = CADRE_NEXT(syscall);
    va_list rest;
    va_start(rest, number);
    long argument[6];
    for (auto& each : argument) each = va_arg(rest, long);
    va_end(rest);
    if (turns::all && number == SYS_futex) return turns::futex(argument);
    return next(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                argument[5]);
}

}  // extern "C"
