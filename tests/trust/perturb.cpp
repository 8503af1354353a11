// SPDX-License-Identifier: Apache-2.0
//
// For LD_PRELOAD: a thread that is about to take a mutex, to sleep on a futex, to wake somebody or
// to make a thread now and then yields or sleeps a little first, and so does one that has just done
// it. What would take weeks to happen by itself happens in seconds. CADRE_PERTURB=n: one call in n
// (8). CADRE_SPURIOUS=n: one sleep in n on a futex ends before it began, for no reason.
// CADRE_REFUSE=n: one thread in n cannot be made.

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

std::uint32_t given(const char* name, std::uint32_t otherwise) {
    const char* text = std::getenv(name);
    const int wanted = text ? std::atoi(text) : 0;
    return wanted > 0 ? static_cast<std::uint32_t>(wanted) : otherwise;
}

std::uint32_t one_in() {
    static const std::uint32_t n = given("CADRE_PERTURB", 8);
    return n;
}

/// Every n-th call by anybody; never if n is 0.
bool is_turn(std::atomic<std::uint32_t>& calls, std::uint32_t n) {
    return n > 0 && calls.fetch_add(1, std::memory_order_relaxed) % n == n - 1;
}
std::atomic<std::uint32_t> sleeps{0};
std::atomic<std::uint32_t> threads{0};

void perturb() {
    thread_local std::uint32_t state = static_cast<std::uint32_t>(
        reinterpret_cast<std::uintptr_t>(&state) >> 4 ^ static_cast<std::uintptr_t>(std::clock()));
    state = state * 1664525U + 1013904223U;
    const std::uint32_t drawn = state >> 8;
    if (drawn % one_in() != 0) return;
    if (drawn / one_in() % 8 != 0) {
        sched_yield();
        return;
    }
    timespec nap{0, static_cast<long>(drawn % 100) * 1000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
}

}  // namespace

extern "C" {

/// For a program that has points of its own: see race_points.cpp.
void cadre_perturb() noexcept { perturb(); }

long syscall(long number, ...) noexcept {
    static auto* const real = next<long(long, ...)>("syscall");
    va_list rest;
    va_start(rest, number);
    long a[6];
    for (long& each : a) each = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_futex) perturb();
    static const std::uint32_t spurious = given("CADRE_SPURIOUS", 0);
    const auto operation = a[1] & FUTEX_CMD_MASK;
    if (number == SYS_futex && (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET) &&
        is_turn(sleeps, spurious))
        return 0;
    const long result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_futex) perturb();
    return result;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    static auto* const real = next<int(pthread_mutex_t*)>("pthread_mutex_lock");
    perturb();
    return real(mutex);
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
    static auto* const real = next<int(pthread_mutex_t*)>("pthread_mutex_unlock");
    const int result = real(mutex);
    perturb();
    return result;
}

int pthread_create(pthread_t* made, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) noexcept {
    static auto* const real =
        next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
    static const std::uint32_t refused = given("CADRE_REFUSE", 0);
    // std::thread, which those who test use, has no attributes
    if (attributes && is_turn(threads, refused)) return EAGAIN;
    perturb();
    const int result = real(made, attributes, body, argument);
    perturb();
    return result;
}
}
