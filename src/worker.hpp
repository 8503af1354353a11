// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <cadre/detail/thread_control.hpp>
#include <cadre/detail/timer_core.hpp>
#include <cadre/task.hpp>
#include <cadre/task_observer.hpp>
#include <cadre/thread.hpp>

#include "right_of_way.hpp"

namespace cadre::detail {

class thread_pool_core;

/// A thread of a pool and what it has done.
class worker final : public wait_helper, public std::enable_shared_from_this<worker> {
public:
    explicit worker(thread_pool_core& pool) : pool_(pool) {}

    /// Takes the wanted task out of the pool's queue, if it is there, and runs it; in a
    /// work-stealing pool, any task.
    bool run_in_place(const future_core& wanted) override;
    wait_mode wait_begins(waiter& self) override;
    void wait_ends(waiter& self) noexcept override;
    const void* works_for() const noexcept override { return &pool_; }

    // Written by the worker alone.
    void begin_task() noexcept { record.tally.store(tally() + 1, std::memory_order_release); }
    void end_task() noexcept {
        record.tally.store(tally() + task_observer::worker_record::one_completed - 1,
                           std::memory_order_release);
    }
    static std::int64_t completed(std::uint64_t tally) noexcept {
        return static_cast<std::int64_t>(task_observer::worker_record::completed(tally));
    }
    static int running(std::uint64_t tally) noexcept {
        return task_observer::worker_record::running(tally);
    }
    /// How many tasks it has completed since it last had to wait for one.
    std::int64_t streak() const noexcept { return completed(tally()) - completed(tally_at_rest); }
    /// acquire: who sees a task as completed sees what it did; pairs with end_task().
    std::uint64_t tally() const noexcept { return record.tally.load(std::memory_order_acquire); }

    task first;                        // what it starts with; its own once it is started
    stop_slot stop;                    // of the tasks without a future that it runs
    thread handle;                     // guarded by the pool's mutex, as the next
    bool is_joined_by_closer = false;  // who has the handle, then
    task_observer::worker_record record;
    std::size_t index = 0;           // among the pool's workers; guarded by the pool's mutex, as
    std::uint64_t told_by_stop = 0;  // the last shutdown_now() that told it
    // Of its thread: set when that has begun to take tasks. Only from then on it is interrupted,
    // so that no interrupt reaches what the thread factory wraps round it.
    std::atomic<thread_control*> started = nullptr;
    right_of_way way;                 // its own
    std::uint64_t tally_at_rest = 0;  // when it last had to wait for a task; its own
    bool has_succession = false;      // counted in the control word; its own
    const task* taken = nullptr;      // where it keeps what it takes from the queue; its own
    // What a scheduler's worker runs next: taken when it put a task back. Its own.
    intrusive_ptr<timer_core> successor;
    std::int64_t successor_stamp = 0;
    // How it waits inside a task; its own. See work_stealing_wait.cpp.
    enum class waiting { no, on_call, too_deep } waits = waiting::no;
    bool has_stack = true;  // when it last looked for something to run meanwhile

private:
    thread_pool_core& pool_;
};

}  // namespace cadre::detail
