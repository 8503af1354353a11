// SPDX-License-Identifier: Apache-2.0
//
// How a task comes into a pool: to a core thread, else into the queue, else to an extra thread,
// else to the rejection handler. The whole is told in thread_pool_core.cpp.

#include "thread_pool_core.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <cadre/context.hpp>
#include <cadre/detail/schedule_point.hpp>
#include <cadre/errors.hpp>

#include "coarse_stamp.hpp"

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
        const auto pool = pool_.lock();
        if (pool && !pool->is_inherited()) pool->remove(reinterpret_cast<std::uintptr_t>(&task));
    }

private:
    std::atomic<int> references_ = 1;
    const std::weak_ptr<thread_pool_core> pool_;
};

/// A number that no other task has.
std::uintptr_t new_number() noexcept {
    constexpr std::uintptr_t block = 1 << 16;
    static std::atomic<std::uintptr_t> next_block = 0;
    thread_local std::uintptr_t next = 0;
    if (next % block == 0) next = next_block.fetch_add(block, std::memory_order_relaxed);
    return next++;
}

/// Odd, so that it is no address of a future's state.
std::uintptr_t identity_of(std::uintptr_t number) noexcept { return number << 1 | 1; }

/// True for one number in 512, which are spread evenly over every sequence of equal steps: a thread
/// may feed several pools in turns, or tasks that are slow at every tenth.
bool is_in_sample(std::uintptr_t number) noexcept {
    return static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15u >> 55 == 0;
}

/// Gives a task without identity one that no other task has, made of the stamp, so that it needs
/// no memory. False if it has one, or the stamp does not do: that must be larger than all before.
bool stamp_inside(task& t, std::int64_t stamp) noexcept {
    constexpr std::int64_t most = std::int64_t{1} << 61;
    static std::atomic<std::int64_t> last = 0;
    if (task_access::identity(t) != 0 || sizeof(std::uintptr_t) < sizeof(stamp)) return false;
    auto seen = last.load(std::memory_order_relaxed);
    if (stamp <= seen || stamp >= most ||
        !last.compare_exchange_strong(seen, stamp, std::memory_order_relaxed))
        return false;
    task_access::set_identity(
        t, task_access::stamp_inside | static_cast<std::uintptr_t>(stamp) << 1 | 1);
    return true;
}

/// The task that a rejection handler is being given on this thread: if the handler executes it
/// again, it is not decorated again.
struct rejection_under_way {
    const thread_pool_core* pool;
    std::uintptr_t identity;
};
thread_local const rejection_under_way* rejecting = nullptr;

bool is_being_rejected(const thread_pool_core& pool, const task& t) noexcept {
    const auto identity = task_access::identity(t);
    return identity != 0 && rejecting && rejecting->pool == &pool &&
           rejecting->identity == identity;
}

/// Who adds a task and then looks for it in the queue must not take another one for it. A state
/// that only the task itself keeps may be gone by then, and its address be that of another's: so it
/// is kept. Every other state is kept by whoever has the future, as a rule the caller.
intrusive_ptr<future_core> kept_if_alone(const task& t) noexcept {
    future_core* const result = result_of(t);
    return intrusive_ptr<future_core>(result && !result->is_shared() ? result : nullptr);
}

template <class Policy>
void apply(task&& t, thread_pool_executor& face) {
    Policy{}(std::move(t), face);
}

/// As the policy does, without moving the task.
template <>
void apply<caller_runs_policy>(task&& t, thread_pool_executor& face) {
    if (!face.is_shutdown()) t();
    t = task();
}

}  // namespace

void thread_pool_core::link_cancellation() {
    cancel_link_ = intrusive_ptr<cancel_listener>::adopt(new queue_link(weak_from_this()));
}

void thread_pool_core::execute(task&& t, thread_pool_executor& face) {
    check_process();
    if (!t) throw std::invalid_argument("the task is empty");
    if (is_for_the_caller(t)) {
        rejected_.add_one();
        t();
        t = task();  // what it holds is gone when this returns, as after the policy
        return;
    }
    prepare(t);
    try {
        if (admit(t)) return;
    } catch (...) {
        count_withdrawn(1);
        throw;
    }
    reject(std::move(t), face);
}

/// In short what admission and rejection come to for most tasks of a pool that is saturated and has
/// its callers run what it rejects. One that is no future's needs no identity then.
inline bool thread_pool_core::is_for_the_caller(const task& t) const noexcept {
    const auto runs_by_caller = [&] { return plain_handler_.load() == &apply<caller_runs_policy>; };
    if (!fifo_ || !runs_by_caller()) return false;
    CADRE_SCHEDULE_POINT("between the policy and the queue");
    if (!fifo_->is_full()) return false;
    const auto seen = control_.load();
    // The policy again: it may be another since there is no room.
    return seen.is_running() && seen.workers() >= maximum_size_.load() && admits_plainly_ &&
           task_access::identity(t) == 0 && !is_context_carried() && runs_by_caller();
}

