// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <cadre/manage/pool_monitor.hpp>
#include <cadre/manage/pool_settings.hpp>
#include <cadre/manage/pool_spec.hpp>
#include <cadre/scheduled_thread_pool_executor.hpp>
#include <cadre/thread_pool_executor.hpp>

#include "change_plan.hpp"

namespace cadre::manage::detail {

/// The pool behind a managed_pool and who may use it when. How is told in managed_core.cpp.
class managed_core {
public:
    enum class ownership { owned, borrowed };
    struct parts {
        std::string name;
        ownership owner = ownership::owned;
        std::shared_ptr<thread_pool_executor> pool;                   // never null
        std::shared_ptr<scheduled_thread_pool_executor> scheduled{};  // null: a plain pool
        bool prestart = false;
        std::shared_ptr<pool_monitor> monitor{};
    };
    managed_core(parts made, std::weak_ptr<registry_core> registry);

    const std::string& name() const { return name_; }
    pool_kind kind() const { return kind_; }
    const std::shared_ptr<pool_monitor>& monitor() const { return monitor_; }
    std::chrono::nanoseconds oldest_wait() const;
    std::shared_ptr<registry_core> registry() const { return registry_.lock(); }
    std::uint64_t revision() const { return revision_.load(); }
    void set_revision(std::uint64_t revision) { revision_.store(revision); }

    // Looking; after the detachment, at what was there then.
    bool is_attached() const;
    pool_snapshot snapshot() const;
    pool_settings settings() const;
    std::string queue_type() const;
    pool_limits limits() const;

    /// Null after the detachment. To be held for a short time: a detachment waits for it.
    std::shared_ptr<thread_pool_executor> use() const;
    /// For users: as long as they like.
    std::shared_ptr<thread_pool_executor> executor() const;
    std::shared_ptr<scheduled_thread_pool_executor> scheduled_executor() const;

    // Changing; for whoever has the turn.
    pool_settings effective(const thread_pool_executor& pool) const;
    /// Makes the pool as `target` says where that differs. All or, with an exception, nothing;
    /// threads that cannot be started are no failure but a warning.
    void apply(thread_pool_executor& pool, const pool_settings& target,
               std::vector<std::string>& warnings);

    /// Of those who change the pool, one at a time: see turns_scope.
    void take_turn();
    void end_turn() noexcept;
    /// True on a thread that has the turn.
    bool is_changed_here() const;

    /// Lets go of the pool. Returns when nobody uses it here any more, whoever detached it; an
    /// owned one is closed by then, unless a user keeps it.
    void detach() noexcept;

private:
    class let_go;

    void keep_last(const thread_pool_executor& pool) noexcept;
    rejected_execution_handler handler_for(const std::string& name) const;
    void apply_settings(thread_pool_executor& pool, const pool_settings& from,
                        const pool_settings& target, std::vector<std::string>& warnings);

    const std::string name_;
    const pool_kind kind_;
    const std::weak_ptr<registry_core> registry_;
    const ownership owner_;
    const std::shared_ptr<pool_monitor> monitor_;  // null: none
    const std::string queue_type_;
    const std::string capacity_fixed_because_;
    const bool has_own_names_;  // of threads
    const std::shared_ptr<let_go> let_go_;
    std::atomic<std::uint64_t> revision_ = 0;
    std::atomic<bool> prestart_;

    mutable std::mutex mutex_;  // guards all below
    std::condition_variable turn_free_;
    bool turn_taken_ = false;
    std::shared_ptr<thread_pool_executor> pool_;   // null: detached
    std::shared_ptr<thread_pool_executor> owned_;  // null also if it is borrowed
    std::shared_ptr<scheduled_thread_pool_executor> scheduled_;
    rejected_execution_handler custom_;  // what the pool had that has no name
    pool_snapshot last_snapshot_;        // of when it was detached
    pool_settings last_settings_;
};

/// Has the turn of several pools for as long as it lives; they are taken in the order of names.
/// Throws illegal_state if the calling thread is changing a pool already.
class [[nodiscard]] turns_scope {
public:
    explicit turns_scope(std::vector<managed_core*> pools);
    ~turns_scope();
    turns_scope(const turns_scope&) = delete;
    turns_scope& operator=(const turns_scope&) = delete;

private:
    std::vector<managed_core*> taken_;
};

}  // namespace cadre::manage::detail
