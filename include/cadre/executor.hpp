// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/detail/invoke_batch.hpp>
#include <cadre/future.hpp>
#include <cadre/task.hpp>

namespace cadre {

namespace detail {
class schedule_awaiter;
}

/// Whoever runs tasks, now or later, here or on another thread.
class CADRE_API executor {
public:
    executor() = default;
    executor(const executor&) = delete;
    executor& operator=(const executor&) = delete;
    virtual ~executor() = default;

    /// Accepts the task exactly when it returns; else throws, and the task is destroyed.
    virtual void execute(task t) = 0;

    /// What execute() may still touch when the task is over: a pool's own state, say. Whoever hands
    /// on a task by whose end others may learn that this executor is needed no more, as then() and
    /// co_await do, keeps it until execute() returns. Null, as here: nothing, or the caller sees to
    /// it.
    virtual std::shared_ptr<const void> kept() const { return nullptr; }

    /// co_await where.schedule() moves a coroutine here. See <cadre/coroutine.hpp>, which is
    /// needed.
    detail::schedule_awaiter schedule(std::stop_token stop = {});
};

/// An executor that gives out results and can be shut down.
///
/// Callables are moved or copied into the executor and called there without arguments, or with a
/// std::stop_token first, which cancel(true) and shutdown_now() stop.
class CADRE_API executor_service : public executor {
public:
    /// Has f(args...) run, and gives its result. f and the arguments are copied or moved, as with
    /// std::thread. Throws std::invalid_argument if f is empty, rejected_execution if refused.
    template <class F, class... Args>
    [[nodiscard]] auto submit(F&& f, Args&&... args)
        -> future<detail::task_result_t<std::decay_t<F>, std::decay_t<Args>...>> {
        using result = detail::task_result_t<std::decay_t<F>, std::decay_t<Args>...>;
        auto core = detail::make_runnable<result>(std::forward<F>(f), std::forward<Args>(args)...);
        core->add_first_ref();
        auto handle = detail::future_access::make<result>(
            detail::intrusive_ptr<detail::future_core>::adopt(core.get()));
        execute(task(detail::run_handle(std::move(core))));
        return handle;
    }

    /// Runs all and waits until each has succeeded or failed; the futures come in the order of
    /// the callables and are done. If one is refused, those before are cancelled and waited for,
    /// and the refusal is thrown. If the caller is interrupted, all are cancelled and interrupted.
    template <std::ranges::input_range Range>
    auto invoke_all(Range&& callables) {
        return detail::invoke_all(*this, std::forward<Range>(callables), detail::forever);
    }
    template <class F>
    auto invoke_all(std::initializer_list<F> callables) {
        return detail::invoke_all(*this, callables, detail::forever);
    }
    /// The same, up to a timeout: what is not complete then is cancelled and interrupted, but not
    /// waited for: what it refers to must live longer.
    template <std::ranges::input_range Range, class Rep, class Period>
    auto invoke_all(Range&& callables, std::chrono::duration<Rep, Period> timeout) {
        return detail::invoke_all(*this, std::forward<Range>(callables),
                                  detail::deadline_after(detail::saturated(timeout)));
    }
    template <class F, class Rep, class Period>
    auto invoke_all(std::initializer_list<F> callables,
                    std::chrono::duration<Rep, Period> timeout) {
        return detail::invoke_all(*this, callables,
                                  detail::deadline_after(detail::saturated(timeout)));
    }

    /// The value of one that succeeded; if none did, throws what the last to fail threw. The
    /// others are cancelled and interrupted, but not waited for: what they refer to must live
    /// longer. Throws std::invalid_argument if there is no callable or one is empty.
    template <std::ranges::input_range Range>
    decltype(auto) invoke_any(Range&& callables) {
        return detail::invoke_any(*this, std::forward<Range>(callables), detail::forever);
    }
    template <class F>
    decltype(auto) invoke_any(std::initializer_list<F> callables) {
        return detail::invoke_any(*this, callables, detail::forever);
    }
    /// The same; throws timeout if none has succeeded, and not all have failed, in time.
    template <std::ranges::input_range Range, class Rep, class Period>
    decltype(auto) invoke_any(Range&& callables, std::chrono::duration<Rep, Period> timeout) {
        return detail::invoke_any(*this, std::forward<Range>(callables),
                                  detail::deadline_after(detail::saturated(timeout)));
    }
    template <class F, class Rep, class Period>
    decltype(auto) invoke_any(std::initializer_list<F> callables,
                              std::chrono::duration<Rep, Period> timeout) {
        return detail::invoke_any(*this, callables,
                                  detail::deadline_after(detail::saturated(timeout)));
    }

    /// No more tasks; those accepted are run. Returns at once; no effect if shut down already.
    virtual void shutdown() = 0;
    /// No more tasks; running ones are interrupted and their tokens stopped; those that never
    /// started are returned, and are cancelled when the caller drops them.
    virtual std::vector<task> shutdown_now() = 0;
    virtual bool is_shutdown() const = 0;
    /// True if shut down and all tasks are over.
    virtual bool is_terminated() const = 0;
    /// Waits until terminated; false if the timeout came first. Throws interrupted if it waits.
    virtual bool await_termination(std::chrono::nanoseconds timeout) = 0;
    template <class Rep, class Period>
    bool await_termination(std::chrono::duration<Rep, Period> timeout) {
        return await_termination(detail::saturated(timeout));
    }

    /// shutdown(), then waits until terminated. If the caller is interrupted meanwhile, goes on
    /// with shutdown_now(), still waits, and leaves the caller's interrupt flag set.
    virtual void close();
};

}  // namespace cadre
