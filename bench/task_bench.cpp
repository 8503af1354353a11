// SPDX-License-Identifier: Apache-2.0
//
// A task by the size of what it carries, beside std::function: made, moved, called, destroyed.

#include <array>
#include <cstddef>
#include <functional>
#include <utility>

#include <benchmark/benchmark.h>

#include <cadre/task.hpp>

namespace {

template <std::size_t Capture>
struct callable {
    std::array<unsigned char, Capture> captured = {};
    void operator()() const { benchmark::DoNotOptimize(captured[0]); }
};

template <class Task, std::size_t Capture>
void make_and_call(benchmark::State& state) {
    for (auto _ : state) {
        Task made{callable<Capture>()};
        Task moved(std::move(made));
        moved();
    }
}

}  // namespace

BENCHMARK(make_and_call<cadre::task, 8>);
BENCHMARK(make_and_call<cadre::task, 40>);
BENCHMARK(make_and_call<cadre::task, 48>);
BENCHMARK(make_and_call<cadre::task, 56>);
BENCHMARK(make_and_call<cadre::task, 200>);
BENCHMARK(make_and_call<std::function<void()>, 8>);
BENCHMARK(make_and_call<std::function<void()>, 48>);
