// SPDX-License-Identifier: Apache-2.0
//
// The public face of the pool; what it does is in thread_pool_core.cpp.

#include <cadre/thread_pool_executor.hpp>

#include <sstream>

#include <cadre/errors.hpp>

#include "thread_pool_core.hpp"

namespace cadre {

namespace {

/// Here a maximum of zero and a missing queue are mistakes, not defaults.
thread_pool_options options_of(int core, int maximum, std::chrono::nanoseconds keep_alive,
                               std::unique_ptr<blocking_queue<task>> queue, thread_factory factory,
                               rejected_execution_handler handler) {
    if (maximum <= 0)
        throw std::invalid_argument("maximum_pool_size (" + std::to_string(maximum) +
                                    ") is not positive");
    if (!queue) throw std::invalid_argument("queue is null");
    thread_pool_options options;
    options.core_pool_size = core;
    options.maximum_pool_size = maximum;
    options.keep_alive = keep_alive;
    options.queue = std::move(queue);
    options.thread_factory = std::move(factory);
    options.rejection = std::move(handler);
    return options;
}

/// For whatever needs the threads or the locks of the pool: in a child of fork() those are not
/// there, and those somebody may have held who is not there either.
detail::thread_pool_core& at_home(const std::shared_ptr<detail::thread_pool_core>& core) {
    core->check_process();
    return *core;
}

}  // namespace

thread_pool_executor::thread_pool_executor(thread_pool_options options)
    : core_(detail::thread_pool_core::make(std::move(options))) {}

thread_pool_executor::thread_pool_executor(int core_pool_size, int maximum_pool_size,
                                           std::chrono::nanoseconds keep_alive,
                                           std::unique_ptr<blocking_queue<task>> queue,
                                           cadre::thread_factory factory,
                                           cadre::rejected_execution_handler handler)
    : thread_pool_executor(options_of(core_pool_size, maximum_pool_size, keep_alive,
                                      std::move(queue), std::move(factory), std::move(handler))) {}

thread_pool_executor::~thread_pool_executor() {
    if (core_->is_inherited()) {
        core_->keep_for_ever();
        return;
    }
    core_->shutdown();
    if (core_->is_called_inside())
        core_->outlive_caller();
    else
        core_->await_end();
}

void thread_pool_executor::execute(task t) { core_->execute(std::move(t), *this); }
std::shared_ptr<const void> thread_pool_executor::kept() const { return core_; }

void thread_pool_executor::shutdown() { at_home(core_).shutdown(); }

std::vector<task> thread_pool_executor::shutdown_now() { return at_home(core_).shutdown_now(); }

bool thread_pool_executor::is_shutdown() const { return state() >= run_state::shutdown; }

bool thread_pool_executor::is_terminating() const {
    const auto now = state();
    return now >= run_state::shutdown && now < run_state::terminated;
}

bool thread_pool_executor::is_terminated() const { return state() == run_state::terminated; }

bool thread_pool_executor::await_termination(std::chrono::nanoseconds timeout) {
    auto& core = at_home(core_);
    // As in the JDK, whoever does not wait cannot be interrupted.
    if (timeout.count() <= 0) return core.state() == run_state::terminated;
    return core.await_termination(detail::deadline_after(timeout));
}

void thread_pool_executor::close() {
    if (at_home(core_).is_called_inside())
        throw illegal_state("close() inside the pool would wait for itself");
    core_->shutdown();
    core_->begin_close();
    executor_service::close();
}

int thread_pool_executor::core_pool_size() const { return core_->core_pool_size(); }
void thread_pool_executor::set_core_pool_size(int core) { at_home(core_).set_core_pool_size(core); }
int thread_pool_executor::maximum_pool_size() const { return core_->maximum_pool_size(); }
void thread_pool_executor::set_maximum_pool_size(int maximum) {
    at_home(core_).set_maximum_pool_size(maximum);
}
void thread_pool_executor::resize(int core, int maximum) { at_home(core_).resize(core, maximum); }
std::chrono::nanoseconds thread_pool_executor::keep_alive() const { return core_->keep_alive(); }
void thread_pool_executor::set_keep_alive(std::chrono::nanoseconds keep_alive) {
    at_home(core_).set_keep_alive(keep_alive);
}
bool thread_pool_executor::allows_core_thread_time_out() const {
    return core_->allows_core_thread_time_out();
}
void thread_pool_executor::allow_core_thread_time_out(bool allow) {
    at_home(core_).allow_core_thread_time_out(allow);
}
cadre::thread_factory thread_pool_executor::thread_factory() const {
    return at_home(core_).factory();
}
void thread_pool_executor::set_thread_factory(cadre::thread_factory factory) {
    at_home(core_).set_thread_factory(std::move(factory));
}
cadre::rejected_execution_handler thread_pool_executor::rejected_execution_handler() const {
    return at_home(core_).handler();
}
void thread_pool_executor::set_rejected_execution_handler(
    cadre::rejected_execution_handler handler) {
    at_home(core_).set_rejected_execution_handler(std::move(handler));
}

bool thread_pool_executor::prestart_core_thread() { return at_home(core_).prestart_core_thread(); }
int thread_pool_executor::prestart_all_core_threads() {
    return at_home(core_).prestart_all_core_threads();
}

bool thread_pool_executor::remove_task(const detail::future_core* wanted) {
    return at_home(core_).remove(reinterpret_cast<std::uintptr_t>(wanted));
}

std::size_t thread_pool_executor::remove_if(function_ref<bool(const task&)> unwanted) {
    return at_home(core_).remove_if(unwanted);
}

void thread_pool_executor::purge() {
    at_home(core_).remove_if([](const task& t) {
        const auto* result = detail::result_of(t);
        return result && result->is_cancelled();
    });
}

blocking_queue<task>& thread_pool_executor::queue() { return core_->queue(); }
const blocking_queue<task>& thread_pool_executor::queue() const { return core_->queue(); }

const std::string& thread_pool_executor::name() const { return core_->name(); }
int thread_pool_executor::pool_size() const { return snapshot().pool_size; }
int thread_pool_executor::active_count() const { return snapshot().active_count; }
int thread_pool_executor::largest_pool_size() const { return snapshot().largest_pool_size; }
std::int64_t thread_pool_executor::task_count() const { return snapshot().task_count; }
std::int64_t thread_pool_executor::completed_task_count() const {
    return snapshot().completed_task_count;
}
run_state thread_pool_executor::state() const { return core_->state(); }
pool_snapshot thread_pool_executor::snapshot() const { return at_home(core_).snapshot(); }

std::string thread_pool_executor::to_string() const {
    const auto s = snapshot();
    std::ostringstream out;
    out << "thread_pool_executor@";
    if (s.name.empty())
        out << static_cast<const void*>(this);
    else
        out << s.name;
    out << '['
        << (s.state == run_state::running      ? "Running"
            : s.state == run_state::terminated ? "Terminated"
                                               : "Shutting down")
        << ", pool size = " << s.pool_size << ", active threads = " << s.active_count
        << ", queued tasks = " << s.queue_size << ", completed tasks = " << s.completed_task_count
        << ']';
    return out.str();
}

// ---- policies

namespace {

/// A task that is counted as rejected is offered to its pool again; or one that comes past the
/// pool, by a call of the policy, for the first time.
class [[nodiscard]] second_offer {
public:
    second_offer(detail::thread_pool_core& pool, task& t) : pool_(pool) {
        if (!pool_.adopt(t)) pool_.count_offered_again();
    }
    ~second_offer() {
        if (!succeeded_) pool_.count_withdrawn(1);
    }
    second_offer(const second_offer&) = delete;
    second_offer& operator=(const second_offer&) = delete;
    void succeeded() noexcept { succeeded_ = true; }

private:
    detail::thread_pool_core& pool_;
    bool succeeded_ = false;
};

}  // namespace

void abort_policy::operator()(task t, thread_pool_executor& pool) const {
    throw rejected_execution(detail::called(t) + " was rejected from " + pool.to_string());
}

void caller_runs_policy::operator()(task t, thread_pool_executor& pool) const {
    if (!pool.is_shutdown()) t();
}

void discard_policy::operator()(task, thread_pool_executor&) const {}

void discard_oldest_policy::operator()(task t, thread_pool_executor& pool) const {
    // If there is nothing to drop, another thread took it, and a third the place: again. Only a
    // queue that never has a place, a synchronous one, goes on like that.
    constexpr int most_misses = 1000;
    second_offer offered(*pool.core_, t);
    for (int misses = 0; !pool.is_shutdown(); ++misses) {
        const auto failed_before = pool.core_->failed_threads();
        const auto oldest = pool.queue().poll();  // cancelled when it is dropped here
        if (oldest) pool.core_->count_withdrawn(1);
        if (pool.core_->admit(t)) return offered.succeeded();
        if (oldest) misses = 0;
        if (misses == most_misses || pool.core_->system_refused_since(failed_before))
            abort_policy{}(std::move(t), pool);
        if (!oldest) std::this_thread::yield();
    }
}

void block_policy::operator()(task t, thread_pool_executor& pool) const {
    // Called by a handler of the user's own: by itself, the pool knows it and rejects nothing yet.
    second_offer offered(*pool.core_, t);
    pool.core_->admit_waiting(t, detail::deadline_after(timeout));
    offered.succeeded();
}

}  // namespace cadre
