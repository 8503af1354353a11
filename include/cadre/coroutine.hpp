// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

#include <cadre/context.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/detail/intrusive_ptr.hpp>
#include <cadre/detail/recycled_memory.hpp>
#include <cadre/errors.hpp>
#include <cadre/executor.hpp>
#include <cadre/future.hpp>
#include <cadre/scheduled_executor_service.hpp>

/// Coroutines on executors. None of these blocks a thread.
///
///     cadre::future<page> load(cadre::executor& pool, cadre::scheduled_executor_service& timers) {
///         co_await pool.schedule();                  // goes on on a thread of the pool
///         for (;;) {
///             if (auto p = try_load()) co_return *p;
///             co_await cadre::sleep_on(timers, 100ms);
///         }
///     }
///
/// A function that returns a cadre::future may be a coroutine: it starts at once, in the thread of
/// its caller, and its future is complete when its locals and parameters are gone. A future can be
/// awaited in turn: co_await load(...). Cancelling it does not stop the coroutine, which goes on
/// unheeded; pass a stop token for that.
///
/// A coroutine is not lost when its executor refuses it, drops it or shuts down: it goes on with an
/// exception, on the thread where that happens. It may be destroyed while it waits.
///
/// Await a coroutine's future in a coroutine. A get() in a task of the pool on which the coroutine
/// is to go on holds a thread of that pool: unlike a task it cannot be run in place.
///
/// An executor that runs its tasks within execute() has a coroutine go on when execute() has
/// returned, for the sake of the stack: one of your own must not rely on being below it. A strand
/// may: what is sent there runs in its turn.

namespace cadre {

namespace detail {

/// A coroutine that a task of an executor is to resume. Shared by the two.
class CADRE_API resume_point : public in_recycled_memory {
public:
    explicit resume_point(std::coroutine_handle<> waiting) noexcept : waiting_(waiting) {}
    resume_point(const resume_point&) = delete;
    resume_point& operator=(const resume_point&) = delete;

    void add_ref() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

    /// Has an executor resume it. False if the caller is to go on with the coroutine: the executor
    /// ran the task at once, here; or it refused or dropped it, and then there is an error().
    bool send(executor& where);
    /// The coroutine is going on, or it is destroyed: not to be resumed any more.
    void forget() noexcept { ended_ = true; }
    const std::exception_ptr& error() const noexcept { return error_; }
    void set_error(std::exception_ptr error) noexcept { error_ = std::move(error); }
    /// Goes on with the coroutine here, unless it has been forgotten.
    void resume();

protected:
    virtual ~resume_point() = default;
    /// It will not be resumed as was meant; error() says why, or it has been forgotten.
    virtual void given_up() noexcept {}

private:
    friend class resume_ticket;
    enum class stage { sending, sent, dropped, used, run_by_sender };
    void drop() noexcept;

    std::atomic<int> references_ = 1;
    std::atomic<stage> stage_ = stage::sending;
    std::atomic<bool> ended_ = false;
    const std::coroutine_handle<> waiting_;
    captured_context context_;  // of the coroutine, where it waits
    std::thread::id sender_;    // set before it is sent, as
    int lanes_ = 0;             // the strands whose tasks it was in
    std::exception_ptr error_;  // of whoever is about to resume it
};

class schedule_awaiter {
public:
    schedule_awaiter(executor& where, std::stop_token stop)
        : where_(where), stop_(std::move(stop)) {}
    schedule_awaiter(const schedule_awaiter&) = delete;
    schedule_awaiter& operator=(const schedule_awaiter&) = delete;
    ~schedule_awaiter() {
        if (point_) point_->forget();
    }

    bool await_ready() const { return stop_.stop_requested(); }
    bool await_suspend(std::coroutine_handle<> waiting) {
        // A copy: once it is sent the coroutine may go on elsewhere, and this object be gone.
        const auto point = intrusive_ptr<resume_point>::adopt(new resume_point(waiting));
        point_ = point;
        return point->send(where_);
    }
    void await_resume() const {
        if (point_ && point_->error()) std::rethrow_exception(point_->error());
        if (stop_.stop_requested()) throw cancellation();
    }

private:
    executor& where_;
    const std::stop_token stop_;
    intrusive_ptr<resume_point> point_;
};

/// Waits for a future, which a stop cancels.
template <class Future>
class stoppable_awaiter {
public:
    stoppable_awaiter(Future awaited, std::stop_token stop)
        : core_(future_access::core(awaited)),
          awaiter_(std::move(awaited)),
          on_stop_(std::move(stop), [this] {
              const auto core = core_;  // going on with the coroutine destroys this object
              core->cancel_on_stop();
          }) {}

    bool await_ready() const { return awaiter_.await_ready(); }
    bool await_suspend(std::coroutine_handle<> waiting) { return awaiter_.await_suspend(waiting); }
    decltype(auto) await_resume() { return awaiter_.await_resume(); }

private:
    const intrusive_ptr<future_core> core_;
    future_awaiter<Future> awaiter_;
    const std::stop_callback<std::function<void()>> on_stop_;
};

/// Waits for a timer that nobody else knows: who has no memory to wait with, or is destroyed while
/// it waits, takes it back.
class delay_awaiter {
public:
    delay_awaiter(future<void> delay, std::stop_token stop)
        : timer_{intrusive_ptr<future_core>(future_access::core(delay))},
          awaiter_(std::move(delay), std::move(stop)) {}

