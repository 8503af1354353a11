// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "measure.hpp"
#include "pool_work.hpp"
#include "units.hpp"
#include "wire.hpp"

namespace bench {

/// Tasks that are counted down by one number, which knows when the first began and the last ended.
struct countdown {
    explicit countdown(long tasks) : all(tasks), left(tasks) {}
    void one_more() {
        if (!begun.load(std::memory_order_relaxed) && !begun.exchange(true)) begin = clock::now();
        if (left.fetch_sub(1) > 1) return;
        end = clock::now();
        over.store(true);
    }
    const long all;
    std::atomic<long> left;
    std::atomic<bool> begun = false;
    std::atomic<bool> over = false;
    clock::time_point begin;
    clock::time_point end;
};

/// An empty task with a capture of so many bytes, of which a pointer takes the first eight.
template <std::size_t Capture>
struct counted {
    countdown* tasks;
    std::array<unsigned char, Capture - sizeof(countdown*)> more = {};
    void operator()() const { tasks->one_more(); }
};

/// W9a: tasks are queued while the workers are held up; then these run them. How much memory a
/// queued one takes, and the time for queueing and for running, as their number grows.
template <class Pool>
answer play_queued(const request& asked) {
    const long tasks = asked.number("tasks", 2'000'000);
    const long workers = asked.number("workers", 1);
    auto pool = make_pool<Pool>(workers, tasks + workers);
    double bytes = 0;
    double filling = 0;
    double draining = 0;
    const auto once = [&]<std::size_t Capture> {
        std::latch held(workers);
        std::latch go(1);
        std::atomic<long> gone = 0;
        for (long i = 0; i < workers; ++i) {
            pool.execute([&] {
                held.count_down();
                go.wait();
                gone.fetch_add(1);
            });
        }
        held.wait();
        countdown counter(tasks);
        const double bytes_before = resident_bytes();
        const auto begin = clock::now();
        for (long i = 0; i < tasks; ++i) pool.execute(counted<Capture>{&counter});
        filling += seconds(clock::now() - begin);
        bytes = (resident_bytes() - bytes_before) / static_cast<double>(tasks);
        go.count_down();
        await([&] { return counter.over.load() && gone.load() == workers; });
        draining += seconds(counter.end - counter.begin);
    };
    for (long repeat = asked.number("repeats", 1); repeat > 0; --repeat) {
        const long capture = asked.number("capture", 8);
        with_capture(std::max(capture, 8l), [&]<std::size_t Capture> {
            once.template operator()<std::max(Capture, 8ul)>();
        });
    }
    return answer().add("bytes", bytes).add("fill_s", filling).add("drain_s", draining);
}

/// W9b: a pool all of whose threads have run something and are idle now. A pool of one thread came
/// before it: the pages of program and libc that any first thread maps are not what a pool takes.
template <class Pool>
answer play_idle(const request& asked) {
    const long workers = asked.number("workers", 100);
    const std::chrono::milliseconds span(asked.number("idle_ms", 500));
    {
        std::latch ran(1);
        auto first = make_pool<Pool>(1, 1);
        first.execute([&] { ran.count_down(); });
        ran.wait();
    }
    const double bytes_before = resident_bytes();
    auto pool = make_pool<Pool>(workers, workers);
    // Each task waits for all others, so each has a thread of its own; not for ever, though.
    std::mutex mutex;
    std::condition_variable all_are_here;
    long here = 0;
    std::atomic<long> gone = 0;
    for (long i = 0; i < workers; ++i) {
        pool.execute([&] {
            {
                std::unique_lock lock(mutex);
                if (++here == workers) all_are_here.notify_all();
                all_are_here.wait_for(lock, std::chrono::seconds(2),
                                      [&] { return here == workers; });
            }
            gone.fetch_add(1);
        });
    }
    await([&] { return gone.load() == workers; }, std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const double bytes = resident_bytes() - bytes_before;
    const double cpu_before = cpu_seconds();
    std::this_thread::sleep_for(span);
    const double cpu = cpu_seconds() - cpu_before;
    return answer().add("bytes", bytes).add("cpu_share", cpu / seconds(span));
}

/// The median time of `once()`, in microseconds.
template <class Once>
answer repeated(const request& asked, Once once) {
    std::vector<double> taken_us;
    for (long i = asked.number("repeats", 100); i > 0; --i) {
        const auto begin = clock::now();
        once();
        taken_us.push_back(seconds(clock::now() - begin) * 1e6);
    }
    const auto middle = taken_us.begin() + static_cast<std::ptrdiff_t>(taken_us.size() / 2);
    std::nth_element(taken_us.begin(), middle, taken_us.end());
    return answer().add("us", *middle);
}

/// W10: a pool is made, runs one task, and is destroyed.
template <class Pool>
answer play_life(const request& asked) {
    const long workers = asked.number("workers", 8);
    std::atomic<long> ran = 0;
    return repeated(asked, [&] {
        const long before = ran.load();
        {
            auto pool = make_pool<Pool>(workers, 1);
            pool.execute([&] {
                ran.fetch_add(1);
                ran.notify_one();
            });
        }
        ran.wait(before);  // for pools that do not wait for their tasks when they are destroyed
    });
}

}  // namespace bench
