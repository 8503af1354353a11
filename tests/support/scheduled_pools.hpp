// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "support/eventually.hpp"
#include <cadre/scheduled_thread_pool_executor.hpp>

namespace cadre::testing {

/// A pool on a clock of the test's. What is left in it when the test ends is given up, for a clock
/// that stands still would let the destructor wait for ever.
class scheduled_pool : public scheduled_thread_pool_executor {
public:
    using scheduled_thread_pool_executor::scheduled_thread_pool_executor;
    scheduled_pool(scheduler_clock& clock, int threads = 1)
        : scheduled_thread_pool_executor({.core_pool_size = threads, .clock = &clock}) {}
    ~scheduled_pool() override { shutdown_now(); }
};

/// The names of the tasks in the queue, sorted.
inline std::vector<std::string> queued_names(const scheduled_thread_pool_executor& pool) {
    std::vector<std::string> names;
    pool.queue().for_each([&](const task& t) { names.emplace_back(t.name()); });
    std::sort(names.begin(), names.end());
    return names;
}

/// Waits until a task runs.
template <class T>
bool starts(const future<T>& result) {
    return eventually([&] { return result.state() == future_state::running; });
}

/// Waits until a pool has completed so many tasks.
inline bool has_completed(const scheduled_thread_pool_executor& pool, std::int64_t tasks) {
    return eventually([&] { return pool.completed_task_count() >= tasks; });
}

}  // namespace cadre::testing
