// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <vector>

#include "measure.hpp"
#include "wire.hpp"

namespace bench {

/// W8a: makes timers that are hours off, then cancels all, in the order made or shuffled, until
/// nothing is left of them in the scheduler. The handles are dropped when the clock has stopped,
/// as a garbage collector would.
template <class Timers>
answer play_churn(const request& asked) {
    const auto size = static_cast<std::size_t>(asked.number("timers", 1'000'000));
    random_numbers random(1);
    std::vector<std::chrono::nanoseconds> delays(size);
    for (auto& delay : delays)
        delay = std::chrono::hours(1) + std::chrono::nanoseconds(random.below(3'600'000'000'000));
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (asked.text("order", "made") == "shuffled") order = shuffled(size, random);

    Timers timers(1);
    std::vector<typename Timers::handle> handles;
    clock::duration inserting = {};
    clock::duration cancelling = {};
    for (long repeat = asked.number("repeats", 1); repeat > 0; --repeat) {
        handles.clear();
        handles.reserve(size);
        const auto begin = clock::now();
        for (const auto delay : delays) handles.push_back(timers.after(delay, [] {}));
        const auto inserted = clock::now();
        for (const std::size_t i : order) timers.cancel(handles[i]);
        timers.settle();
        inserting += inserted - begin;
        cancelling += clock::now() - inserted;
    }
    timers.stop();
    return answer().add("insert_s", seconds(inserting)).add("cancel_s", seconds(cancelling));
}

/// W8b: how late one-shots start that are spread over a span of time.
template <class Timers>
answer play_lateness(const request& asked) {
    struct shot {
        clock::time_point due;
        clock::time_point started;
    };
    std::vector<shot> shots(static_cast<std::size_t>(asked.number("timers", 1000)));
    const std::chrono::milliseconds span(asked.number("span_ms", 500));
    random_numbers random(2);
    std::vector<std::chrono::nanoseconds> delays(shots.size());
    for (auto& delay : delays)
        delay = std::chrono::nanoseconds(
            random.below(static_cast<std::uint64_t>(std::chrono::nanoseconds(span).count())));

    Timers timers(1);
    std::atomic<std::size_t> left = shots.size();
    std::vector<typename Timers::handle> handles;
    handles.reserve(shots.size());
    for (std::size_t i = 0; i < shots.size(); ++i) {
        shot& s = shots[i];
        s.due = clock::now() + delays[i];
        handles.push_back(timers.after(delays[i], [&s, &left] {
            s.started = clock::now();
            left.fetch_sub(1);
        }));
    }
    std::this_thread::sleep_for(span);
    await([&] { return left.load() == 0; }, std::chrono::milliseconds(1));
    timers.stop();
    std::vector<double> late_us;
    for (const shot& s : shots) late_us.push_back(seconds(s.started - s.due) * 1e6);
    return answer().add("late_us", late_us);
}

/// W8c: periodic tasks at a fixed rate. Each counts its own runs; those beyond the expected number
/// are not counted in. The look at the end comes half a period after the last expected run.
template <class Timers>
answer play_periodic(const request& asked) {
    const auto size = static_cast<std::size_t>(asked.number("tasks", 2000));
    const std::chrono::milliseconds period(asked.number("period_ms", 10));
    const std::chrono::seconds span(asked.number("seconds", 5));
    const long expected = span / period;

    Timers timers(static_cast<int>(asked.number("workers", 2)));
    std::vector<std::atomic<long>> runs(size);
    std::vector<typename Timers::handle> handles;
    handles.reserve(size);
    const double cpu_before = cpu_seconds();
    for (auto& own : runs) {
        handles.push_back(timers.every(period, [&own] {
            own.store(own.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        }));
    }
    std::this_thread::sleep_for(span + period / 2);
    long counted = 0;
    for (const auto& own : runs) counted += std::min(own.load(), expected);
    const double cpu_used = cpu_seconds() - cpu_before;
    timers.stop();
    const double all = static_cast<double>(expected) * static_cast<double>(size);
    return answer().add("share", static_cast<double>(counted) / all).add("cpu_s", cpu_used);
}

}  // namespace bench
