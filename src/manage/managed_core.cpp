// SPDX-License-Identifier: Apache-2.0
//
// Who uses the pool holds a shared_ptr to it for that long, so no lock is held while the pool
// works, nor while its thread factory does. When the last copy goes it says so, and detach() waits
// for that: the owner of a borrowed pool may destroy it next, and an owned one is closed by who
// removes it, not by somebody who happened to look, and would wait for all its tasks.
//
// Changes are made one at a time by whoever has the turn. A turn is no lock: the pool's thread
// factory runs during it, which is user code. That it may not change a pool itself (two that did
// could wait for each other's turn for ever) is seen by a flag of the thread, and refused.

#include "managed_core.hpp"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <typeinfo>
#include <utility>

#include <cadre/errors.hpp>
#include <cadre/manage/rejection_policies.hpp>
#include <cadre/queue/linked_blocking_deque.hpp>
#include <cadre/queue/linked_transfer_queue.hpp>

#include "delayed_work_queue.hpp"
#include "named_threads.hpp"

namespace cadre::manage::detail {
namespace {

thread_local const std::vector<managed_core*>* changing = nullptr;  // what this thread changes

constexpr auto custom_policy = "custom";

std::string class_name(const blocking_queue<task>& queue) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> readable(
        abi::__cxa_demangle(typeid(queue).name(), nullptr, nullptr, &status), &std::free);
    return status == 0 ? readable.get() : typeid(queue).name();
}

std::string type_of(const blocking_queue<task>& queue) {
    if (dynamic_cast<const linked_blocking_queue<task>*>(&queue)) return "linked";
    if (dynamic_cast<const array_blocking_queue<task>*>(&queue)) return "array";
    if (dynamic_cast<const synchronous_queue<task>*>(&queue)) return "synchronous";
    if (dynamic_cast<const priority_blocking_queue<task>*>(&queue)) return "priority";
    if (dynamic_cast<const linked_transfer_queue<task>*>(&queue)) return "transfer";
    if (dynamic_cast<const linked_blocking_deque<task>*>(&queue)) return "deque";
    if (dynamic_cast<const cadre::detail::delayed_work_queue*>(&queue)) return "delayed";
    return class_name(queue);
}

std::string why_fixed(const std::string& queue_type) {
    if (queue_type == "linked") return {};
    if (queue_type == "synchronous") return "a synchronous queue holds no task";
    if (queue_type == "delayed") return "the queue of a scheduled pool has no bound";
    if (queue_type == "priority" || queue_type == "transfer")
        return "a " + queue_type + " queue has no bound";
    return "a queue of type " + queue_type + " cannot be resized; a linked one can";
}

std::optional<std::size_t> capacity_of(const blocking_queue<task>& queue) {
    if (const auto* linked = dynamic_cast<const linked_blocking_queue<task>*>(&queue))
        return static_cast<std::size_t>(linked->capacity());
    if (const auto* array = dynamic_cast<const array_blocking_queue<task>*>(&queue))
        return static_cast<std::size_t>(array->capacity());
    if (const auto* deque = dynamic_cast<const linked_blocking_deque<task>*>(&queue))
        return static_cast<std::size_t>(deque->capacity());
    if (queue.remaining_capacity() == blocking_queue<task>::npos)
        return static_cast<std::size_t>(unbounded);
    return std::nullopt;
}

}  // namespace

/// Opens when the last user of a borrowed pool has let go of it.
class managed_core::let_go {
public:
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        opened_.notify_all();
    }
    void wait() {
        std::unique_lock lock(mutex_);
        opened_.wait(lock, [this] { return open_; });
    }

private:
    std::mutex mutex_;  // guards all below
    std::condition_variable opened_;
    bool open_ = false;
};

