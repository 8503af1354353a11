// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "measure.hpp"
#include "wire.hpp"

namespace bench {

/// A counter for each worker, so that empty tasks can be counted without a shared line of cache.
class worker_counters {
public:
    static void bump() {
        auto& own = counters()[own_index()].value;
        own.store(own.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    static long sum() {
        long all = 0;
        for (auto& counter : counters()) all += counter.value.load(std::memory_order_acquire);
        return all;
    }
    static void reset() {
        for (auto& counter : counters()) counter.value.store(0);
    }

private:
    struct alignas(64) counter {
        std::atomic<long> value = 0;
    };
    static constexpr std::size_t size = 128;  // more than there are workers at one time
    static std::array<counter, size>& counters() {
        static constinit std::array<counter, size> all;
        return all;
    }
    static std::size_t own_index() {
        static constinit std::atomic<std::size_t> next = 0;
        thread_local const std::size_t index = next.fetch_add(1) % size;
        return index;
    }
};

/// W1 and W3: producers execute empty tasks; until all have run.
template <class Pool>
answer play_execute(const request& asked) {
    const long tasks = asked.number("tasks", 1'000'000);
    const long producers = asked.number("producers", 1);
    const long each = tasks / producers;
    worker_counters::reset();
    Pool pool(static_cast<int>(asked.number("workers", 2)));
    const auto produce = [&] {
        for (long i = 0; i < each; ++i) pool.execute([] { worker_counters::bump(); });
    };
    const auto begin = clock::now();
    std::vector<std::thread> others;
    for (long i = 1; i < producers; ++i) others.emplace_back(produce);
    produce();
    for (auto& other : others) other.join();
    await([&] { return worker_counters::sum() >= each * producers; });
    return answer().add("seconds", seconds(clock::now() - begin));
}

/// W2: one producer submits tasks with results, then gets all.
template <class Pool>
answer play_submit(const request& asked) {
    const long tasks = asked.number("tasks", 500'000);
    Pool pool(static_cast<int>(asked.number("workers", 2)));
    const auto task = [](int i) { return [i] { return i & 7; }; };
    std::vector<decltype(pool.submit(task(0)))> results;
    results.reserve(static_cast<std::size_t>(tasks));
    long sum = 0;
    const auto begin = clock::now();
    for (long i = 0; i < tasks; ++i) results.push_back(pool.submit(task(static_cast<int>(i))));
    for (auto& result : results) sum += result.get();
    const auto took = clock::now() - begin;
    if (sum != tasks / 8 * 28) throw std::runtime_error("the results are wrong");
    return answer().add("seconds", seconds(took));
}

}  // namespace bench
