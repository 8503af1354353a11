// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <cadre/manage/pool_registry.hpp>

#include "change_history.hpp"
#include "change_plan.hpp"
#include "managed_core.hpp"

namespace cadre::manage::detail {

/// What the settings of the spec say, and where they say nothing, the defaults of such a pool.
pool_settings complete_settings(const pool_spec& spec);

/// A registry without its public face, which registrations and handles may outlive. Mutexes are
/// never held together, nor while a pool or user code works.
class registry_core : public std::enable_shared_from_this<registry_core> {
public:
    explicit registry_core(const registry_options& options);

    /// Throws std::invalid_argument if the name is empty or taken.
    std::shared_ptr<managed_pool> enter(managed_core::parts made, change_origin origin);
    /// A pool that was made for this registry: throws also if the rails forbid its threads.
    std::shared_ptr<managed_pool> enter_new(managed_core::parts made, change_origin origin,
                                            const pool_settings& wished);
    bool remove(std::string_view name, change_origin origin);
    void remove(const std::shared_ptr<managed_pool>& pool, change_origin origin) noexcept;
    void remove_all() noexcept;
    std::shared_ptr<managed_pool> find(std::string_view name) const;
    std::shared_ptr<managed_pool> at(std::string_view name) const;
    std::vector<std::shared_ptr<managed_pool>> pools() const;

    /// One pool, and what is wanted of it.
    struct wish {
        managed_core* pool;
        pool_settings settings;
    };
    std::vector<change_report> change(const std::vector<wish>& wishes, const change_origin& origin,
                                      change_kind kind);
    /// Checks new pools as well, all together.
    std::vector<change_report> preview(const std::vector<wish>& wishes,
                                       const std::vector<pool_spec>& to_be_made = {},
                                       change_kind kind = change_kind::changed) const;
    change_report preview_roll_back(managed_core& pool, std::uint64_t revision) const;
    change_report roll_back(managed_core& pool, std::uint64_t revision, change_origin origin);

    /// Of code and documents, the narrower.
    guard_rails rails() const;
    void set_rails(guard_rails rails);
    guard_rails rails_of_documents() const;
    void set_rails_of_documents(guard_rails rails);
    void check_name(const std::string& name) const;
    /// Throws std::invalid_argument if there can be no such pool, or the rails forbid it.
    void check_new(const pool_spec& spec) const;
    /// Throws std::invalid_argument if all pools together would have too many threads with it.
    void check_room(const pool_spec& spec) const;
    change_history& history() { return history_; }
    const change_history& history() const { return history_; }

private:
    struct planned;
    guard_rails rails_for(change_kind kind) const;
    pool_settings settings_at(const managed_core& pool, std::uint64_t revision) const;
    using thread_counts = std::map<std::string, std::int64_t, std::less<>>;
    std::vector<planned> plan(const std::vector<wish>& wishes, const guard_rails& rails) const;
    thread_counts threads_after(const std::vector<planned>& plans,
                                const std::lock_guard<std::mutex>&,
                                const std::vector<pool_spec>& to_be_made = {}) const;
    static std::int64_t sum_of(const thread_counts& threads);
    /// With another pool.
    void check_total_with(const std::string& name, std::int64_t threads,
                          const std::lock_guard<std::mutex>&) const;
    void check_total(std::int64_t sum, std::int64_t before, const std::string& what,
                     const std::lock_guard<std::mutex>&) const;
    guard_rails narrower_rails(const std::lock_guard<std::mutex>&) const;
    std::shared_ptr<managed_pool> enter(managed_core::parts made, change_origin origin,
                                        const pool_settings& wished, bool is_new);
    void apply(std::vector<planned>& plans);
    void refused(const std::vector<wish>& wishes, const change_origin& origin, const char* why);

    change_history history_;

    mutable std::mutex mutex_;  // guards all below
    guard_rails rails_of_code_;
    guard_rails rails_of_documents_;
    std::map<std::string, std::shared_ptr<managed_pool>, std::less<>> pools_;
    // How many threads each pool may have, as far as the registry knows: changes of several pools
    // at a time are checked against their sum.
    thread_counts threads_;
};

}  // namespace cadre::manage::detail
