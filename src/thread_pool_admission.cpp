// SPDX-License-Identifier: Apache-2.0
//
// How a task comes into a pool: to a core thread, else into the queue, else to an extra thread,
// else to the rejection handler. The whole is told in thread_pool_core.cpp.

#include "thread_pool_core.hpp"

#include <algorithm>
#include <utility>

#include <cadre/errors.hpp>

namespace cadre::detail {

namespace {

/// Takes a cancelled task out of the queue of its pool, if that is still there.
class queue_link final : public cancel_listener {
public:
    explicit queue_link(std::weak_ptr<thread_pool_core> pool) : pool_(std::move(pool)) {}
    void add_ref() noexcept override { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept override {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }
    void cancelled(const future_core& task) override {
        if (const auto pool = pool_.lock()) pool->remove(reinterpret_cast<std::uintptr_t>(&task));
    }

private:
    std::atomic<int> references_ = 1;
    const std::weak_ptr<thread_pool_core> pool_;
};

/// A number that no other task has. Odd, so that it is no address of a future's state.
std::uintptr_t new_identity() noexcept {
    constexpr std::uintptr_t block = 1 << 16;
    static std::atomic<std::uintptr_t> next_block = 0;
    thread_local std::uintptr_t next = 0;
    if (next % block == 0) next = next_block.fetch_add(block, std::memory_order_relaxed);
    return next++ << 1 | 1;
}

/// The task that a rejection handler is being given on this thread: if the handler executes it
/// again, it is not decorated again.
struct rejection_under_way {
    const thread_pool_core* pool = nullptr;
    std::uintptr_t identity = 0;
};
thread_local rejection_under_way rejecting;

/// What decorate_task made of a task, with the identity, name and priority of that task.
struct decorated_task {
    task inner;
    intrusive_ptr<future_core> result;
    std::string name;
    int priority;