managed_core::managed_core(parts made, std::weak_ptr<registry_core> registry)
    : name_(std::move(made.name)),
      kind_(made.scheduled ? pool_kind::scheduled : pool_kind::plain),
      registry_(std::move(registry)),
      owner_(made.owner),
      monitor_(std::move(made.monitor)),
      queue_type_(type_of(made.pool->queue())),
      capacity_fixed_because_(why_fixed(queue_type_)),
      has_own_names_(!made.pool->thread_factory().target<naming_factory>()),
      let_go_(std::make_shared<let_go>()),
      prestart_(made.prestart),
      owned_(owner_ == ownership::owned ? made.pool : nullptr),
      scheduled_(std::move(made.scheduled)) {
    // An owned pool is let go of first: when the gate opens, nobody but who detached it has it.
    pool_ = std::shared_ptr<thread_pool_executor>(
        made.pool.get(), [gone = let_go_, kept = owned_](thread_pool_executor*) mutable {
            kept.reset();
            gone->open();
        });
    auto handler = pool_->rejected_execution_handler();
    if (!rejection_policies::name_of(handler)) custom_ = std::move(handler);
}

std::shared_ptr<thread_pool_executor> managed_core::use() const {
    const std::lock_guard lock(mutex_);
    return pool_;
}

std::shared_ptr<thread_pool_executor> managed_core::executor() const {
    const std::lock_guard lock(mutex_);
    if (owner_ == ownership::owned) return owned_;
    return std::shared_ptr<thread_pool_executor>(std::shared_ptr<void>(), pool_.get());
}

std::shared_ptr<scheduled_thread_pool_executor> managed_core::scheduled_executor() const {
    const std::lock_guard lock(mutex_);
    return scheduled_;
}

bool managed_core::is_attached() const { return use() != nullptr; }

pool_snapshot managed_core::snapshot() const {
    if (const auto pool = use()) {
        auto now = pool->snapshot();
        now.name = name_;
        return now;
    }
    const std::lock_guard lock(mutex_);
    return last_snapshot_;
}

pool_settings managed_core::settings() const {
    if (const auto pool = use()) return effective(*pool);
    const std::lock_guard lock(mutex_);
    return last_settings_;
}

std::string managed_core::queue_type() const { return queue_type_; }

std::chrono::nanoseconds managed_core::oldest_wait() const {
    const auto pool = monitor_ ? use() : nullptr;
    return pool ? pool_monitor::oldest_wait(pool->queue()) : std::chrono::nanoseconds(0);
}

pool_limits managed_core::limits() const {
    const std::lock_guard lock(mutex_);
    return {.kind = kind_,
            .capacity_fixed_because = capacity_fixed_because_,
            .timeouts_unwatched_because = monitor_ ? "" : "the pool has no monitor",
            .has_custom_policy = static_cast<bool>(custom_),
            .has_own_names = has_own_names_};
}

pool_settings managed_core::effective(const thread_pool_executor& pool) const {
    pool_settings now;
    now.core_pool_size = pool.core_pool_size();
    now.maximum_pool_size =
        kind_ == pool_kind::scheduled ? std::max(*now.core_pool_size, 1) : pool.maximum_pool_size();
    now.keep_alive = pool.keep_alive();
    now.allow_core_thread_time_out = pool.allows_core_thread_time_out();
    now.queue_capacity = capacity_of(pool.queue());
    now.rejection =
        rejection_policies::name_of(pool.rejected_execution_handler()).value_or(custom_policy);
    const auto factory = pool.thread_factory();
    if (const auto* named = factory.target<naming_factory>())
        now.thread_name_prefix = named->prefix();
    now.prestart_core_threads = prestart_.load();
    if (monitor_) {
        const auto limits = monitor_->limits();
        now.run_timeout = limits.run_timeout;
        now.queue_timeout = limits.queue_timeout;
        now.interrupt_on_run_timeout = limits.interrupt_on_run_timeout;
    }
    return now;
}

rejected_execution_handler managed_core::handler_for(const std::string& name) const {
    if (name != custom_policy) return rejection_policies::make(name);
    const std::lock_guard lock(mutex_);
    return custom_;
}

void managed_core::apply(thread_pool_executor& pool, const pool_settings& target,
                         std::vector<std::string>& warnings) {
    const auto from = effective(pool);
    if (from.rejection == custom_policy) {
        auto handler = pool.rejected_execution_handler();
        const std::lock_guard lock(mutex_);
        custom_.swap(handler);
    }
    try {
        apply_settings(pool, from, target, warnings);
    } catch (...) {
        std::vector<std::string> ignored;
        apply_settings(pool, effective(pool), from, ignored);
        throw;
    }
}

