// SPDX-License-Identifier: Apache-2.0
//
// Each queue of tasks: in and out again on one thread, at several lengths; and from threads that
// put to as many that take.

#include <memory>
#include <type_traits>

#include <benchmark/benchmark.h>

#include <cadre/queue/array_blocking_queue.hpp>
#include <cadre/queue/linked_blocking_deque.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>
#include <cadre/queue/linked_transfer_queue.hpp>
#include <cadre/queue/priority_blocking_queue.hpp>
#include <cadre/queue/synchronous_queue.hpp>
#include <cadre/task.hpp>

namespace {

using cadre::task;

using array_queue = cadre::array_blocking_queue<task>;
using linked_queue = cadre::linked_blocking_queue<task>;
using deque = cadre::linked_blocking_deque<task>;
using transfer_queue = cadre::linked_transfer_queue<task>;
using priority_queue = cadre::priority_blocking_queue<task>;
using synchronous = cadre::synchronous_queue<task>;

template <class Queue>
std::unique_ptr<Queue> make_queue() {
    if constexpr (std::is_same_v<Queue, array_queue>)
        return std::make_unique<Queue>(1 << 20);
    else
        return std::make_unique<Queue>();
}

template <class Queue>
void offer_and_poll(benchmark::State& state) {
    const auto queue = make_queue<Queue>();
    for (auto i = state.range(0); i > 0; --i) queue->put([] {});
    for (auto _ : state) {
        queue->put([] {});
        benchmark::DoNotOptimize(queue->poll());
    }
}

/// Half of the threads put, the other half take, each as often.
template <class Queue>
void hand_over(benchmark::State& state) {
    static std::unique_ptr<Queue> queue;
    if (state.thread_index() == 0) queue = make_queue<Queue>();
    const bool puts = state.thread_index() % 2 == 0;
    for (auto _ : state) {
        if (puts)
            queue->put([] {});
        else
            benchmark::DoNotOptimize(queue->take());
    }
    if (puts) state.SetItemsProcessed(state.iterations());
}

}  // namespace

BENCHMARK(offer_and_poll<array_queue>)->Arg(0)->Arg(1000)->Arg(100'000);
BENCHMARK(offer_and_poll<linked_queue>)->Arg(0)->Arg(1000)->Arg(100'000);
BENCHMARK(offer_and_poll<deque>)->Arg(0)->Arg(1000)->Arg(100'000);
BENCHMARK(offer_and_poll<transfer_queue>)->Arg(0)->Arg(1000)->Arg(100'000);
BENCHMARK(offer_and_poll<priority_queue>)->Arg(0)->Arg(1000)->Arg(100'000);

BENCHMARK(hand_over<array_queue>)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK(hand_over<linked_queue>)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK(hand_over<deque>)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK(hand_over<transfer_queue>)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK(hand_over<priority_queue>)->Threads(2)->Threads(8)->UseRealTime();
BENCHMARK(hand_over<synchronous>)->Threads(2)->UseRealTime();
