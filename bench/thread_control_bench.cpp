// SPDX-License-Identifier: Apache-2.0
//
// The place where a thread parks: an unpark that comes first, and two threads that wake each other.

#include <atomic>
#include <thread>

#include <benchmark/benchmark.h>

#include <cadre/detail/duration.hpp>
#include <cadre/detail/thread_control.hpp>

namespace {

using cadre::detail::thread_control;

void unpark_then_park(benchmark::State& state) {
    auto& own = thread_control::current();
    for (auto _ : state) {
        own.unpark();
        own.park_until(cadre::detail::forever);
    }
}

void unpark_a_thread_that_is_awake(benchmark::State& state) {
    auto& own = thread_control::current();
    own.unpark();
    for (auto _ : state) own.unpark();
    own.park_until(cadre::detail::forever);
}

/// There and back: two wake-ups, two threads that go to sleep.
void wake_each_other(benchmark::State& state) {
    auto& own = thread_control::current();
    std::atomic<int> turn = 0;  // 1: the other's, -1: it is over
    std::atomic<thread_control*> other = nullptr;
    std::thread thread([&] {
        auto& control = thread_control::current();
        other.store(&control);
        own.unpark();
        for (;;) {
            int now = turn.load();
            while (now == 0) {
                control.park_until(cadre::detail::forever);
                now = turn.load();
            }
            if (now < 0) return;
            turn.store(0);
            own.unpark();
        }
    });
    while (!other.load()) own.park_until(cadre::detail::forever);
    for (auto _ : state) {
        turn.store(1);
        other.load()->unpark();
        while (turn.load() != 0) own.park_until(cadre::detail::forever);
    }
    turn.store(-1);
    other.load()->unpark();
    thread.join();
}

}  // namespace

BENCHMARK(unpark_then_park);
BENCHMARK(unpark_a_thread_that_is_awake);
BENCHMARK(wake_each_other)->UseRealTime();