/// What execute() comes to on a thread that is one of the workers, as it has a deque: there is
/// somebody to run the task. One that is no future's needs no identity, for nobody looks for it.
void thread_pool_core::execute_nested(task&& t, thread_pool_executor& face) {
    auto* const own = stealing_->own_slot();
    const auto identity = task_access::identity(t);
    const bool was_numbered = identity & 1;
    if (!own || !t || was_numbered || !admits_plainly_ || is_context_carried() || is_inherited())
        return execute(std::move(t), face);
    const auto seen = control_.load();
    if (!seen.is_running() || seen.workers() < core_size_.load())
        return execute(std::move(t), face);
    if (identity != 0) make_home_of(*result_of(t));
    const void* pushed = nullptr;
    try {
        pushed = stealing_->push(*own, std::move(t));
    } catch (...) {
        count_withdrawn(1);
        throw;
    }
    if (control_.load().is_running() || !stealing_->take_back(*own, pushed, t)) return;
    try_terminate();
    if (identity == 0) task_access::set_identity(t, identity_of(new_number()));  // for the handler
    reject(std::move(t), face);
}

bool thread_pool_core::adopt(task& t) {
    check_process();
    if (!t) throw std::invalid_argument("the task is empty");
    const future_core* const result = result_of(t);
    if (is_being_rejected(*this, t) || (result && result->home() == this)) return false;
    prepare(t);
    return true;
}

/// Makes the task one of this pool's.
void thread_pool_core::prepare(task& t) {
    if (is_being_rejected(*this, t)) return;
    if (future_core* result = result_of(t)) {
        make_home_of(*result);
        if (remove_on_cancel_) result->set_cancel_listener(cancel_link_);
    }
    if (hooks_.decorate_task) t = decorated(hooks_.decorate_task, std::move(t));
    if (is_context_carried()) t = decorated(with_context, std::move(t));
    const bool is_new = task_access::identity(t) == 0;
    if (!observer_) {
        if (is_new) task_access::set_identity(t, identity_of(new_number()));
        return;
    }
    const auto number = is_new ? new_number() : 0;
    const auto tick = has_room_for_coarse_stamp ? observer_->tick() : 0;
    if (is_new && tick != 0 && !is_in_sample(number) && task_access::is_bare(t))
        return task_access::set_identity(t, coarse_identity(number, tick));
    if (const auto stamp = observer_->task_submitted())
        if (!stamp_inside(t, stamp)) t = stamped(std::move(t), stamp);
    if (task_access::identity(t) == 0) task_access::set_identity(t, identity_of(number));
}

bool thread_pool_core::admit(task& t) {
    if (control_.load().workers() < core_size_.load() && add_worker(&t, limit::core)) return true;
    if (control_.load().is_running()) {
        const auto kept = kept_if_alone(t);
        const auto identity = task_access::identity(t);
        if (fifo_       ? fifo_->try_insert(std::move(t))
            : stealing_ ? (stealing_->push(std::move(t)), true)
                        : queue_->offer(std::move(t)))
            return confirm_queued(identity, t);
    }
    // As add_worker() would find, in short: most tasks that find the queue full end here.
    if (control_.load().workers() >= maximum_size_.load()) return false;
    return add_worker(&t, limit::maximum);
}

bool thread_pool_core::confirm_queued(std::uintptr_t identity, task& t) {
    const auto seen = control_.load();
    if (!seen.is_running() && take_back(identity, t)) return false;
    if (seen.workers() != 0) return true;
    const auto failed_before = failed_threads();
    try {
        if (add_worker(nullptr, limit::maximum)) return true;
    } catch (...) {
        if (take_back(identity, t)) throw;  // the submitter is told, so it must not run
        tell_uncaught(task(), std::current_exception());
    }
    return !system_refused_since(failed_before) || !take_back(identity, t);
}

/// Takes a task out of the queue again. False if it is not there: somebody has it.
bool thread_pool_core::take_back(std::uintptr_t identity, task& t) {
    if (stealing_) {
        if (!stealing_->take_back(identity, t)) return false;
        try_terminate();
        return true;
    }
    std::optional<task> found;
    {
        const auto is_wanted = [=](const task& queued) {
            return task_access::identity(queued) == identity;
        };
        const search exclusive(*this);
        found = fifo_ ? fifo_->extract_only(is_wanted) : queue_->extract_first(is_wanted);
    }
    if (found) t = std::move(*found);
    queue_was_searched();
    return found.has_value();
}

