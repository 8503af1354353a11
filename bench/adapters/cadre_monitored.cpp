// SPDX-License-Identifier: Apache-2.0
// link: cadre::manage
//
// What a monitor costs: cadre's default pool with one and without, in one process.

#include <algorithm>
#include <chrono>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include <cadre/manage/pool_monitor.hpp>
#include <cadre/thread_pool_executor.hpp>

#include "peer.hpp"

namespace {

/// After it a monitor that has seen many tiny tasks does not tick any more, which would cost
/// whoever plays next.
constexpr std::chrono::milliseconds until_calm{25};

/// What some tasks took.
struct cost {
    double seconds = 0;
    double cpu = 0;  // of all threads, in seconds
};

double median(const std::vector<cost>& all, double cost::*which) {
    std::vector<double> values;
    for (const auto& one : all) values.push_back(one.*which);
    std::sort(values.begin(), values.end());
    return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

struct linked_pool : cadre::thread_pool_executor {
    explicit linked_pool(int workers, cadre::pool_hooks hooks = {})
        : thread_pool_executor({.core_pool_size = workers, .hooks = std::move(hooks)}) {
        prestart_all_core_threads();
    }
    void await_all(long tasks) {
        bench::await([&] { return snapshot().completed_task_count >= tasks; });
    }
};

/// Empty tasks, from the first execute until the last has run.
cost play_empty(linked_pool& pool, long tasks) {
    const auto before = pool.snapshot().completed_task_count;
    const auto begin = bench::clock::now();
    const double used = bench::cpu_seconds();
    for (long i = 0; i < tasks; ++i) pool.execute([] {});
    pool.await_all(before + tasks);
    return {bench::seconds(bench::clock::now() - begin), bench::cpu_seconds() - used};
}

/// The same, but the workers are held up until all are queued: how far the producer gets ahead of
/// them, which decides more than a monitor does, is left out.
cost play_queued_first(linked_pool& pool, int workers, long tasks) {
    const auto before = pool.snapshot().completed_task_count;
    std::latch held(workers);
    std::latch go(1);
    for (int i = 0; i < workers; ++i) {
        pool.execute([&] {
            held.count_down();
            go.wait();
        });
    }
    held.wait();
    const auto begin = bench::clock::now();
    const double used = bench::cpu_seconds();
    for (long i = 0; i < tasks; ++i) pool.execute([] {});
    go.count_down();
    pool.await_all(before + workers + tasks);
    return {bench::seconds(bench::clock::now() - begin), bench::cpu_seconds() - used};
}

/// W11: without a monitor, twice with one, and without, so that what the machine does meanwhile
/// hits both; so several times, and the median of each. The pools are made for it, so that the luck
/// of where they lie is another each time.
bench::answer play_monitored(const bench::request& asked) {
    const long tasks = asked.number("tasks", 1'000'000);
    const int workers = static_cast<int>(asked.number("workers", 2));
    const bool queued_first = asked.text("queued", "meanwhile") == "first";
    const cadre::manage::pool_monitor monitor;
    linked_pool plain(workers);
    linked_pool monitored(workers, monitor.hooks());
    const auto play = [&](bool with_monitor) {
        auto& pool = with_monitor ? monitored : plain;
        const cost took =
            queued_first ? play_queued_first(pool, workers, tasks) : play_empty(pool, tasks);
        if (with_monitor) std::this_thread::sleep_for(until_calm);
        return took;
    };
    play(false);  // for their memory
    play(true);
    std::vector<cost> without;
    std::vector<cost> with;
    for (long i = 0; i < asked.number("repeats", 3); ++i)
        for (const bool with_monitor : {false, true, true, false})
            (with_monitor ? with : without).push_back(play(with_monitor));
    const double ns = 1e9 / static_cast<double>(tasks);
    return bench::answer()
        .add("seconds", median(without, &cost::seconds))
        .add("monitored_s", median(with, &cost::seconds))
        .add("cpu_ns", median(without, &cost::cpu) * ns)
        .add("monitored_cpu_ns", median(with, &cost::cpu) * ns);
}

}  // namespace

bench::peer bench::this_peer() { return bench::peer("cadre").play("W11", play_monitored); }
