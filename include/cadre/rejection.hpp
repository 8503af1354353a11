// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include <cadre/detail/export.hpp>
#include <cadre/task.hpp>

namespace cadre {

class thread_pool_executor;

/// What becomes of a task that a pool cannot take: it is saturated (every thread is busy, there
/// may be no more, and the queue is full) or shut down. Called on the submitting thread, under no
/// lock; what it throws reaches the submitter. A task that it drops is cancelled.
using rejected_execution_handler = std::function<void(task, thread_pool_executor&)>;

/// Throws rejected_execution.
struct CADRE_API abort_policy {
    void operator()(task t, thread_pool_executor& pool) const;
};

/// Runs the task in the thread that submits it, which slows the submitters down; drops it if the
/// pool is shut down. The task runs under whatever locks its submitter holds, and a task that
/// submits further tasks to a saturated pool runs them one inside the other: where that can go
/// deep, block_policy is the better choice.
struct CADRE_API caller_runs_policy {
    void operator()(task t, thread_pool_executor& pool) const;
};

/// Drops the task without a word.
struct CADRE_API discard_policy {
    void operator()(task t, thread_pool_executor& pool) const;
};

/// Drops the task at the head of the queue and tries again; drops the new one if the pool is
/// shut down. Throws rejected_execution if there is no task to drop.
struct CADRE_API discard_oldest_policy {
    void operator()(task t, thread_pool_executor& pool) const;
};

/// Waits for a place: throws rejected_execution if there is none in time, or if the pool is shut
/// down meanwhile. An interruption point. A task that waits like this for its own pool can hold
/// up the very worker it waits for: give such pools a timeout.
struct CADRE_API block_policy {
    std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
    void operator()(task t, thread_pool_executor& pool) const;
};

}  // namespace cadre
