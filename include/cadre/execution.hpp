// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <type_traits>
#include <utility>
#include <variant>
#include <version>

#include <cadre/errors.hpp>
#include <cadre/executor.hpp>
#include <cadre/future.hpp>
#include <cadre/scheduled_executor_service.hpp>

/// std::execution (P2300) on cadre: pools as schedulers, futures as senders, senders as futures.
/// Not part of <cadre/cadre.hpp>.
///
///     auto work = ex::schedule(cadre::as_scheduler(pool)) | ex::then([] { return 6 * 7; });
///     auto [answer] = ex::sync_wait(std::move(work)).value();
///
/// Which implementation it is for: the one in the namespace that the macro
/// CADRE_EXECUTION_NAMESPACE names, if you define it and include that implementation before;
/// else stdexec, if <stdexec/execution.hpp> is found; else that of the standard library, if it has
/// one. With none of them this header declares nothing.
///
/// It relies on the names of C++26 (sender_tag, operation_state_tag, scheduler_tag, receiver_tag);
/// for an implementation from before they were called so (sender_t, …) define
/// CADRE_EXECUTION_OLD_TAGS.
///
/// It was compiled and tested against a stand-in of the concepts and of some algorithms
/// (tests/support/p2300.hpp), with g++ 12 and clang 14; not yet against stdexec nor a standard
/// library.

#ifndef CADRE_EXECUTION_NAMESPACE
#if __has_include(<stdexec/execution.hpp>)
#include <stdexec/execution.hpp>
#define CADRE_EXECUTION_NAMESPACE stdexec
#elif defined(__cpp_lib_senders)
#include <execution>
#define CADRE_EXECUTION_NAMESPACE std::execution
#define CADRE_EXECUTION_OF_STD
#endif
#endif

#ifdef CADRE_EXECUTION_NAMESPACE

#include <cadre/detail/sender_operations.hpp>
#include <cadre/detail/sender_spawn.hpp>

namespace cadre {

/// A scheduler on an executor, which must live longer than what is started on it. Copyable; two of
/// one executor are equal.
///
/// Its senders complete with set_value() as a task of the executor; with set_error if that refuses
/// the task (the exception is what execute() throws); with set_stopped if it drops the task, or if
/// the receiver's stop token is stopped before the task runs. They allocate nothing: the operation
/// state is the task, and what else memory the pool takes is its own.
class executor_scheduler {
public:
    using scheduler_concept = detail::sx::scheduler_kind;

    explicit executor_scheduler(executor& where) noexcept : where_(&where) {}

    /// What schedule() gives.
    class sender {
    public:
        using sender_concept = detail::sx::sender_kind;
        using completion_signatures = detail::signatures_of<>;

        template <class Receiver>
        detail::schedule_operation<Receiver> connect(Receiver receiver) const noexcept {
            return {*where_, std::move(receiver)};
        }
        detail::completes_on<executor_scheduler> get_env() const noexcept {
            return {executor_scheduler(*where_)};
        }

    private:
        friend class executor_scheduler;
        explicit sender(executor& where) noexcept : where_(&where) {}
        executor* where_;
    };

    sender schedule() const noexcept { return sender(*where_); }
    auto query(detail::sx::get_forward_progress_guarantee_t) const noexcept {
        return detail::sx::forward_progress_guarantee::parallel;
    }
    friend bool operator==(const executor_scheduler&, const executor_scheduler&) noexcept = default;

private:
    executor* where_;
};

/// The same on an executor with a clock, which can also wait. A stop request ends the wait at once,
/// with set_stopped on the thread that requested it; so does a scheduler that shuts down and drops
/// its timers. Each wait takes the memory of one timer.
class timed_scheduler {
public:
    using scheduler_concept = detail::sx::scheduler_kind;

    explicit timed_scheduler(scheduled_executor_service& timers) noexcept : timers_(&timers) {}

    /// What schedule(), schedule_after() and schedule_at() give.
    template <class When>
    class sender {
    public:
        using sender_concept = detail::sx::sender_kind;
        using completion_signatures = detail::signatures_of<>;