/// Everything that may fail comes before what it would have to undo, or can be done again.
void managed_core::apply_settings(thread_pool_executor& pool, const pool_settings& from,
                                  const pool_settings& target, std::vector<std::string>& warnings) {
    if (target.rejection != from.rejection && target.rejection)
        pool.set_rejected_execution_handler(handler_for(*target.rejection));
    if (target.thread_name_prefix != from.thread_name_prefix)
        pool.set_thread_factory(with_prefix(pool.thread_factory(), target.thread_name_prefix));
    if (target.queue_capacity != from.queue_capacity && target.queue_capacity)
        if (auto* linked = dynamic_cast<linked_blocking_queue<task>*>(&pool.queue()))
            linked->set_capacity(static_cast<int>(*target.queue_capacity));
    // Zero is only allowed while core threads stay; so those first if they are to stay.
    if (!*target.allow_core_thread_time_out) pool.allow_core_thread_time_out(false);
    if (target.keep_alive != from.keep_alive) pool.set_keep_alive(*target.keep_alive);
    if (*target.allow_core_thread_time_out) pool.allow_core_thread_time_out(true);
    if (monitor_)
        monitor_->set_limits(
            {.run_timeout = target.run_timeout.value_or(std::chrono::nanoseconds(0)),
             .queue_timeout = target.queue_timeout.value_or(std::chrono::nanoseconds(0)),
             .interrupt_on_run_timeout = target.interrupt_on_run_timeout.value_or(false)});
    prestart_.store(target.prestart_core_threads.value_or(false));
    // Threads may be started from here on. The sizes count even if none can be had just now.
    try {
        const bool resized = target.core_pool_size != from.core_pool_size ||
                             target.maximum_pool_size != from.maximum_pool_size;
        if (resized && kind_ == pool_kind::scheduled)
            pool.set_core_pool_size(*target.core_pool_size);
        else if (resized)
            pool.resize(*target.core_pool_size, *target.maximum_pool_size);
        if (prestart_.load()) pool.prestart_all_core_threads();
    } catch (const std::exception& e) {
        if (pool.core_pool_size() != *target.core_pool_size) throw;
        warnings.push_back(std::string("a thread could not be started: ") + e.what());
    }
}

bool managed_core::is_changed_here() const {
    return changing && std::find(changing->begin(), changing->end(), this) != changing->end();
}

void managed_core::take_turn() {
    std::unique_lock lock(mutex_);
    turn_free_.wait(lock, [this] { return !turn_taken_; });
    turn_taken_ = true;
}

void managed_core::end_turn() noexcept {
    const std::lock_guard lock(mutex_);
    turn_taken_ = false;
    turn_free_.notify_one();
}

void managed_core::detach() noexcept {
    if (auto pool = use()) keep_last(*pool);
    std::shared_ptr<thread_pool_executor> dropped_owned;
    std::shared_ptr<thread_pool_executor> dropped;
    std::shared_ptr<scheduled_thread_pool_executor> dropped_scheduled;
    rejected_execution_handler dropped_custom;
    {
        const std::lock_guard lock(mutex_);
        dropped_owned.swap(owned_);
        dropped.swap(pool_);
        dropped_scheduled.swap(scheduled_);
        dropped_custom.swap(custom_);
    }
    // In the thread factory of a pool that this thread is changing we would wait for ourselves.
    if (is_changed_here()) return;
    dropped.reset();
    let_go_->wait();
}

void managed_core::keep_last(const thread_pool_executor& pool) noexcept {
    try {
        auto snapshot = pool.snapshot();
        auto settings = effective(pool);
        snapshot.name = name_;
        const std::lock_guard lock(mutex_);
        last_snapshot_ = std::move(snapshot);
        last_settings_ = std::move(settings);
    } catch (const std::bad_alloc&) {}  // then the handle shows less
}

turns_scope::turns_scope(std::vector<managed_core*> pools) {
    if (changing)
        throw illegal_state("a pool cannot be changed by what runs inside the change of a pool");
    std::sort(pools.begin(), pools.end(),
              [](const auto* a, const auto* b) { return a->name() < b->name(); });
    taken_ = std::move(pools);
    for (auto* pool : taken_) pool->take_turn();
    changing = &taken_;
}

turns_scope::~turns_scope() {
    changing = nullptr;
    for (auto* pool : taken_) pool->end_turn();
}

}  // namespace cadre::manage::detail