    bool await_ready() const { return awaiter_.await_ready(); }
    bool await_suspend(std::coroutine_handle<> waiting) {
        const auto core = timer_.core;  // going on with the coroutine destroys this object
        try {
            return awaiter_.await_suspend(waiting);
        } catch (...) {
            core->cancel(false);
            throw;
        }
    }
    void await_resume() { awaiter_.await_resume(); }

private:
    struct own_timer {
        intrusive_ptr<future_core> core;
        ~own_timer() { core->abandon(); }
    };

    const own_timer timer_;  // before what waits for it, which a cancellation would have go on
    stoppable_awaiter<future<void>> awaiter_;
};

}  // namespace detail

/// co_await schedule_on(where): the coroutine goes on as a task of this executor. Throws what the
/// executor throws when it refuses, cancellation when it drops the task, or when a stop was
/// requested before the task started: it still waits for its turn then, to go on where it was
/// sent. The same as where.schedule().
inline detail::schedule_awaiter schedule_on(executor& where, std::stop_token stop = {}) {
    return {where, std::move(stop)};
}
inline detail::schedule_awaiter executor::schedule(std::stop_token stop) {
    return {*this, std::move(stop)};
}

/// co_await sleep_on(timers, 100ms): the coroutine goes on after the delay, on a thread of the
/// scheduler. Throws rejected_execution if that is shut down; cancellation if it shuts down
/// meanwhile and drops the delay, or when a stop is requested: then it goes on at once, on the
/// thread that requested it.
template <class Rep, class Period>
auto sleep_on(scheduled_executor_service& timers, std::chrono::duration<Rep, Period> d,
              std::stop_token stop = {}) {
    future<void> delay = timers.schedule([] {}, d);
    const detail::intrusive_ptr<detail::future_core> core(detail::future_access::core(delay));
    try {
        return detail::delay_awaiter(std::move(delay), std::move(stop));
    } catch (...) {
        core->cancel(false);
        throw;
    }
}

/// co_await await(std::move(result), stop): the same as co_await std::move(result), and when a stop
/// is requested the task is cancelled and interrupted, as by cancel(true). The coroutine goes on
/// at once then, with cancellation, on the thread that requested it.
template <class T>
auto await(future<T> awaited, std::stop_token stop) {
    return detail::stoppable_awaiter<future<T>>(std::move(awaited), std::move(stop));
}
template <class T>
auto await(shared_future<T> awaited, std::stop_token stop) {
    return detail::stoppable_awaiter<shared_future<T>>(std::move(awaited), std::move(stop));
}

namespace detail {

/// What a coroutine that returns a future keeps its result in.
template <class T>
class coroutine_result {
public:
    future<T> get_return_object() { return task_.get_future(); }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    auto final_suspend() noexcept { return ending{}; }
    void unhandled_exception() noexcept { error_ = std::current_exception(); }

protected:
    using kept = std::conditional_t<std::is_void_v<T>, std::monostate, stored_t<T>>;
    std::optional<kept> value_;

private:
    /// Destroys the coroutine, and then completes its future.
    struct ending {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        void await_suspend(std::coroutine_handle<Promise> over) const noexcept {
            coroutine_result& promise = over.promise();
            auto task = std::move(promise.task_);
            std::optional<kept> result;
            promise.take(result);
            auto error = std::move(promise.error_);
            over.destroy();
            if (error)
                task.set_exception(std::move(error));
            else if constexpr (std::is_void_v<T>)
                task.set();
            else if constexpr (std::is_reference_v<T>)
                task.set(**result);
            else
                task.set(std::move(*result));
        }
        void await_resume() const noexcept {}
    };

    // A result that cannot be moved is an error. A call: inlined, g++ 12 takes the value of an
    // empty optional for one that is used.
    [[gnu::noinline]] void take(std::optional<kept>& result) noexcept {
        try {
            if (value_) result.emplace(std::move(*value_));
        } catch (...) {
            error_ = std::current_exception();
        }
    }
    static T never_called() { std::terminate(); }
    future_task<T> task_{&coroutine_result::never_called};
    std::exception_ptr error_;
};

template <class T>
struct coroutine_promise : coroutine_result<T> {
    template <class U = T>
        requires std::convertible_to<U, T>
    void return_value(U&& value) {
        if constexpr (std::is_reference_v<T>)
            this->value_.emplace(std::addressof(value));
        else
            this->value_.emplace(std::forward<U>(value));
    }
};
template <>
struct coroutine_promise<void> : coroutine_result<void> {
    void return_void() noexcept {}
};

}  // namespace detail
}  // namespace cadre

template <class T, class... Args>
struct std::coroutine_traits<cadre::future<T>, Args...> {
    using promise_type = cadre::detail::coroutine_promise<T>;
};
