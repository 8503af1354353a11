// SPDX-License-Identifier: Apache-2.0
//
// The heap of the scheduler: a timer comes and goes while so many others wait.

#include <chrono>
#include <vector>

#include <benchmark/benchmark.h>

#include <cadre/scheduled_thread_pool_executor.hpp>

namespace {

using namespace std::chrono_literals;

/// Times from an hour on, in no order.
std::chrono::nanoseconds far_off(std::size_t i) {
    return 1h + std::chrono::nanoseconds(i * 2'654'435'761u % 3'600'000'000'000u);
}

void schedule_and_cancel(benchmark::State& state) {
    cadre::scheduled_thread_pool_executor pool({.core_pool_size = 1, .remove_on_cancel = true});
    std::vector<cadre::scheduled_future<void>> waiting;
    for (std::size_t i = 0; i < static_cast<std::size_t>(state.range(0)); ++i)
        waiting.push_back(pool.schedule([] {}, far_off(i)));
    std::size_t next = waiting.size();
    for (auto _ : state) pool.schedule([] {}, far_off(++next)).cancel();
    pool.shutdown_now();
}

}  // namespace

BENCHMARK(schedule_and_cancel)->Arg(0)->Arg(1000)->Arg(100'000)->Arg(1'000'000);
