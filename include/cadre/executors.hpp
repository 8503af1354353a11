// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include <cadre/completion_service.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/executor.hpp>
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/task.hpp>
#include <cadre/thread.hpp>
#include <cadre/thread_pool_executor.hpp>
#include <cadre/work_stealing_pool.hpp>

/// Pools for the usual needs. Convenient, and each with a danger that is told beside it: what
/// serves in production usually wants a bounded queue, a maximum and a policy of its own, that is
/// a thread_pool_executor made by hand.
///
/// All throw std::invalid_argument for a thread count that is not positive or an empty factory.
namespace cadre::executors {

/// `threads` threads on an unbounded queue. Danger: when tasks come faster than they are run, the
/// queue grows until memory runs out, and no task is ever rejected.
CADRE_API std::unique_ptr<thread_pool_executor> fixed_thread_pool(
    int threads, thread_factory factory = default_thread_factory());

/// One thread on an unbounded queue: tasks run in the order they came, one at a time, also after
/// one has thrown and the thread was replaced. It cannot be reconfigured, not even by a cast, so
/// the order can be relied on. Danger: the queue, as with fixed_thread_pool; and one slow task
/// holds up all others.
CADRE_API std::unique_ptr<executor_service> single_thread_executor(
    thread_factory factory = default_thread_factory());

/// A thread for every task that finds none idle; threads leave after 60 idle seconds. For many
/// short tasks. Danger: nothing bounds the number of threads; a burst of tasks that block makes
/// as many threads as there are tasks, until the system refuses and tasks are rejected.
CADRE_API std::unique_ptr<thread_pool_executor> cached_thread_pool(
    thread_factory factory = default_thread_factory());

/// Up to `threads` threads, each with a deque of its own, for tasks that submit tasks and wait for
/// them: a get() inside runs other tasks meanwhile. Danger: tasks start in no particular order,
/// what is queued has no bound, and a task may run on top of another that waits.
CADRE_API std::unique_ptr<cadre::work_stealing_pool> work_stealing_pool(
    int threads = available_processors(), thread_factory factory = default_thread_factory());

/// `threads` threads (zero: one when there is work) for delayed and periodic tasks. Danger: the
/// queue is unbounded; and a task that outlasts its period keeps a thread from the others.
CADRE_API std::unique_ptr<scheduled_thread_pool_executor> scheduled_thread_pool(
    int threads, thread_factory factory = default_thread_factory());

/// One thread for delayed and periodic tasks, which cannot be reconfigured. Danger: one slow task
/// makes all others late.
CADRE_API std::unique_ptr<scheduled_executor_service> single_thread_scheduled_executor(
    thread_factory factory = default_thread_factory());

/// The same service without its settings: a cast does not find the pool behind it. Throws
/// std::invalid_argument if there is none.
CADRE_API std::unique_ptr<executor_service> unconfigurable(
    std::unique_ptr<executor_service> service);
CADRE_API std::unique_ptr<scheduled_executor_service> unconfigurable(
    std::unique_ptr<scheduled_executor_service> service);
/// So that a scheduled pool stays a scheduled service.
inline std::unique_ptr<scheduled_executor_service> unconfigurable(
    std::unique_ptr<scheduled_thread_pool_executor> service) {
    return unconfigurable(std::unique_ptr<scheduled_executor_service>(std::move(service)));
}

/// There is none: throws std::invalid_argument.
inline std::unique_ptr<executor_service> unconfigurable(std::nullptr_t) {
    return unconfigurable(std::unique_ptr<executor_service>());
}

/// A callable that runs `f` and returns `value`, for where a result is asked for. Throws
/// std::invalid_argument if f is empty.
template <class F, class T>
auto callable(F f, T value) {
    if (detail::is_empty_callable(f)) throw std::invalid_argument("the callable is empty");
    return [f = std::move(f), value = std::move(value)]() mutable {
        detail::invoke_task(f);
        return value;
    };
}
/// The same, returning the one value of a type that has only one.
template <class F>
auto callable(F f) {
    return callable(std::move(f), std::monostate());
}

}  // namespace cadre::executors
