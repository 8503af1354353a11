// SPDX-License-Identifier: Apache-2.0
#pragma once

/// All of the core.

#include <cadre/awaitable_queue.hpp>
#include <cadre/clock.hpp>
#include <cadre/completion_service.hpp>
#include <cadre/context.hpp>
#include <cadre/coroutine.hpp>
#include <cadre/cron.hpp>
#include <cadre/errors.hpp>
#include <cadre/executor.hpp>
#include <cadre/executors.hpp>
#include <cadre/function_ref.hpp>
#include <cadre/future.hpp>
#include <cadre/parallel.hpp>
#include <cadre/queue/array_blocking_queue.hpp>
#include <cadre/queue/blocking_queue.hpp>
#include <cadre/queue/delay_queue.hpp>
#include <cadre/queue/linked_blocking_deque.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>
#include <cadre/queue/linked_transfer_queue.hpp>
#include <cadre/queue/priority_blocking_queue.hpp>
#include <cadre/queue/synchronous_queue.hpp>
#include <cadre/rejection.hpp>
#include <cadre/scheduled_executor_service.hpp>
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/sizing.hpp>
#include <cadre/strand.hpp>
#include <cadre/task.hpp>
#include <cadre/task_group.hpp>
#include <cadre/thread.hpp>
#include <cadre/thread_pool_executor.hpp>
#include <cadre/tracing.hpp>
#include <cadre/version.hpp>
#include <cadre/work_stealing_pool.hpp>
