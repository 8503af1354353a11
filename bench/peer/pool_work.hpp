// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <stdexcept>
#include <thread>
#include <vector>

#include "counters.hpp"
#include "measure.hpp"
#include "units.hpp"
#include "wire.hpp"

namespace bench {

/// How many tasks may be queued at most.
struct room {
    int tasks;
};

/// A pool; one that has to know beforehand has room for so many tasks.
template <class Pool>
Pool make_pool(long workers, long tasks) {
    if constexpr (std::constructible_from<Pool, int, room>)
        return Pool(static_cast<int>(workers), room{static_cast<int>(tasks)});
    else
        return Pool(static_cast<int>(workers));
}

/// Has every worker run something, for pools that start their threads with the first tasks.
template <class Pool>
void start_workers(Pool& pool, long workers) {
    worker_counters::reset();
    for (long i = 0; i < workers; ++i) pool.execute(carrying<0>());
    await([&] { return worker_counters::sum() >= workers; });
}

/// The producers call `produce(count)`, each for its share of the tasks, in bursts with pauses if
/// the request says so. Returns the seconds until all have run, pauses left out.
template <class Produce>
double until_all_ran(const request& asked, Produce produce) {
    const long producers = asked.number("producers", 1);
    const long tasks = asked.number("tasks", 1'000'000) / producers * producers;
    const long burst = asked.number("burst", tasks) / producers * producers;
    const std::chrono::microseconds pause(asked.number("pause_us", 0));
    if (burst < 1) throw std::invalid_argument("burst must be at least the number of producers");
    worker_counters::reset();
    double took = 0;
    for (long given = 0; given < tasks;) {
        const long now = std::min(burst, tasks - given);
        const auto begin = clock::now();
        std::vector<std::thread> others;
        for (long i = 1; i < producers; ++i) others.emplace_back([&] { produce(now / producers); });
        produce(now / producers);
        for (auto& other : others) other.join();
        given += now;
        await([&] { return worker_counters::sum() >= given; });
        took += seconds(clock::now() - begin);
        if (given < tasks) std::this_thread::sleep_for(pause);
    }
    return took;
}

/// W1 and W3: producers execute empty tasks. A pool with execute_bulk(f, n) is given bulks.
template <class Pool>
answer play_execute(const request& asked) {
    const long workers = asked.number("workers", 2);
    auto pool = make_pool<Pool>(workers, asked.number("tasks", 1'000'000));
    start_workers(pool, workers);
    return with_capture(asked.number("capture", 0), [&]<std::size_t Capture> {
        const double took = until_all_ran(asked, [&](long count) {
            if constexpr (requires { pool.execute_bulk(carrying<Capture>(), 1l); }) {
                constexpr long bulk = 32;
                for (long i = 0; i < count; i += bulk)
                    pool.execute_bulk(carrying<Capture>(), std::min(bulk, count - i));
            } else {
                for (long i = 0; i < count; ++i) pool.execute(carrying<Capture>());
            }
        });
        return answer().add("seconds", took);
    });
}

/// W6: tasks that work for some time; every so many of them, if asked, for a longer time.
template <class Pool>
answer play_work(const request& asked) {
    const double rate = turns_per_microsecond();
    const auto turns = [&](const char* key) {
        return static_cast<long>(rate * static_cast<double>(asked.number(key, 1000)) / 1000);
    };
    const long usual = turns("work_ns");
    const long longer = turns("long_ns");
    const long every = asked.number("long_every", 0);
    const long workers = asked.number("workers", 2);
    auto pool = make_pool<Pool>(workers, asked.number("tasks", 200'000));
    start_workers(pool, workers);
    const double took = until_all_ran(asked, [&](long count) {
        for (long i = 1; i <= count; ++i) {
            const long own = every > 0 && i % every == 0 ? longer : usual;
            pool.execute([own] {
                turn(own);
                worker_counters::bump();
            });
        }
    });
    return answer().add("seconds", took);
}

template <std::size_t Capture>
struct returning : carrying<Capture> {
    int value = 0;
    int operator()() const { return value; }
};

/// W2: one producer submits tasks with results, then gets all. A pool that is no match for so
/// many has a `most_submits`, and plays as many as that.
template <class Pool>
answer play_submit(const request& asked) {
    long tasks = asked.number("tasks", 500'000);
    if constexpr (requires { Pool::most_submits; }) tasks = std::min(tasks, Pool::most_submits);
    auto pool = make_pool<Pool>(asked.number("workers", 2), tasks);
    return with_capture(asked.number("capture", 0), [&]<std::size_t Capture> {
        const auto task = [](long i) {
            returning<Capture> made;
            made.value = static_cast<int>(i & 7);
            return made;
        };
        std::vector<decltype(pool.submit(task(0)))> results;
        results.reserve(static_cast<std::size_t>(tasks));
        long sum = 0;
        const auto begin = clock::now();
        for (long i = 0; i < tasks; ++i) results.push_back(pool.submit(task(i)));
        for (auto& result : results) sum += result.get();
        const auto took = clock::now() - begin;
        for (long i = 0; i < tasks; ++i) sum -= i & 7;
        if (sum != 0) throw std::runtime_error("the results are wrong");
        return answer().add("seconds", seconds(took)).add("tasks", static_cast<double>(tasks));
    });
}

/// A task that spawns two smaller ones.
template <class Pool>
struct fib_task {
    Pool* pool;
    std::atomic<long>* left;
    int n;
    void operator()() const {
        if (n >= 2) {
            pool->execute(fib_task{pool, left, n - 1});
            pool->execute(fib_task{pool, left, n - 2});
        }
        left->fetch_sub(1, std::memory_order_release);
    }
};

inline long fib_tasks(int n) { return n < 2 ? 1 : 1 + fib_tasks(n - 1) + fib_tasks(n - 2); }

/// W4: tasks that make tasks.
template <class Pool>
answer play_nested(const request& asked) {
    const int n = static_cast<int>(asked.number("n", 24));
    const long tasks = fib_tasks(n);
    auto pool = make_pool<Pool>(asked.number("workers", 2), tasks);
    // Not beside the pool, which every task reads.
    struct alignas(64) {
        std::atomic<long> value;
    } counter = {tasks};
    std::atomic<long>& left = counter.value;
    const auto begin = clock::now();
    pool.execute(fib_task<Pool>{&pool, &left, n});
    await([&] { return left.load(std::memory_order_acquire) == 0; });
    const double took = seconds(clock::now() - begin);
    return answer().add("seconds", took).add("tasks", static_cast<double>(tasks));
}

/// W7: a bounded queue; Pool says what becomes of a task that finds it full.
template <class Pool>
answer play_bounded(const request& asked) {
    const int workers = static_cast<int>(asked.number("workers", 2));
    Pool pool(workers, static_cast<int>(asked.number("capacity", 1024)));
    start_workers(pool, workers);
    const double took = until_all_ran(asked, [&](long count) {
        for (long i = 0; i < count; ++i) pool.execute(carrying<0>());
    });
    return answer().add("seconds", took);
}

}  // namespace bench
