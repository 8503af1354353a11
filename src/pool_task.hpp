// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <string>

#include <cadre/detail/future_core.hpp>
#include <cadre/task.hpp>

#include "result_of.hpp"

namespace cadre::detail {

/// What the hook makes of a task, with the identity, name and priority of that task. Throws
/// std::invalid_argument if that is an empty task.
task decorated(const std::function<task(task)>& decorate_task, task t);

/// The task with a stamp, for task_access::stamp().
task stamped(task t, std::int64_t stamp);

/// How an error message calls a task: by its name, if it has one.
std::string called(const task& t);

/// True for `interrupted`.
bool is_interruption(const std::exception_ptr& error) noexcept;

}  // namespace cadre::detail
