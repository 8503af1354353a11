// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "measure.hpp"
#include "pool_work.hpp"
#include "wire.hpp"

namespace bench {

/// Plays `sample()`, which returns seconds, once in a while on an idle pool, and tells the figures
/// with what the process used of the processors for each. The first ones do not count.
template <class Sample>
answer sampled(const request& asked, std::chrono::microseconds between, Sample sample) {
    const long samples = asked.number("samples", 300);
    std::vector<double> taken_us;
    double cpu_before = 0;
    for (long i = -20; i < samples; ++i) {
        if (i == 0) cpu_before = cpu_seconds();
        std::this_thread::sleep_for(between);
        const double took = sample();
        if (i >= 0) taken_us.push_back(took * 1e6);
    }
    const double cpu_us = (cpu_seconds() - cpu_before) * 1e6 / static_cast<double>(samples);
    return answer().add("us", taken_us).add("cpu_us", cpu_us);
}

/// W5a: from before execute() to the first line of the task. The producer sleeps meanwhile.
template <class Pool>
answer play_start(const request& asked) {
    auto pool = make_pool<Pool>(asked.number("workers", 2), 1);
    const std::chrono::microseconds half(asked.number("interval_us", 1000) / 2);
    return sampled(asked, half, [&] {
        std::atomic<bool> over = false;
        clock::time_point started;
        const auto begin = clock::now();
        pool.execute([&] {
            started = clock::now();
            over.store(true, std::memory_order_release);
        });
        await([&] { return over.load(std::memory_order_acquire); }, half);
        return seconds(started - begin);
    });
}

/// W5b: submit and get.
template <class Pool>
answer play_round_trip(const request& asked) {
    auto pool = make_pool<Pool>(asked.number("workers", 2), 1);
    const std::chrono::microseconds between(asked.number("interval_us", 1000));
    return sampled(asked, between, [&] {
        const auto begin = clock::now();
        pool.submit([] { return 1; }).get();
        return seconds(clock::now() - begin);
    });
}

}  // namespace bench
