// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <type_traits>
#include <utility>

#include <cadre/executor.hpp>
#include <cadre/task.hpp>

/// Asio on a cadre executor. Not part of <cadre/cadre.hpp>: needs standalone Asio (tested
/// with 1.22); without RTTI, define ASIO_NO_TYPEID.

namespace cadre {

/// An execution context of Asio whose handlers run on a cadre executor: what is posted, strands,
/// timers, sockets, coroutines by co_spawn.
///
///     cadre::thread_pool_executor pool({.core_pool_size = 4, .name = "io"});
///     cadre::asio_context context(pool);
///     asio::post(context, [] { ... });
///     auto lane = asio::make_strand(context.get_executor());
///     asio::steady_timer timer(context.get_executor(), 10s);   // or any I/O object
///     timer.async_wait([](asio::error_code e) { ... });        // on a thread of the pool
///     asio::co_spawn(context.get_executor(), serve(), asio::detached);
///
/// The first timer or other I/O object makes Asio start a thread of its own, which waits for the
/// operating system and hands the handlers to the pool.
///
/// The pool must live longer than the context, and the context longer than its I/O objects. A pool
/// that refuses a handler throws where it is posted; a handler of an I/O object has no such place,
/// and Asio ends the process. So give it a pool with an unbounded queue or caller_runs_policy, and
/// end the context before the pool is shut down.
class asio_context : public asio::execution_context {
public:
    class executor_type;

    explicit asio_context(executor& where) : where_(where) {}  // the base of Asio allocates
    /// Waits until the pool has run or dropped every handler that it was given, and drops those of
    /// I/O objects that are still waiting. Not to be called by a handler.
    ~asio_context() {
        await_handlers();
        shutdown();
        await_handlers();  // Asio's thread may have handed over more, until it ended
        destroy();
    }
    executor_type get_executor() noexcept;

private:
    /// A handler that the pool has; it refers to the services of the context until it is gone.
    class counted {
    public:
        explicit counted(asio_context& by) noexcept : by_(&by) {
            const std::lock_guard lock(by_->mutex_);
            ++by_->handlers_;
        }
        counted(counted&& other) noexcept : by_(std::exchange(other.by_, nullptr)) {}
        counted& operator=(counted&&) = delete;
        ~counted() {
            if (!by_) return;
            const std::lock_guard lock(by_->mutex_);
            if (--by_->handlers_ == 0) by_->none_left_.notify_all();
        }

    private:
        asio_context* by_;
    };
    template <class F>
    struct handler {
        counted count;  // the first member: counted off after the function is destroyed
        F function;
        void operator()() { function(); }
    };
    void await_handlers() {
        std::unique_lock lock(mutex_);
        none_left_.wait(lock, [this] { return handlers_ == 0; });
    }

    executor& where_;
    std::mutex mutex_;  // guards all below
    std::condition_variable none_left_;
    std::size_t handlers_ = 0;
};

/// Copyable, two of one context are equal. Never runs a function before execute returns, unless the
/// cadre executor does.
class asio_context::executor_type {
public:
    template <class F>
    void execute(F&& f) const {
        context_->where_.execute(
            task(handler<std::decay_t<F>>{counted(*context_), std::forward<F>(f)}));
    }

    asio_context& query(asio::execution::context_t) const noexcept { return *context_; }
    static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept {
        return asio::execution::blocking.never;
    }
    friend bool operator==(const executor_type&, const executor_type&) noexcept = default;

private:
    friend class asio_context;
    explicit executor_type(asio_context& context) noexcept : context_(&context) {}
    asio_context* context_;
};

inline asio_context::executor_type asio_context::get_executor() noexcept {
    return executor_type(*this);
}

}  // namespace cadre
