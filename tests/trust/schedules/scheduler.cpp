// SPDX-License-Identifier: Apache-2.0
//
// The threads of a scenario hand the turn to each other: `go` of a thread is its turn. Whoever has
// the turn is the only one that touches the state below, so that needs no lock. A thread that is to
// sleep is marked with the address it sleeps on, and passes the turn on. Threads that are none of
// the scenario's, or whose body is over and which only tidy up, are let through to the real
// functions.

#include "scheduler.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <thread>
#include <utility>

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cadre::schedules {
namespace {

template <class Function>
Function* real(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}
long real_syscall(long number, long a, long b, long c, long d, long e, long f) {
    static auto* const function = real<long(long, ...)>("syscall");
    return function(number, a, b, c, d, e, f);
}

struct player {
    int id = 0;
    std::int64_t priority = 0;
    const void* sleeps_on = nullptr;
    bool over = false;
    pthread_t handle{};
    std::atomic<std::uint32_t> go = 0;
    void* (*body)(void*) = nullptr;
    void* argument = nullptr;
};

constexpr std::size_t most_players = 16;
constexpr std::uint64_t most_steps = 5000;
constexpr std::size_t changes = 3;
constexpr std::size_t most_locks = 64;

struct {
    const char* name = "";
    std::uint64_t seed = 0;
    std::uint64_t random = 0;
    bool trace = false;
    played so_far;
    struct visit {
        int id;
        const char* where;
    };
    std::array<visit, most_steps> trail{};
    std::array<visit, most_steps> trail_before{};
    std::uint64_t steps_before = 0;
    std::array<player*, most_players> players{};
    std::size_t count = 0;
    std::int64_t lowest = 0;
    std::array<std::uint64_t, changes> change_at{};
    std::array<const void*, most_locks> locked{};  // mutexes that players hold
} state;

thread_local player* self = nullptr;

std::uint64_t drawn() {  // splitmix64
    std::uint64_t z = state.random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

[[noreturn]] void fail(const char* what) {
    std::printf(
        "schedules: %s | FAILED: %s | seed %llu, step %llu; again: schedules --only %s --seed %llu "
        "--trace\n",
        state.name, what, static_cast<unsigned long long>(state.seed),
        static_cast<unsigned long long>(state.so_far.steps), state.name,
        static_cast<unsigned long long>(state.seed));
    for (std::size_t i = 0; i < state.count; ++i)
        std::printf("  thread %d %s\n", static_cast<int>(i),
                    state.players[i]->over        ? "is over"
                    : state.players[i]->sleeps_on ? "sleeps"
                                                  : "can go on");
    constexpr std::uint64_t shown = 80;
    const auto steps = std::min(state.so_far.steps, most_steps);
    for (auto i = steps - std::min(steps, shown); i < steps; ++i)
        std::printf("  %llu: thread %d at %s\n", static_cast<unsigned long long>(i + 1),
                    state.trail[i].id, state.trail[i].where);
    std::fflush(stdout);
    _exit(1);
}

player* next_player() {
    player* best = nullptr;
    for (std::size_t i = 0; i < state.count; ++i) {
        player* p = state.players[i];
        if (!p->over && !p->sleeps_on && (!best || p->priority > best->priority)) best = p;
    }
    return best;
}

void wait_for_turn(player& p) {
    while (p.go.exchange(0) == 0)
        real_syscall(SYS_futex, reinterpret_cast<long>(&p.go), FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
}
void give_turn(player& p) {
    p.go.store(1);
    real_syscall(SYS_futex, reinterpret_cast<long>(&p.go), FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

/// Lets whoever is first go on, and returns when it is the caller's turn.
void pass_on() {
    player* const me = self;
    player* const next = next_player();
    if (!next) fail("nobody can go on");
    if (next == me) return;
    give_turn(*next);
    wait_for_turn(*me);
}

void step(const char* where) {
    if (!self) return;
    auto& so_far = state.so_far;
    if (++so_far.steps > most_steps) fail("it takes too many steps");
    state.trail[so_far.steps - 1] = {self->id, where};
    if (state.trace)
        std::printf("  %llu: thread %d at %s\n", static_cast<unsigned long long>(so_far.steps),
                    self->id, where);
    for (const auto at : state.change_at)
        if (at == so_far.steps) self->priority = --state.lowest;
    pass_on();
}

void sleep_on(const void* address) {
    self->sleeps_on = address;
    pass_on();
}
long wake(const void* address, long most) {
    long woken = 0;
    for (std::size_t i = 0; i < state.count && woken < most; ++i) {
        player* p = state.players[i];
        if (p->over || p->sleeps_on != address) continue;
        p->sleeps_on = nullptr;
        ++woken;
    }
    return woken;
}

player* new_player() {
    if (state.count == most_players) fail("there are too many threads");
    auto* const p = new player;
    p->id = static_cast<int>(state.count);
    p->priority = 1 + static_cast<std::int64_t>(drawn() % 1000000);
    state.players[state.count++] = p;
    return p;
}

void* run_player(void* argument) {
    auto* const me = static_cast<player*>(argument);
    wait_for_turn(*me);
    self = me;
    void* const result = me->body(me->argument);
    step("the end of a thread");
    me->over = true;
    wake(me, most_players);
    self = nullptr;
    player* const next = next_player();
    if (!next) fail("nobody can go on");
    give_turn(*next);
    return result;
}

/// Within the next ten milliseconds of the steady clock.
bool is_soon(const timespec& time) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (time.tv_sec - now.tv_sec) * 1000 + (time.tv_nsec - now.tv_nsec) / 1'000'000 <= 10;
}

const void** find_lock(const void* mutex) {
    for (auto& each : state.locked)
        if (each == mutex) return &each;
    return nullptr;
}

}  // namespace

played play(const char* name, void (*scenario)(), std::uint64_t usual_steps, std::uint64_t seed,
            bool trace) {
    state.name = name;
    state.seed = state.random = seed;
    state.trace = trace;
    std::swap(state.trail, state.trail_before);
    state.steps_before = std::exchange(state.so_far, {}).steps;
    state.count = 0;
    state.lowest = 0;
    state.locked = {};
    for (auto& at : state.change_at) at = 1 + drawn() % usual_steps;
    std::thread([scenario] {  // a new one each time: a thread remembers things, such as a wake-up
        self = new_player();
        scenario();
        step("the end");
        self = nullptr;
    })
        .join();
    for (std::size_t i = 0; i < state.count; ++i) {
        if (i > 0 && !state.players[i]->over) fail("a thread is left behind");
        delete state.players[i];
    }
    state.count = 0;
    return state.so_far;
}

void expect_same_play() {
    for (std::uint64_t i = 0; i < std::max(state.so_far.steps, state.steps_before); ++i) {
        const auto& once = state.trail_before[i];
        const auto& again = state.trail[i];
        if (once.id == again.id && once.where == again.where) continue;
        std::printf("schedules: step %llu: thread %d at %s, and thread %d at %s\n",
                    static_cast<unsigned long long>(i + 1), once.id, once.where, again.id,
                    again.where);
        fail("a seed plays in two ways");
    }
}

void expect(bool holds, const char* what) {
    if (!holds) fail(what);
}

}  // namespace cadre::schedules

namespace cadre::detail {
void schedule_point(const char* where) noexcept { schedules::step(where); }
}  // namespace cadre::detail

using namespace cadre::schedules;

extern "C" {

long syscall(long number, ...) noexcept {
    va_list rest;
    va_start(rest, number);
    long a[6];
    for (long& each : a) each = va_arg(rest, long);
    va_end(rest);
    if (number != SYS_futex || !self)
        return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    auto* const word = reinterpret_cast<std::atomic<std::uint32_t>*>(a[0]);
    if ((a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE) {
        step("a wake-up");
        return wake(word, a[2]);
    }
    step("a sleep");
    if (a[3] != 0) {
        if (!is_soon(*reinterpret_cast<const timespec*>(a[3])))
            fail("a scenario waits with a time limit");
        sched_yield();  // whoever sleeps for so short a time looks again and again
        errno = ETIMEDOUT;
        return -1;
    }
    if (word->load() == static_cast<std::uint32_t>(a[2])) {
        sleep_on(word);
        return 0;
    }
    errno = EAGAIN;
    return -1;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    static auto* const lock = real<int(pthread_mutex_t*)>("pthread_mutex_lock");
    static auto* const try_lock = real<int(pthread_mutex_t*)>("pthread_mutex_trylock");
    if (!self) return lock(mutex);
    step("a lock");
    while (try_lock(mutex) != 0) {
        if (!find_lock(mutex)) {  // somebody outside has it, for a moment
            lock(mutex);
            break;
        }
        sleep_on(mutex);
    }
    if (const void** place = find_lock(nullptr))
        *place = mutex;
    else
        fail("there are too many locks");
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
    static auto* const unlock = real<int(pthread_mutex_t*)>("pthread_mutex_unlock");
    const int result = unlock(mutex);
    if (!self) return result;
    if (const void** place = find_lock(mutex)) *place = nullptr;
    wake(mutex, 1);
    step("an unlock");
    return result;
}

int pthread_create(pthread_t* made, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) noexcept {
    static auto* const create =
        real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
    if (!self) return create(made, attributes, body, argument);
    player* const child = new_player();
    child->body = body;
    child->argument = argument;
    const int result = create(made, attributes, run_player, child);
    if (result != 0) fail("a thread cannot be made");
    child->handle = *made;
    step("a new thread");
    return 0;
}

int pthread_join(pthread_t thread, void** result) {
    static auto* const join = real<int(pthread_t, void**)>("pthread_join");
    if (self) {
        step("a join");
        for (std::size_t i = 0; i < state.count; ++i) {
            player* p = state.players[i];
            if (p->over || p == self || !pthread_equal(p->handle, thread)) continue;
            while (!p->over) sleep_on(p);
        }
    }
    return join(thread, result);
}

int sched_yield() noexcept {
    static auto* const yield = real<int()>("sched_yield");
    if (!self) return yield();
    self->priority = --state.lowest;
    step("a yield");
    return 0;
}
}
