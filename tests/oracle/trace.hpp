// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace oracle {

/// Records what happened, on whichever thread. On the driver's own it gets " @caller" behind it,
/// save `terminated`, which may fall to either side.
void event(const std::string& what);
/// The events since the last call, sorted.
std::vector<std::string> take_events();
bool is_driver_thread();

/// Counts a task as asleep: nothing is settled while one is.
class [[nodiscard]] busy_scope {
public:
    busy_scope();
    ~busy_scope();
    busy_scope(const busy_scope&) = delete;
    busy_scope& operator=(const busy_scope&) = delete;
};

/// Waits until nothing has changed for 60 ms, neither an event nor `snapshot`, and no task is
/// asleep; for 5 s at most.
void settle(const std::function<std::string()>& snapshot);

/// How the trace shows an error: "! " and its name.
std::string fail(const std::exception_ptr& error);

/// Runs `operation` on a thread of its own and records `what -> ` its result or error.
void background(const std::string& what, std::function<std::string()> operation);
/// Interrupts all threads of background().
void interrupt_waiters();

/// [A B C]
std::string bracketed(const std::vector<std::string>& names);
inline const char* text(bool value) { return value ? "true" : "false"; }

}  // namespace oracle
