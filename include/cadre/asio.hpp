// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <asio/execution.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include <cadre/detail/report.hpp>
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
/// It has a thread of its own, which waits for the operating system and hands the handlers to the
/// pool; there is no need to run() it.
///
/// The pool must live longer than the context, and the context longer than its I/O objects. A pool
/// that refuses a handler throws where it is posted. That of an I/O object has no such place: it is
/// dropped, with the coroutine that waits for it, and stderr tells, a line of it. Asio itself
/// cannot pass on that the pool refuses a coroutine, at its start or when it posts, or the next
/// turn of an asio::strand: the process ends. So give it a pool with an unbounded queue or
/// caller_runs_policy, and end the context before the pool is shut down.
class asio_context : public asio::io_context {
public:
    class executor_type;

    explicit asio_context(executor& where)
        : io_context(1), where_(where), waits_([this] { wait_for_the_system(); }) {}
    /// Waits until the pool has run or dropped every handler that it was given, and drops those of
    /// I/O objects that are still waiting, coroutines among them. Not to be called by a handler.
    ~asio_context() {
        // Asio's services end as those of its own contexts do, while nobody is at them: a handler
        // that still ran would start operations of services that are gone.
        close();
        stop();
        waits_.join();
        shutdown();
        destroy();
    }
    executor_type get_executor() noexcept;

private:
    /// A handler that the pool has; it refers to the services of the context until it is gone.
    class counted {
    public:
        explicit counted(asio_context& by) noexcept : by_(&by) {}  // who makes it has counted it
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
    class handler {
    public:
        template <class G>
        handler(counted count, G&& function)
            : count_(std::move(count)), function_(std::in_place, std::forward<G>(function)) {}
        handler(handler&&) = default;
        handler& operator=(handler&&) = delete;
        // A coroutine that is dropped posts its own end, which the pool may refuse as well.
        ~handler() {
            ++destroying_;
            function_.reset();
            --destroying_;
        }
        void operator()() { (*function_)(); }

    private:
        counted count_;  // the first member: counted off after the function is destroyed
        std::optional<F> function_;
    };

    /// Throws what the pool throws, if there is somebody to catch it. Else the function is dropped.
    template <class F>
    void hand_over(counted count, F&& function) {
        try {
            const auto needed = where_.kept();  // a coroutine may end it all, once it goes on there
            where_.execute(
                task(handler<std::decay_t<F>>(std::move(count), std::forward<F>(function))));
        } catch (...) {
            if (destroying_ > 0) return;  // by a destructor
            if (!is_asio_here_) throw;
            detail::report_uncaught("a handler of Asio", std::current_exception());
        }
    }

    std::optional<counted> count_one() {
        const std::lock_guard lock(mutex_);
        if (closed_) return std::nullopt;
        ++handlers_;
        return std::optional<counted>(std::in_place, *this);
    }
    void close() {
        std::unique_lock lock(mutex_);
        none_left_.wait(lock, [this] { return handlers_ == 0; });
        closed_ = true;
    }
    void wait_for_the_system() {
        is_asio_here_ = true;
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);  // they are for the threads of the program
        const auto until_stopped = asio::make_work_guard(static_cast<io_context&>(*this));
        run();
    }

    static inline thread_local int destroying_ = 0;         // handlers, one within another
    static inline thread_local bool is_asio_here_ = false;  // the thread is one that waits

    executor& where_;
    std::mutex mutex_;  // guards all below
    std::condition_variable none_left_;
    std::size_t handlers_ = 0;
    bool closed_ = false;  // nothing runs any more

    std::thread waits_;  // the last member: uses the others
};

/// Copyable, two of one context are equal. Never runs a function before execute returns, unless the
/// cadre executor does.
class asio_context::executor_type {
public:
    template <class F>
    void execute(F&& f) const {
        auto count = context_->count_one();
        if (!count) return;  // the context ends, and f with its owner
        context_->hand_over(std::move(*count), std::forward<F>(f));
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
