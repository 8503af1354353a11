// SPDX-License-Identifier: Apache-2.0
//
// The two ends of a pool, each on one thread: what a submitter pays while the only worker is held
// up, and what a worker pays that finds tasks queued.

#include <array>
#include <cstdint>
#include <latch>
#include <memory>

#include <benchmark/benchmark.h>

#include <cadre/queue/array_blocking_queue.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>
#include <cadre/rejection.hpp>
#include <cadre/thread_pool_executor.hpp>

namespace {

constexpr int batch = 4096;

cadre::thread_pool_options one_worker(std::unique_ptr<cadre::blocking_queue<cadre::task>> queue) {
    return {.core_pool_size = 1, .maximum_pool_size = 1, .queue = std::move(queue)};
}
auto linked() { return std::make_unique<cadre::linked_blocking_queue<cadre::task>>(); }
auto array(int capacity) {
    return std::make_unique<cadre::array_blocking_queue<cadre::task>>(capacity);
}

/// Keeps the only worker busy while it lives.
class held_worker {
public:
    explicit held_worker(cadre::thread_pool_executor& pool) {
        pool.execute([this] {
            begun_.count_down();
            go_.wait();
        });
        begun_.wait();
    }
    ~held_worker() { go_.count_down(); }
    held_worker(const held_worker&) = delete;
    held_worker& operator=(const held_worker&) = delete;

private:
    std::latch begun_{1};
    std::latch go_{1};
};

/// Batches of submissions; between them the worker runs them, outside the time that counts.
template <class Submit>
void submit_batches(benchmark::State& state, Submit submit) {
    cadre::thread_pool_executor pool(one_worker(linked()));
    while (state.KeepRunningBatch(batch)) {
        state.PauseTiming();
        {
            const held_worker held(pool);
            state.ResumeTiming();
            for (int i = 0; i < batch; ++i) submit(pool);
            state.PauseTiming();
        }
        pool.submit([] {}).get();
        state.ResumeTiming();
    }
}

template <std::size_t Capture>
void execute(benchmark::State& state) {
    submit_batches(state, [](auto& pool) {
        pool.execute([held = std::array<char, Capture>{}] { benchmark::DoNotOptimize(&held); });
    });
}

void submit_and_drop_the_future(benchmark::State& state) {
    submit_batches(state, [](auto& pool) { static_cast<void>(pool.submit([] { return 1; })); });
}

void run_what_is_queued(benchmark::State& state) {
    cadre::thread_pool_executor pool(one_worker(linked()));
    while (state.KeepRunningBatch(batch)) {
        state.PauseTiming();
        {
            const held_worker held(pool);
            for (int i = 0; i < batch; ++i) pool.execute([] {});
            state.ResumeTiming();
        }
        pool.submit([] {}).get();
    }
}

void rejected_and_run_by_the_caller(benchmark::State& state) {
    auto options = one_worker(array(1));
    options.rejection = cadre::caller_runs_policy{};
    cadre::thread_pool_executor pool(std::move(options));
    const held_worker held(pool);
    pool.execute([] {});  // the queue is full
    for (auto _ : state) pool.execute([] {});
}

void snapshot(benchmark::State& state) {
    cadre::thread_pool_executor pool(one_worker(linked()));
    pool.prestart_all_core_threads();
    for (auto _ : state) benchmark::DoNotOptimize(pool.snapshot());
}

void make_run_one_task_destroy(benchmark::State& state) {
    for (auto _ : state) {
        cadre::thread_pool_executor pool(one_worker(linked()));
        pool.execute([] {});
    }
}

}  // namespace

BENCHMARK(execute<8>);
BENCHMARK(execute<48>);
BENCHMARK(execute<56>);
BENCHMARK(execute<200>);
BENCHMARK(submit_and_drop_the_future);
BENCHMARK(run_what_is_queued)->UseRealTime();
BENCHMARK(rejected_and_run_by_the_caller);
BENCHMARK(snapshot);
BENCHMARK(make_run_one_task_destroy)->UseRealTime();
