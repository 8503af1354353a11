// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/change_report.hpp>
#include <cadre/manage/pool_monitor.hpp>
#include <cadre/manage/pool_settings.hpp>
#include <cadre/manage/pool_spec.hpp>
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/thread_pool_executor.hpp>

namespace cadre::manage {

namespace detail {
class registry_core;
class managed_core;
}  // namespace detail

/// A task that waits for its turn.
struct queued_task {
    std::string name = {};  ///< empty if it has none
    std::chrono::nanoseconds age = {};
};

/// A pool in a registry. Held by shared_ptr, and good for longer than the pool is registered: from
/// then on it shows how the pool was at that moment, and refuses changes. All members may be
/// called from any thread, also from tasks of the pool.
class CADRE_API managed_pool {
public:
    explicit managed_pool(std::unique_ptr<detail::managed_core> core);
    managed_pool(const managed_pool&) = delete;
    managed_pool& operator=(const managed_pool&) = delete;
    ~managed_pool();

    const std::string& name() const;
    pool_kind kind() const;
    bool is_registered() const;
    /// That of its last change.
    std::uint64_t revision() const;
    pool_snapshot snapshot() const;
    /// As they are now, whoever set them. Fields that the pool cannot tell are absent.
    pool_settings settings() const;
    /// Null if the pool has none: one that was made without.
    std::shared_ptr<pool_monitor> monitor() const;
    /// For how long the head of the queue has been waiting; zero without a monitor.
    std::chrono::nanoseconds oldest_wait() const;
    /// Has the monitor look for tasks that run or wait for too long, as the alarm engine does. For
    /// those that run it looks by itself, at least once a second, if it is to interrupt them.
    void check_timeouts() const;
    /// The tasks that have waited longest, up to `most`; of a queue that does not keep the order of
    /// arrival, among the first 10,000. None of a scheduled pool, or one that has no monitor.
    std::vector<queued_task> oldest_tasks(std::size_t most) const;
    /// linked, array, synchronous, priority, transfer, deque, delayed; the queue's class for one of
    /// your own.
    std::string queue_type() const;

    /// Changes what is there in `wished`, all of it or, with an exception, nothing. Changes from
    /// several threads happen one after the other. What the pool cannot take for a reason of its
    /// kind (a queue that is not resizable, a scheduled pool's maximum) is in the report, and does
    /// not keep the rest from being applied. Throws std::invalid_argument that names the field,
    /// its value and the rule; illegal_state if the pool is not registered any more, not at the
    /// revision that the origin asks for, or being changed by this very thread.
    change_report reconfigure(const pool_settings& wished, const change_origin& origin = {});
    /// The report that reconfigure() would give now. Changes nothing, throws the same.
    change_report preview(const pool_settings& wished) const;
    /// Brings the settings back that the pool had after that revision; a new revision, which no
    /// max_step of the guard rails holds up. Throws as reconfigure(), and std::invalid_argument if
    /// the history does not have it, or it is another pool's.
    change_report rollback(std::uint64_t revision, change_origin origin = {});
    /// The report that rollback() would give now. Changes nothing, throws the same.
    change_report preview_rollback(std::uint64_t revision) const;

    /// The pool, to give it tasks; null if it is not registered any more. An owned pool lives as
    /// long as somebody has this; a borrowed one only as long as its owner lets it.
    std::shared_ptr<thread_pool_executor> executor() const;
    /// Null if the pool is of another kind.
    std::shared_ptr<scheduled_thread_pool_executor> scheduled_executor() const;

private:
    friend class pool_registry;
    friend class registration;
    friend class detail::registry_core;
    const std::unique_ptr<detail::managed_core> core_;
};

}  // namespace cadre::manage
