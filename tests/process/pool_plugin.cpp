// SPDX-License-Identifier: Apache-2.0
//
// A library with pools, for unload_pools.

#include <cadre/cadre.hpp>

#include <atomic>
#include <memory>

using namespace std::chrono_literals;

namespace {

std::unique_ptr<cadre::thread_pool_executor> workers;
std::unique_ptr<cadre::scheduled_thread_pool_executor> timers;
std::atomic<int> beats = 0;

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void open_pools() {
    workers = std::make_unique<cadre::thread_pool_executor>(
        cadre::thread_pool_options{.core_pool_size = 2});
    timers = std::make_unique<cadre::scheduled_thread_pool_executor>(1);
    timers->schedule_at_fixed_rate([] { ++beats; }, 0ms, 1ms);
}

[[gnu::visibility("default")]] int twice(int number) {
    return workers->submit([number] { return 2 * number; }).get();
}

/// The calling thread is known to cadre from then on.
[[gnu::visibility("default")]] bool is_interrupted() {
    return cadre::this_thread::is_interrupted();
}

[[gnu::visibility("default")]] void close_pools() {
    timers.reset();
    workers.reset();
}
}