        template <class Receiver>
        auto connect(Receiver receiver) const noexcept {
            if constexpr (std::is_same_v<When, std::monostate>)
                return detail::schedule_operation<Receiver>(*timers_, std::move(receiver));
            else
                return detail::timed_operation<Receiver, When>(*timers_, when_,
                                                               std::move(receiver));
        }
        detail::completes_on<timed_scheduler> get_env() const noexcept {
            return {timed_scheduler(*timers_)};
        }

    private:
        friend class timed_scheduler;
        sender(scheduled_executor_service& timers, When when) noexcept
            : timers_(&timers), when_(when) {}
        scheduled_executor_service* timers_;
        When when_;
    };

    /// At once, as a task of the executor.
    sender<std::monostate> schedule() const noexcept { return {*timers_, {}}; }
    /// After the delay, which counts from the start of the operation.
    template <class Rep, class Period>
    auto schedule_after(std::chrono::duration<Rep, Period> delay) const noexcept {
        return sender<std::chrono::duration<Rep, Period>>(*timers_, delay);
    }
    /// At this time of std::chrono::steady_clock or system_clock.
    template <class Clock, class Duration>
    auto schedule_at(std::chrono::time_point<Clock, Duration> t) const noexcept {
        return sender<std::chrono::time_point<Clock, Duration>>(*timers_, t);
    }
    /// The time by the clock of the executor.
    std::chrono::steady_clock::time_point now() const { return timers_->now(); }

    auto query(detail::sx::get_forward_progress_guarantee_t) const noexcept {
        return detail::sx::forward_progress_guarantee::parallel;
    }
    friend bool operator==(const timed_scheduler&, const timed_scheduler&) noexcept = default;

private:
    scheduled_executor_service* timers_;
};

inline executor_scheduler as_scheduler(executor& where) noexcept {
    return executor_scheduler(where);
}
inline timed_scheduler as_scheduler(scheduled_executor_service& timers) noexcept {
    return timed_scheduler(timers);
}

namespace detail {

template <class Future>
class future_sender {
public:
    using sender_concept = sx::sender_kind;
    using completion_signatures = typename future_value<Future>::signatures;

    explicit future_sender(Future future) : core_(future_access::core(future)) {
        if (!future.valid())
            throw illegal_state("the future stands for no task, or its value is taken");
    }

    template <class Receiver>
    future_operation<Receiver, Future> connect(Receiver receiver) && noexcept {
        return {std::move(core_), std::move(receiver)};
    }
    template <class Receiver>
    future_operation<Receiver, Future> connect(
        Receiver receiver) const& noexcept requires std::copyable<Future> {
        return {core_, std::move(receiver)};
    }

private:
    intrusive_ptr<future_core> core_;
};

}  // namespace detail

/// A sender of what a future will have: set_value with the value, set_error with the exception,
/// set_stopped if it is cancelled; where the task completes, or in start() if it has. No thread
/// waits. A stop request of the receiver cancels the task, with an interrupt. Throws illegal_state
/// if the future is not valid.
template <class T>
detail::future_sender<future<T>> as_sender(future<T> result) {
    return detail::future_sender<future<T>>(std::move(result));
}
/// The same, any number of times, with a reference to the value, which lives as long as a handle.
template <class T>
detail::future_sender<shared_future<T>> as_sender(shared_future<T> result) {
    return detail::future_sender<shared_future<T>>(std::move(result));
}

/// Starts a sender and gives its result as a future: the value of its one kind of set_value
/// (several values as a tuple), or its error as an exception; a sender that stops cancels the
/// future. Cancelling the future requests a stop of the sender, and does not wait for it. The
/// operation is gone when the future is complete, unless that was cancelled.
template <class Sender>
auto to_future(Sender&& sender) -> future<detail::spawned_value_t<Sender>> {
    auto* operation = new detail::spawned<Sender>(std::forward<Sender>(sender));
    auto result = operation->result();
    operation->start();  // it may be gone after that
    return result;
}

}  // namespace cadre

#endif
