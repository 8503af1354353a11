// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/pool_registry.hpp>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include <cadre/errors.hpp>
#include <cadre/manage/rejection_policies.hpp>
#include <cadre/manage/settings_text.hpp>
#include <cadre/queue/linked_blocking_deque.hpp>
#include <cadre/queue/linked_transfer_queue.hpp>

#include "named_threads.hpp"
#include "registry_core.hpp"

namespace cadre::manage {
namespace {

using detail::managed_core;

void check_pool(const std::string& name, const void* pool) {
    if (!pool) throw std::invalid_argument("pool (" + name + ") is null");
}

managed_core::parts parts_of(std::string name, std::shared_ptr<scheduled_thread_pool_executor> pool,
                             managed_core::ownership owner, std::shared_ptr<pool_monitor> monitor) {
    auto inner = std::shared_ptr<thread_pool_executor>(pool, &pool->pool());
    return {.name = std::move(name),
            .owner = owner,
            .pool = std::move(inner),
            .scheduled = std::move(pool),
            .monitor = std::move(monitor)};
}

managed_core::parts parts_of(std::string name, std::shared_ptr<thread_pool_executor> pool,
                             managed_core::ownership owner, std::shared_ptr<pool_monitor> monitor) {
    return {.name = std::move(name),
            .owner = owner,
            .pool = std::move(pool),
            .monitor = std::move(monitor)};
}

std::unique_ptr<blocking_queue<task>> make_queue(const pool_spec& spec) {
    const auto& capacity = spec.settings.queue_capacity;
    switch (spec.queue) {
        case queue_kind::linked:
            return std::make_unique<linked_blocking_queue<task>>(
                static_cast<int>(capacity.value_or(unbounded)));
        case queue_kind::array:
            return std::make_unique<array_blocking_queue<task>>(static_cast<int>(capacity.value()));
        case queue_kind::synchronous:
            return std::make_unique<synchronous_queue<task>>();
        case queue_kind::priority:
            return std::make_unique<priority_blocking_queue<task>>();
        case queue_kind::transfer:
            return std::make_unique<linked_transfer_queue<task>>();
        case queue_kind::deque:
            return std::make_unique<linked_blocking_deque<task>>(
                static_cast<int>(capacity.value_or(unbounded)));
    }
    throw std::invalid_argument("queue: is no kind of queue");
}

template <class Options>
Options options_of(const pool_spec& spec, const pool_settings& settings,
                   const pool_monitor& monitor) {
    Options options{.core_pool_size = *settings.core_pool_size};
    options.keep_alive = *settings.keep_alive;
    options.allow_core_thread_time_out = *settings.allow_core_thread_time_out;
    options.rejection = rejection_policies::make(*settings.rejection);
    options.thread_factory =
        detail::naming_factory(*settings.thread_name_prefix, std::move(options.thread_factory));
    options.hooks = monitor.hooks(spec.hooks);
    options.name = spec.name;
    return options;
}

}  // namespace

pool_settings detail::complete_settings(const pool_spec& spec) {
    auto s = spec.settings;
    const bool scheduled = spec.kind == pool_kind::scheduled;
    if (scheduled) s.maximum_pool_size.reset();  // follows the core
    if (!s.core_pool_size) {
        const int usual = scheduled ? scheduled_pool_options().core_pool_size
                                    : thread_pool_options().core_pool_size;
        s.core_pool_size = std::min(usual, s.maximum_pool_size.value_or(usual));
    }
    const int core = *s.core_pool_size;
    // With a core, for to count the processors takes reading files.
    const auto keep_alive = scheduled ? scheduled_pool_options{.core_pool_size = core}.keep_alive
                                      : thread_pool_options{.core_pool_size = core}.keep_alive;
    return merged(s, {.core_pool_size = core,
                      .maximum_pool_size = std::max(core, 1),
                      .keep_alive = keep_alive,
                      .allow_core_thread_time_out = false,
                      .queue_capacity = static_cast<std::size_t>(unbounded),
                      .rejection = "abort",
                      .thread_name_prefix = spec.name,
                      .prestart_core_threads = false,
                      .run_timeout = std::chrono::nanoseconds(0),
                      .queue_timeout = std::chrono::nanoseconds(0),
                      .interrupt_on_run_timeout = false});
}

registration::registration(std::weak_ptr<detail::registry_core> registry,
                           std::shared_ptr<managed_pool> pool)
    : registry_(std::move(registry)), pool_(std::move(pool)) {}

registration& registration::operator=(registration&& other) noexcept {
    if (this == &other) return *this;
    reset();
    registry_ = std::move(other.registry_);
    pool_ = std::move(other.pool_);
    return *this;
}

void registration::reset() noexcept {
    const auto pool = std::exchange(pool_, nullptr);
    if (!pool) return;
    if (const auto registry = registry_.lock()) registry->remove(pool, {});
    pool->core_->detach();  // if somebody else was quicker, the pool may still be in use
}

pool_registry::pool_registry(registry_options options)
    : core_(std::make_shared<detail::registry_core>(options)) {
    core_->set_rails(options.rails);
}

pool_registry::~pool_registry() { core_->remove_all(); }

pool_registry& pool_registry::global() {
    static auto* const one = new pool_registry;
    return *one;
}

std::shared_ptr<managed_pool> pool_registry::create(pool_spec spec, change_origin origin) {
    core_->check_new(spec);
    core_->check_room(spec);
    const bool scheduled = spec.kind == pool_kind::scheduled;
    const auto settings = detail::complete_settings(spec);
    const auto monitor = std::make_shared<pool_monitor>();
    monitor->set_limits({.run_timeout = *settings.run_timeout,
                         .queue_timeout = *settings.queue_timeout,
                         .interrupt_on_run_timeout = *settings.interrupt_on_run_timeout});
    managed_core::parts parts;
    if (scheduled) {
        parts = parts_of(spec.name,
                         std::make_shared<scheduled_thread_pool_executor>(
                             options_of<scheduled_pool_options>(spec, settings, *monitor)),
                         managed_core::ownership::owned, monitor);
    } else {
        auto options = options_of<thread_pool_options>(spec, settings, *monitor);
        options.maximum_pool_size = *settings.maximum_pool_size;
        options.queue = make_queue(spec);
        parts = parts_of(spec.name, std::make_shared<thread_pool_executor>(std::move(options)),
                         managed_core::ownership::owned, monitor);
    }
    parts.prestart = *settings.prestart_core_threads;
    if (parts.prestart) parts.pool->prestart_all_core_threads();
    return core_->enter_new(std::move(parts), std::move(origin), spec.settings);
}

std::shared_ptr<managed_pool> pool_registry::add(std::string name,
                                                 std::unique_ptr<thread_pool_executor> pool,
                                                 std::shared_ptr<pool_monitor> monitor) {
    check_pool(name, pool.get());
    return core_->enter(
        parts_of(std::move(name), std::shared_ptr<thread_pool_executor>(std::move(pool)),
                 managed_core::ownership::owned, std::move(monitor)),
        {});
}

std::shared_ptr<managed_pool> pool_registry::add(
    std::string name, std::unique_ptr<scheduled_thread_pool_executor> pool,
    std::shared_ptr<pool_monitor> monitor) {
    check_pool(name, pool.get());
    return core_->enter(
        parts_of(std::move(name), std::shared_ptr<scheduled_thread_pool_executor>(std::move(pool)),
                 managed_core::ownership::owned, std::move(monitor)),
        {});
}

registration pool_registry::add(std::string name, thread_pool_executor& pool,
                                std::shared_ptr<pool_monitor> monitor) {
    const std::shared_ptr<thread_pool_executor> seen(std::shared_ptr<void>(), &pool);
    return {core_, core_->enter(parts_of(std::move(name), seen, managed_core::ownership::borrowed,
                                         std::move(monitor)),
                                {})};
}

registration pool_registry::add(std::string name, scheduled_thread_pool_executor& pool,
                                std::shared_ptr<pool_monitor> monitor) {
    const std::shared_ptr<scheduled_thread_pool_executor> seen(std::shared_ptr<void>(), &pool);
    return {core_, core_->enter(parts_of(std::move(name), seen, managed_core::ownership::borrowed,
                                         std::move(monitor)),
                                {})};
}

bool pool_registry::remove(std::string_view name, change_origin origin) {
    return core_->remove(name, std::move(origin));
}

std::shared_ptr<managed_pool> pool_registry::find(std::string_view name) const {
    return core_->find(name);
}
std::shared_ptr<managed_pool> pool_registry::at(std::string_view name) const {
    return core_->at(name);
}
std::vector<std::shared_ptr<managed_pool>> pool_registry::pools() const { return core_->pools(); }

namespace {

struct wanted {
    std::vector<std::shared_ptr<managed_pool>> pools;  // kept for as long as the wishes are
    std::vector<detail::registry_core::wish> wishes;
};

void check_no_pool_is_twice(const std::vector<pool_change>& changes) {
    std::set<std::string_view> seen;
    for (const auto& change : changes)
        if (!seen.insert(change.pool).second)
            throw std::invalid_argument("pool (" + change.pool + ") is there twice");
}

}  // namespace

std::vector<change_report> pool_registry::reconfigure(const std::vector<pool_change>& changes,
                                                      const change_origin& origin) {
    check_no_pool_is_twice(changes);
    wanted all;
    for (const auto& change : changes) {
        all.pools.push_back(core_->at(change.pool));
        all.wishes.push_back({all.pools.back()->core_.get(), change.settings});
    }
    return core_->change(all.wishes, origin, change_kind::changed);
}

std::vector<change_report> pool_registry::preview(const std::vector<pool_change>& changes) const {
    return preview(changes, {});
}

std::vector<change_report> pool_registry::preview(const std::vector<pool_change>& changes,
                                                  const std::vector<pool_spec>& to_be_made) const {
    check_no_pool_is_twice(changes);
    wanted all;
    for (const auto& change : changes) {
        all.pools.push_back(core_->at(change.pool));
        all.wishes.push_back({all.pools.back()->core_.get(), change.settings});
    }
    return core_->preview(all.wishes, to_be_made);
}

guard_rails pool_registry::rails() const { return core_->rails(); }
void pool_registry::set_rails(guard_rails rails) { core_->set_rails(rails); }
std::vector<change_record> pool_registry::history() const { return core_->history().records(); }
void pool_registry::note_refusal(change_origin origin, std::string why, std::string pool) {
    change_record record{.kind = change_kind::refused,
                         .pool = std::move(pool),
                         .origin = std::move(origin),
                         .error = std::move(why)};
    if (const auto there = find(record.pool)) record.settings = there->settings();
    core_->history().append(record);
    core_->history().tell(record);
}

std::uint64_t pool_registry::revision() const { return core_->history().revision(); }

change_report pool_registry::rollback(std::uint64_t revision, change_origin origin) {
    const auto record = core_->history().find(revision);
    if (!record)
        throw std::invalid_argument("revision (" + std::to_string(revision) +
                                    ") is not in the history");
    return core_->at(record->pool)->rollback(revision, std::move(origin));
}

subscription pool_registry::on_change(std::function<void(const change_record&)> listener) {
    return core_->history().subscribe(std::move(listener));
}

}  // namespace cadre::manage
