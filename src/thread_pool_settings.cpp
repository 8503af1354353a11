// SPDX-License-Identifier: Apache-2.0
//
// What a pool is told and what it tells: settings, which are checked and stored under mutex_ so
// that the rules between them always hold, and the books.

#include <algorithm>
#include <stdexcept>

#include "thread_pool_core.hpp"

namespace cadre::detail {

namespace {

void check_sizes(int core, int maximum) {
    if (core < 0)
        throw std::invalid_argument("core_pool_size (" + std::to_string(core) + ") is negative");
    if (maximum <= 0)
        throw std::invalid_argument("maximum_pool_size (" + std::to_string(maximum) +
                                    ") is not positive");
    if (maximum < core)
        throw std::invalid_argument("maximum_pool_size (" + std::to_string(maximum) +
                                    ") is below core_pool_size (" + std::to_string(core) + ")");
}

void check_times(std::chrono::nanoseconds keep_alive, bool core_times_out) {
    if (keep_alive.count() < 0)
        throw std::invalid_argument("keep_alive (" + std::to_string(keep_alive.count()) +
                                    " ns) is negative");
    if (core_times_out && keep_alive.count() == 0)
        throw std::invalid_argument(
            "keep_alive (0 ns) must not be zero while core threads may time out");
}

template <class Function>
std::shared_ptr<const Function> checked(Function function, const char* what) {
    if (!function) throw std::invalid_argument(std::string(what) + " is empty");
    return std::make_shared<const Function>(std::move(function));
}

thread_pool_options completed(thread_pool_options options) {
    if (options.maximum_pool_size == 0)
        options.maximum_pool_size = std::max(options.core_pool_size, 1);
    check_sizes(options.core_pool_size, options.maximum_pool_size);
    check_times(options.keep_alive, options.allow_core_thread_time_out);
    if (!options.queue) options.queue = std::make_unique<linked_blocking_queue<task>>();
    return options;
}

}  // namespace

thread_pool_core::thread_pool_core(thread_pool_options options)
    : name_(std::move(options.name)),
      hooks_(std::move(options.hooks)),
      observer_(hooks_.observer.get()),
      queue_(std::move(options.queue)),
      fifo_(queue_ ? queue_->as_fifo() : nullptr),
      stealing_(queue_ ? queue_->as_work_stealing() : nullptr),
      remove_on_cancel_(options.remove_on_cancel),
      admits_plainly_(!observer_ && !hooks_.decorate_task && !remove_on_cancel_),
      runs_plainly_(!observer_ && !hooks_.before_execute && !hooks_.after_execute),
      core_size_(options.core_pool_size),
      maximum_size_(options.maximum_pool_size),
      keep_alive_(options.keep_alive),
      core_times_out_(options.allow_core_thread_time_out),
      factory_(checked(std::move(options.thread_factory), "thread_factory")),
      handler_(checked(std::move(options.rejection), "rejection")) {
    plain_handler_.store(plain(*handler_));
}

std::shared_ptr<thread_pool_core> thread_pool_core::make(thread_pool_options options) {
    watch_forks();
    auto core = std::make_shared<thread_pool_core>(completed(std::move(options)));
    if (core->remove_on_cancel_) core->link_cancellation();
    return core;
}

void thread_pool_core::resize(int core, int maximum) {
    int more = 0;
    {
        std::lock_guard lock(mutex_);
        check_sizes(core, maximum);
        more = core - core_size_.exchange(core);
        maximum_size_.store(maximum);
    }
    // Those beyond the core or the maximum leave if they are idle; whoever waits for a place may
    // get a thread.
    nudge_workers();
    start_for_queued(more);
}

void thread_pool_core::set_core_pool_size(int core) {
    int more = 0;
    {
        std::lock_guard lock(mutex_);
        check_sizes(core, maximum_size_.load());
        more = core - core_size_.exchange(core);
    }
    if (control_.load().workers() > core)
        nudge_workers();
    else
        start_for_queued(more);
}

/// Threads for what is queued, as many as the core has grown by. How many are needed is not
/// known; this many, or until the queue is empty, does no harm.
void thread_pool_core::start_for_queued(int more) {
    if (more <= 0) return;
    for (auto left = std::min(static_cast<std::size_t>(more), queue_->size()); left > 0; --left)
        if (!add_worker(nullptr, limit::core) || queue_->empty()) return;
}

void thread_pool_core::set_maximum_pool_size(int maximum) {
    {
        std::lock_guard lock(mutex_);
        check_sizes(core_size_.load(), maximum);
        maximum_size_.store(maximum);
    }
    nudge_workers();  // those beyond it leave; whoever waits for a place may get a thread
}

void thread_pool_core::set_keep_alive(std::chrono::nanoseconds keep_alive) {
    {
        std::lock_guard lock(mutex_);
        check_times(keep_alive, core_times_out_.load());
        if (keep_alive_.exchange(keep_alive) <= keep_alive) return;
    }
    nudge_workers();
}

void thread_pool_core::allow_core_thread_time_out(bool allow) {
    {
        std::lock_guard lock(mutex_);
        check_times(keep_alive_.load(), allow);
        if (core_times_out_.exchange(allow) == allow || !allow) return;
    }
    nudge_workers();
}

void thread_pool_core::set_thread_factory(thread_factory factory) {
    auto next = checked(std::move(factory), "thread_factory");
    std::lock_guard lock(mutex_);
    factory_.swap(next);
}

void thread_pool_core::set_rejected_execution_handler(rejected_execution_handler handler) {
    auto next = checked(std::move(handler), "rejected_execution_handler");
    std::lock_guard lock(mutex_);
    handler_.swap(next);
    plain_handler_.store(plain(*handler_));
}

thread_factory thread_pool_core::factory() const {
    std::shared_ptr<const thread_factory> now;
    {
        std::lock_guard lock(mutex_);
        now = factory_;
    }
    return *now;
}

rejected_execution_handler thread_pool_core::handler() const { return *shared_handler(); }

bool thread_pool_core::remove(std::uintptr_t identity) {
    task removed;  // destroyed under no lock
    if (identity == 0 || !take_back(identity, removed)) return false;
    count_withdrawn(1);
    return true;
}

std::size_t thread_pool_core::remove_if(function_ref<bool(const task&)> unwanted) {
    struct at_the_end {
        thread_pool_core& pool;
        ~at_the_end() { pool.queue_was_searched(); }
    } const tells{*this};
    std::vector<task> removed;
    const search exclusive(*this);
    const auto count = queue_->extract_if(unwanted, removed);
    count_withdrawn(static_cast<std::int64_t>(count));
    return count;
}

namespace {

/// Raises `most` to `seen`, and returns what it is then.
std::int64_t raised(std::atomic<std::int64_t>& most, std::int64_t seen) noexcept {
    auto before = most.load(std::memory_order_relaxed);
    while (before < seen && !most.compare_exchange_weak(before, seen, std::memory_order_relaxed)) {}
    return std::max(before, seen);
}

}  // namespace

pool_snapshot thread_pool_core::snapshot() const {
    pool_snapshot s;
    s.name = name_;
    s.rejected_task_count = rejected_.load();
    s.uncaught_count = uncaught_.load(std::memory_order_relaxed);
    // Before all places where a task may be: one that moves may be missed, never seen twice.
    const auto gone = s.rejected_task_count + withdrawn_.load() + dropped_timers_.load();
    std::int64_t running = 0;
    {
        std::lock_guard lock(mutex_);
        s.state = state();
        s.core_pool_size = core_size_.load();
        s.maximum_pool_size = maximum_size_.load();
        s.keep_alive = keep_alive_.load();
        s.allows_core_thread_time_out = core_times_out_.load();
        s.pool_size = s.state >= run_state::tidying ? 0 : static_cast<int>(workers_.size());
        s.largest_pool_size = largest_size_;
        s.completed_task_count = completed_;
        for (const auto& w : workers_) {
            const auto tally = w->tally();
            s.completed_task_count += worker::completed(tally);
            running += worker::running(tally);
            if (worker::running(tally) > 0) ++s.active_count;
        }
    }
    // After the lock, for the two are never held together, and after the workers, so that a task
    // on its way from the queue to a worker is not counted twice.
    s.queue_size = queue_->size();
    s.queue_remaining_capacity = queue_->remaining_capacity();
    s.task_count = s.completed_task_count + running + static_cast<std::int64_t>(s.queue_size);
    s.submitted_task_count =
        raised(most_submitted_, s.task_count + gone - offered_again_.load());  // after the queue
    return s;
}

}  // namespace cadre::detail
