// SPDX-License-Identifier: Apache-2.0
//
// Nested work: a task that makes tasks, by one worker and by several. Time is for each task.

#include <atomic>

#include <benchmark/benchmark.h>

#include <cadre/work_stealing_pool.hpp>

namespace {

constexpr int depth = 14;
constexpr int tasks = (1 << (depth + 1)) - 1;

struct tree {
    cadre::work_stealing_pool* pool = nullptr;
    std::atomic<int> left = 0;

    void grow(int height) {
        if (height > 0) {
            pool->execute([this, height] { grow(height - 1); });
            pool->execute([this, height] { grow(height - 1); });
        }
        if (left.fetch_sub(1) == 1) left.notify_one();
    }
};

void a_tree_of_tasks(benchmark::State& state) {
    tree all;  // outlives the pool, and so the last of its tasks
    cadre::work_stealing_pool pool({.parallelism = static_cast<int>(state.range(0))});
    all.pool = &pool;
    while (state.KeepRunningBatch(tasks)) {
        all.left = tasks;
        pool.execute([&all] { all.grow(depth); });
        for (int left = tasks; left != 0; left = all.left) all.left.wait(left);
    }
}

/// Each get() runs the child in place, as nobody else has begun it.
int fibonacci(cadre::work_stealing_pool& pool, int n) {
    if (n < 2) return n;
    auto one = pool.submit([&pool, n] { return fibonacci(pool, n - 1); });
    const int other = fibonacci(pool, n - 2);
    return one.get() + other;
}

void fork_and_join(benchmark::State& state) {
    cadre::work_stealing_pool pool({.parallelism = static_cast<int>(state.range(0))});
    for (auto _ : state)
        benchmark::DoNotOptimize(pool.submit([&pool] { return fibonacci(pool, 15); }).get());
}

}  // namespace

BENCHMARK(a_tree_of_tasks)->Arg(1)->Arg(2)->Arg(4)->UseRealTime();
BENCHMARK(fork_and_join)->Arg(1)->Arg(2)->Arg(4)->UseRealTime();
