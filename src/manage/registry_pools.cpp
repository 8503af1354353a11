// SPDX-License-Identifier: Apache-2.0
//
// How pools come into a registry and leave it. A pool that leaves is first taken out of the map, so
// that nobody finds it any more, and let go of after that, under no lock: it may take its time.

#include <stdexcept>
#include <utility>

#include <cadre/errors.hpp>
#include <cadre/manage/rejection_policies.hpp>

#include "registry_core.hpp"

namespace cadre::manage::detail {

void registry_core::check_name(const std::string& name) const {
    if (name.empty()) throw std::invalid_argument("name of a pool: is empty");
    if (name == "." || name == "..")
        throw std::invalid_argument("name of a pool (" + name +
                                    ") would lead elsewhere in the address of its page");
    const std::lock_guard lock(mutex_);
    if (pools_.contains(name))
        throw std::invalid_argument("name (" + name + ") is taken by another pool");
}

void registry_core::check_new(const pool_spec& spec) const {
    check_name(spec.name);
    const auto settings = complete_settings(spec);
    check_settings(settings);
    static_cast<void>(rejection_policies::make(*settings.rejection));
    if (spec.kind == pool_kind::plain && spec.queue == queue_kind::array &&
        !spec.settings.queue_capacity)
        throw std::invalid_argument("queue_capacity: an array queue needs one");
    auto rails = this->rails();
    rails.max_step.reset();
    check_pool_rails(rails, spec.kind, {.maximum_pool_size = 0}, settings);
}

void registry_core::check_room(const pool_spec& spec) const {
    const auto count = threads_of(spec.kind, complete_settings(spec));
    const std::lock_guard lock(mutex_);
    check_total_with(spec.name, count, lock);
}

std::shared_ptr<managed_pool> registry_core::enter(managed_core::parts made, change_origin origin) {
    return enter(std::move(made), std::move(origin), {}, false);
}

std::shared_ptr<managed_pool> registry_core::enter_new(managed_core::parts made,
                                                       change_origin origin,
                                                       const pool_settings& wished) {
    return enter(std::move(made), std::move(origin), wished, true);
}

std::shared_ptr<managed_pool> registry_core::enter(managed_core::parts made, change_origin origin,
                                                   const pool_settings& wished, bool is_new) {
    check_name(made.name);
    auto pool = std::make_shared<managed_pool>(
        std::make_unique<managed_core>(std::move(made), weak_from_this()));
    auto& core = *pool->core_;
    const auto settings = core.settings();
    change_record record{.kind = change_kind::registered,
                         .pool = core.name(),
                         .origin = std::move(origin),
                         .not_applied = plan_change(settings, wished, core.limits()).not_applied,
                         .settings = settings};
    {
        const turns_scope turn({&core});  // nobody changes it before it has its first revision
        // Without memory for all of it there is no new pool: the caller is told that it failed.
        struct entry_scope {
            registry_core& registry;
            const std::string& name;
            bool is_begun = false;
            bool is_whole = false;
            ~entry_scope() {
                if (!is_begun || is_whole) return;
                const std::lock_guard lock(registry.mutex_);
                registry.pools_.erase(name);
                registry.threads_.erase(name);
            }
        } entry{*this, core.name()};
        {
            const std::lock_guard lock(mutex_);
            if (pools_.contains(core.name()))
                throw std::invalid_argument("name (" + core.name() + ") is taken by another pool");
            const auto count = threads_of(core.kind(), settings);
            // Once more, for others may have been made meanwhile.
            if (is_new) check_total_with(core.name(), count, lock);
            entry.is_begun = true;
            pools_[core.name()] = pool;
            threads_[core.name()] = count;
        }
        history_.append(record);
        entry.is_whole = true;
        core.set_revision(record.revision);
    }
    history_.tell(record);
    return pool;
}

bool registry_core::remove(std::string_view name, change_origin origin) {
    const auto pool = find(name);
    if (!pool) return false;
    if (pool->core_->is_changed_here())
        throw illegal_state("pool '" + std::string(name) + "' cannot be removed inside its change");
    remove(pool, std::move(origin));
    return true;
}

void registry_core::remove(const std::shared_ptr<managed_pool>& pool,
                           change_origin origin) noexcept {
    {
        const std::lock_guard lock(mutex_);
        const auto found = pools_.find(pool->name());
        if (found == pools_.end() || found->second != pool) return;  // somebody was quicker
        pools_.erase(found);                                         // the caller's reference stays
        threads_.erase(pool->name());
    }
    auto& core = *pool->core_;
    core.detach();
    try {
        change_record record{.kind = change_kind::removed,
                             .pool = core.name(),
                             .origin = std::move(origin),
                             .settings = core.settings()};
        history_.append(record);
        history_.tell(record);
    } catch (const std::bad_alloc&) {}
}

void registry_core::remove_all() noexcept {
    for (const auto& pool : pools()) remove(pool, {});
}

std::shared_ptr<managed_pool> registry_core::find(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    const auto found = pools_.find(name);
    return found == pools_.end() ? nullptr : found->second;
}

std::shared_ptr<managed_pool> registry_core::at(std::string_view name) const {
    if (auto found = find(name)) return found;
    std::string known;
    for (const auto& pool : pools()) known += " " + pool->name();
    throw std::invalid_argument("pool (" + std::string(name) + ") is not registered; there are:" +
                                (known.empty() ? " none" : known));
}

std::vector<std::shared_ptr<managed_pool>> registry_core::pools() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<managed_pool>> all;
    for (const auto& [name, pool] : pools_) all.push_back(pool);
    return all;
}

}  // namespace cadre::manage::detail
