// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/managed_pool.hpp>

#include <cadre/errors.hpp>

#include "managed_core.hpp"
#include "registry_core.hpp"

namespace cadre::manage {
namespace {

std::shared_ptr<detail::registry_core> registry_of(const detail::managed_core& core) {
    auto registry = core.registry();
    if (!registry || !core.is_attached())
        throw illegal_state("pool '" + core.name() + "' is not registered any more");
    return registry;
}

}  // namespace

managed_pool::managed_pool(std::unique_ptr<detail::managed_core> core) : core_(std::move(core)) {}
managed_pool::~managed_pool() = default;

const std::string& managed_pool::name() const { return core_->name(); }
pool_kind managed_pool::kind() const { return core_->kind(); }
bool managed_pool::is_registered() const { return core_->is_attached(); }
std::uint64_t managed_pool::revision() const { return core_->revision(); }
pool_snapshot managed_pool::snapshot() const { return core_->snapshot(); }
pool_settings managed_pool::settings() const { return core_->settings(); }
std::shared_ptr<pool_monitor> managed_pool::monitor() const { return core_->monitor(); }
std::chrono::nanoseconds managed_pool::oldest_wait() const { return core_->oldest_wait(); }
void managed_pool::check_timeouts() const {
    const auto watching = monitor();
    if (!watching) return;
    // Where tasks are interrupted, the monitor's own thread looks: users' stop callbacks run on it.
    if (!watching->limits().interrupt_on_run_timeout) watching->check_running();
    if (const auto pool = core_->use()) watching->check_waiting(pool->queue());
}
std::string managed_pool::queue_type() const { return core_->queue_type(); }

change_report managed_pool::reconfigure(const pool_settings& wished, const change_origin& origin) {
    return registry_of(*core_)
        ->change({{core_.get(), wished}}, origin, change_kind::changed)
        .front();
}

change_report managed_pool::preview(const pool_settings& wished) const {
    return registry_of(*core_)->preview({{core_.get(), wished}}).front();
}

change_report managed_pool::rollback(std::uint64_t revision, change_origin origin) {
    return registry_of(*core_)->roll_back(*core_, revision, std::move(origin));
}

change_report managed_pool::preview_rollback(std::uint64_t revision) const {
    return registry_of(*core_)->preview_roll_back(*core_, revision);
}

std::shared_ptr<thread_pool_executor> managed_pool::executor() const { return core_->executor(); }

std::shared_ptr<scheduled_thread_pool_executor> managed_pool::scheduled_executor() const {
    return core_->scheduled_executor();
}

}  // namespace cadre::manage
