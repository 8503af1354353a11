// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/change_report.hpp>
#include <cadre/manage/managed_pool.hpp>
#include <cadre/manage/pool_spec.hpp>

namespace cadre::manage {

namespace detail {
class config_applier;
}

/// What no change may go beyond, however it is asked for. A pool's threads count by its maximum.
struct guard_rails {
    std::optional<int> max_threads_per_pool = {};
    std::optional<int> max_threads_per_process = {};  ///< all pools of the registry together
    std::optional<int> max_step = {};  ///< by how much one change may move core or maximum
};

/// What holds for all pools of a registry.
struct registry_options {
    guard_rails rails = {};
    std::size_t history_size = 256;  ///< records kept, and as many refusals; the oldest go first
    /// Every record is appended there as one line of JSON; a file that was moved away is begun
    /// anew. Empty: nowhere.
    std::filesystem::path change_log = {};
};

/// Keeps a borrowed pool registered for as long as it lives. Movable.
class [[nodiscard]] CADRE_API registration {
public:
    registration() noexcept = default;
    registration(registration&&) noexcept = default;
    registration& operator=(registration&& other) noexcept;
    ~registration() { reset(); }

    /// Null after reset().
    const std::shared_ptr<managed_pool>& pool() const { return pool_; }
    managed_pool* operator->() const { return pool_.get(); }
    /// Takes the pool out of the registry, and waits for calls on it that are under way there.
    /// From then on the pool may be destroyed.
    void reset() noexcept;

private:
    friend class pool_registry;
    registration(std::weak_ptr<detail::registry_core> registry, std::shared_ptr<managed_pool> pool);

    std::weak_ptr<detail::registry_core> registry_;
    std::shared_ptr<managed_pool> pool_;
};

/// Ends a subscription when destroyed. A call that is under way may outlast it.
using subscription = std::shared_ptr<void>;

/// Settings for one pool of several that are changed together.
struct pool_change {
    std::string pool;
    pool_settings settings;
};

/// Pools by name, to look at and to change while they run. All members may be called from any
/// thread.
///
///     cadre::manage::pool_registry registry;
///     auto orders = registry.create({.name = "orders",
///         .settings = {.core_pool_size = 4, .maximum_pool_size = 16, .queue_capacity = 1000}});
///     orders->executor()->execute([] { handle(); });
///     auto report = orders->reconfigure({.core_pool_size = 8, .queue_capacity = 2000});
///     orders->rollback(report.revision - 1);
class CADRE_API pool_registry {
public:
    explicit pool_registry(registry_options options = {});
    pool_registry(const pool_registry&) = delete;
    pool_registry& operator=(const pool_registry&) = delete;
    /// Removes all pools, as remove().
    ~pool_registry();

    /// One for the process, made on first use and never destroyed.
    static pool_registry& global();

    // All that put a pool in throw std::invalid_argument if the name is empty or taken.

    /// Makes a pool, with a monitor, and owns it. Throws std::invalid_argument for what cannot be
    /// or the guard rails forbid.
    std::shared_ptr<managed_pool> create(pool_spec spec, change_origin origin = {});
    /// Owns the pool. The monitor is the one whose hooks the pool was made with, if it was.
    std::shared_ptr<managed_pool> add(std::string name, std::unique_ptr<thread_pool_executor> pool,
                                      std::shared_ptr<pool_monitor> monitor = nullptr);
    std::shared_ptr<managed_pool> add(std::string name,
                                      std::unique_ptr<scheduled_thread_pool_executor> pool,
                                      std::shared_ptr<pool_monitor> monitor = nullptr);
    /// Borrows a pool, which must live until the registration is reset or destroyed.
    registration add(std::string name, thread_pool_executor& pool,
                     std::shared_ptr<pool_monitor> monitor = nullptr);
    registration add(std::string name, scheduled_thread_pool_executor& pool,
                     std::shared_ptr<pool_monitor> monitor = nullptr);
    /// False if there is no such pool. Waits for calls on a borrowed pool that are under way here.
    /// An owned pool is closed, which waits for its tasks, by whoever has the last reference to
    /// it: this call, unless somebody keeps its executor().
    bool remove(std::string_view name, change_origin origin = {});

    /// Null if there is none.
    std::shared_ptr<managed_pool> find(std::string_view name) const;
    /// Throws std::invalid_argument, with the names there are, if there is none.
    std::shared_ptr<managed_pool> at(std::string_view name) const;
    /// By name.
    std::vector<std::shared_ptr<managed_pool>> pools() const;

    /// Changes several pools: all are checked before any is touched, guard rails for their sum.
    /// Throws as managed_pool::reconfigure, with the pool's name before the message; nothing is
    /// changed then. only_if_revision of the origin is not looked at.
    std::vector<change_report> reconfigure(const std::vector<pool_change>& changes,
                                           const change_origin& origin = {});
    std::vector<change_report> preview(const std::vector<pool_change>& changes) const;

    /// Those of the code, or, where they are narrower, those of the documents in force.
    guard_rails rails() const;
    /// Those of the code, for changes from now on; what is beyond them already stays.
    void set_rails(guard_rails rails);

    /// Puts a refusal into the history that the registry has not heard of, as of a document with
    /// mistakes, and tells the listeners. `pool`: whose settings it was about, whether or not there
    /// is such a pool; empty: none.
    void note_refusal(change_origin origin, std::string why, std::string pool = {});
    /// The last records, oldest first.
    std::vector<change_record> history() const;
    /// The number of the last record; 0 if there is none.
    std::uint64_t revision() const;
    /// Brings the pool of that record back to the settings it had after it. Throws
    /// std::invalid_argument if the history does not have it, or its pool is not registered.
    change_report rollback(std::uint64_t revision, change_origin origin = {});

    /// Calls `listener` after each record, on the thread that made the change and under no lock.
    /// What it throws is dropped.
    subscription on_change(std::function<void(const change_record&)> listener);

private:
    friend class detail::config_applier;
    std::vector<change_report> preview(const std::vector<pool_change>& changes,
                                       const std::vector<pool_spec>& to_be_made) const;

    const std::shared_ptr<detail::registry_core> core_;
};

}  // namespace cadre::manage
