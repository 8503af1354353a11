// SPDX-License-Identifier: Apache-2.0
//
// A result without a pool: made, run, got, on one thread; beside std::packaged_task.

#include <future>

#include <benchmark/benchmark.h>

#include <cadre/future.hpp>

namespace {

template <class Task>
void make_run_get(benchmark::State& state) {
    for (auto _ : state) {
        Task task([] { return 1; });
        auto result = task.get_future();
        task();
        benchmark::DoNotOptimize(result.get());
    }
}

void get_of_a_ready_shared_future(benchmark::State& state) {
    cadre::future_task<int> task([] { return 1; });
    const auto result = task.get_future().share();
    task();
    for (auto _ : state) benchmark::DoNotOptimize(result.get());
}

void cancel(benchmark::State& state) {
    for (auto _ : state) {
        cadre::future_task<int> task([] { return 1; });
        auto result = task.get_future();
        benchmark::DoNotOptimize(result.cancel());
    }
}

void then(benchmark::State& state) {
    for (auto _ : state) {
        cadre::future_task<int> task([] { return 1; });
        auto result = task.get_future().then([](int value) { return value + 1; });
        task();
        benchmark::DoNotOptimize(result.get());
    }
}

}  // namespace

BENCHMARK(make_run_get<cadre::future_task<int>>);
BENCHMARK(make_run_get<std::packaged_task<int()>>);
BENCHMARK(get_of_a_ready_shared_future);
BENCHMARK(cancel);
BENCHMARK(then);
