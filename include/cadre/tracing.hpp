// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

#include <cadre/detail/export.hpp>
#include <cadre/task.hpp>

namespace cadre {

/// Records the lives of tasks: when and where each was submitted, started and ended, or that it was
/// dropped. They can be looked at in Perfetto (ui.perfetto.dev) or chrome://tracing: a row for each
/// thread, a bar for each run, and an arrow to it from a mark where the task was submitted.
///
///     cadre::task_tracer tracer;
///     cadre::thread_pool_executor pool({.core_pool_size = 4,
///         .hooks = {.decorate_task = tracer.decorator("orders")}, .name = "orders"});
///     ...
///     std::ofstream file("trace.json");
///     tracer.write_json(file);
///
/// Give tasks names, with cadre::named: the bars show them. Memory is bounded: when it is full the
/// oldest lives are dropped, and counted. Each traced task costs an allocation, three looks at the
/// clock and a short lock. All members may be called from any thread, and the tracer may go before
/// the pools that it traces.
class CADRE_API task_tracer {
public:
    /// Keeps so many lives, of some 150 bytes each. Throws std::invalid_argument if that is 0.
    explicit task_tracer(std::size_t capacity = 1 << 16);

    /// For pool_hooks::decorate_task, of as many pools as you like; `category` tells them apart. Of
    /// a periodic task each run is a life, which begins at the end of the one before.
    std::function<task(task)> decorator(std::string category = "cadre") const;

    /// Writes what is recorded now in the JSON format of Chrome's trace viewer. Times are in
    /// microseconds since the tracer was made.
    void write_json(std::ostream& out) const;

    /// How many lives are recorded.
    std::size_t size() const;
    /// How many were dropped for want of room since the tracer was made or cleared.
    std::uint64_t dropped() const;
    void clear();

private:
    class recorder;
    std::shared_ptr<recorder> recorder_;
};

}  // namespace cadre