    void operator()() { inner(); }
    std::string_view task_name() const noexcept {
        return inner.name().empty() ? std::string_view(name) : inner.name();
    }
    int task_priority() const noexcept { return inner.priority() ? inner.priority() : priority; }
    std::uintptr_t task_identity() const noexcept {
        return reinterpret_cast<std::uintptr_t>(result.get());
    }
};

}  // namespace

void thread_pool_core::link_cancellation() {
    cancel_link_ = intrusive_ptr<cancel_listener>::adopt(new queue_link(weak_from_this()));
}

void thread_pool_core::execute(task t, thread_pool_executor& face) {
    if (!t) throw std::invalid_argument("the task is empty");
    t = prepare(std::move(t));
    if (!admit(t)) reject(std::move(t), face);
}

/// Makes the task one of this pool's.
task thread_pool_core::prepare(task t) {
    const auto identity = task_access::identity(t);
    if (identity != 0 && rejecting.pool == this && rejecting.identity == identity) return t;
    if (future_core* result = result_of(t)) {
        result->set_home(this);
        if (remove_on_cancel_) result->set_cancel_listener(cancel_link_);
    }
    if (hooks_.decorate_task) t = decorated(std::move(t));
    if (task_access::identity(t) == 0) task_access::set_identity(t, new_identity());
    return t;
}

task thread_pool_core::decorated(task t) {
    decorated_task made{
        {}, intrusive_ptr<future_core>(result_of(t)), std::string(t.name()), t.priority()};
    made.inner = hooks_.decorate_task(std::move(t));
    if (!made.inner) throw std::invalid_argument("decorate_task returned an empty task");
    return task(std::move(made));
}

bool thread_pool_core::admit(task& t) {
    const auto seen = control_.load();
    if (seen.workers() < core_size_.load() && add_worker(&t, limit::core)) return true;
    if (control_.load().is_running()) {
        const auto identity = task_access::identity(t);
        if (queue_->offer(std::move(t))) return confirm_queued(identity, t);
    }
    return add_worker(&t, limit::maximum);
}

bool thread_pool_core::confirm_queued(std::uintptr_t identity, task& t) {
    const auto seen = control_.load();
    if (!seen.is_running() && take_back(identity, t)) return false;
    if (seen.workers() != 0) return true;
    try {
        add_worker(nullptr, limit::maximum);
    } catch (...) {
        if (take_back(identity, t)) throw;  // the submitter is told, so it must not run
        tell_uncaught(task(), std::current_exception());
    }
    return true;
}

/// Takes a task out of the queue again. False if it is not there: somebody has it.
bool thread_pool_core::take_back(std::uintptr_t identity, task& t) {
    auto found = queue_->extract_first(
        [=](const task& queued) { return task_access::identity(queued) == identity; });
    if (!found) return false;
    t = std::move(*found);
    try_terminate();  // in case the pool waited for the queue to be empty
    return true;
}

void thread_pool_core::reject(task t, thread_pool_executor& face) {
    rejected_.fetch_add(1, std::memory_order_relaxed);
    std::shared_ptr<const rejected_execution_handler> handler;
    {
        std::lock_guard lock(mutex_);
        handler = handler_;
    }
    struct restore {
        rejection_under_way before = rejecting;
        ~restore() { rejecting = before; }
    } const restored;
    rejecting = {this, task_access::identity(t)};
    (*handler)(std::move(t), face);
}

void thread_pool_core::refuse(const task& t, const char* why) const {
    const auto now = snapshot();
    throw rejected_execution(
        (t.name().empty() ? std::string("a task") : "task '" + std::string(t.name()) + "'") +
        " was rejected" + (name_.empty() ? std::string() : " by pool '" + name_ + "'") + ": " +
        why + " (threads " + std::to_string(now.pool_size) + " of " +
        std::to_string(now.maximum_pool_size) + ", queued " + std::to_string(now.queue_size) + ")");
}

void thread_pool_core::admit_waiting(task t, steady_time deadline) {
    auto& self = thread_control::current();
    struct listed {
        thread_pool_core& pool;
        thread_control* self;
        ~listed() {
            std::lock_guard lock(pool.mutex_);
            auto& all = pool.waiting_submitters_;
            all.erase(std::find(all.begin(), all.end(), self));
        }
    };
    {
        std::lock_guard lock(mutex_);
        waiting_submitters_.push_back(&self);
    }
    const listed until_the_end{*this, &self};
    const nudgeable_scope nudgeable(self);
    const auto identity = task_access::identity(t);
    for (;;) {
        self.take_nudge();  // before the look at the state: one that comes later ends the wait
        if (admit(t)) return;
        if (!control_.load().is_running()) refuse(t, "the pool is shut down");
        try {
            const auto now = std::chrono::steady_clock::now();
            const auto rest = deadline == forever ? std::chrono::nanoseconds::max()
                                                  : std::chrono::nanoseconds(deadline - now);
            if (!queue_->offer_for(std::move(t), rest)) refuse(t, "no place became free in time");
            if (confirm_queued(identity, t)) return;
        } catch (const interrupted&) {
            if (!self.was_only_nudged()) throw;
        }
    }
}

void thread_pool_core::ensure_worker() {
    if (control_.load().workers() < core_size_.load() && add_worker(nullptr, limit::core)) return;
    if (control_.load().workers() == 0) add_worker(nullptr, limit::maximum);
}

void thread_pool_core::ensure_worker_quietly() noexcept {
    try {
        ensure_worker();
    } catch (...) {
        tell_uncaught(task(), std::current_exception());
    }
}

bool thread_pool_core::prestart_core_thread() {
    return control_.load().workers() < core_size_.load() && add_worker(nullptr, limit::core);
}

int thread_pool_core::prestart_all_core_threads() {
    // Bounded: with a short keep-alive, threads may leave as fast as they come.
    const int most = core_size_.load();
    int started = 0;
    while (started < most && add_worker(nullptr, limit::core)) ++started;
    return started;
}

}  // namespace cadre::detail