/// True only if the queue was seen empty while no search was under way.
bool thread_pool_core::is_nothing_queued() const {
    const auto ended = searches_ended_.load();
    return searches_begun_.load() == ended && queue_->empty() && searches_begun_.load() == ended;
}

thread_pool_core::plain_handler thread_pool_core::plain(const rejected_execution_handler& handler) {
    if (handler.target<caller_runs_policy>()) return &apply<caller_runs_policy>;
    if (handler.target<discard_policy>()) return &apply<discard_policy>;
    if (handler.target<discard_oldest_policy>()) return &apply<discard_oldest_policy>;
    if (handler.target<abort_policy>()) return &apply<abort_policy>;
    return nullptr;
}

std::shared_ptr<const rejected_execution_handler> thread_pool_core::shared_handler() const {
    std::lock_guard lock(mutex_);
    return handler_;
}

inline void thread_pool_core::tell_rejected(const task& t) noexcept {
    rejected_.add_one();
    if (observer_) observer_->task_rejected(t);
}

/// Who waits for a place most often gets one, and then nothing was rejected. False if the handler
/// is none that waits.
[[gnu::noinline]] bool thread_pool_core::admit_by_block_policy(task& t) {
    const auto handler = shared_handler();
    const auto* block = handler->target<block_policy>();
    if (!block) return false;
    try {
        admit_waiting(t, deadline_after(block->timeout));
    } catch (...) {
        tell_rejected(t);
        throw;
    }
    return true;
}

void thread_pool_core::reject(task&& t, thread_pool_executor& face) {
    const auto apply_policy = plain_handler_.load();
    if (!apply_policy && admit_by_block_policy(t)) return;
    tell_rejected(t);
    const rejection_under_way this_one{this, task_access::identity(t)};
    struct restore {
        const rejection_under_way* before;
        ~restore() { rejecting = before; }
    } const restored{std::exchange(rejecting, &this_one)};
    // Kept, so that no task that the handler makes has the same address.
    const intrusive_ptr<future_core> result(result_of(t));
    if (apply_policy) return apply_policy(std::move(t), face);
    (*shared_handler())(std::move(t), face);
}

void thread_pool_core::refuse(const task& t, const char* why) const {
    const auto now = snapshot();
    throw rejected_execution(
        called(t) + " was rejected" + (name_.empty() ? std::string() : " by pool '" + name_ + "'") +
        ": " + why + " (threads " + std::to_string(now.pool_size) + " of " +
        std::to_string(now.maximum_pool_size) + ", queued " + std::to_string(now.queue_size) + ")");
}

void thread_pool_core::admit_waiting(task& t, steady_time deadline) {
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
    const auto kept = kept_if_alone(t);
    const auto identity = task_access::identity(t);
    for (;;) {
        self.take_nudge();  // before the look at the state: one that comes later ends the wait
        const auto failed_before = failed_threads();
        if (admit(t)) return;
        const auto seen = control_.load();
        if (!seen.is_running()) refuse(t, "the pool is shut down");
        if (seen.workers() == 0) {  // nobody would make room
            if (failed_threads() != failed_before) refuse(t, "no thread could be had");
            continue;
        }
        try {
            const auto now = std::chrono::steady_clock::now();
            const auto rest = deadline == forever ? std::chrono::nanoseconds::max()
                                                  : std::chrono::nanoseconds(deadline - now);
            const nudgeable_scope nudgeable(self);  // no users' code inside: it would feel a nudge
            if (!queue_->offer_for(std::move(t), rest)) refuse(t, "no place became free in time");
        } catch (const interrupted&) {
            if (!self.was_only_nudged()) throw;
            continue;
        }
        if (confirm_queued(identity, t)) return;
    }
}

bool thread_pool_core::system_refused_since(std::uint32_t failed_before) const noexcept {
    if (failed_threads() == failed_before || control_.load().workers() != 0) return false;
    const std::lock_guard lock(mutex_);
    return is_own_factory(*factory_);
}

void thread_pool_core::ensure_worker() {
    if (lacks_worker()) add_worker(nullptr, limit::core_or_one);
}

void thread_pool_core::ensure_worker_quietly() noexcept {
    try {
        ensure_worker();
    } catch (...) {
        tell_uncaught(task(), std::current_exception());
    }
}

void thread_pool_core::require_worker() {
    const auto seen = control_.load();
    if (seen.workers() != 0 || seen.awaits_successor()) return;
    const auto failed_before = failed_threads();
    if (add_worker(nullptr, limit::core_or_one)) return;
    // Else there is nothing to do any more, or another thread has added one.
    if (failed_threads() != failed_before && is_stranded())
        throw illegal_state(
            "tasks are due, and the pool's thread factory refuses to make a thread");
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
