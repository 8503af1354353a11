// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <cadre/detail/future_core.hpp>
#include <cadre/detail/future_result.hpp>
#include <cadre/detail/intrusive_ptr.hpp>
#include <cadre/executor.hpp>
#include <cadre/future.hpp>
#include <cadre/scheduled_executor_service.hpp>
#include <cadre/task.hpp>

// The operation states of <cadre/execution.hpp>, which says whose concepts these are.
#ifdef CADRE_EXECUTION_NAMESPACE

namespace cadre {

namespace detail::senders {

using namespace CADRE_EXECUTION_NAMESPACE;
#ifdef CADRE_EXECUTION_OF_STD
using namespace std;  // where get_stop_token is
#endif

#ifdef CADRE_EXECUTION_OLD_TAGS
using sender_kind = CADRE_EXECUTION_NAMESPACE::sender_t;
using receiver_kind = CADRE_EXECUTION_NAMESPACE::receiver_t;
using scheduler_kind = CADRE_EXECUTION_NAMESPACE::scheduler_t;
using operation_kind = CADRE_EXECUTION_NAMESPACE::operation_state_t;
#else
using sender_kind = CADRE_EXECUTION_NAMESPACE::sender_tag;
using receiver_kind = CADRE_EXECUTION_NAMESPACE::receiver_tag;
using scheduler_kind = CADRE_EXECUTION_NAMESPACE::scheduler_tag;
using operation_kind = CADRE_EXECUTION_NAMESPACE::operation_state_tag;
#endif

}  // namespace detail::senders

namespace detail {

namespace sx = senders;

template <class... Values>
using signatures_of =
    sx::completion_signatures<sx::set_value_t(Values...), sx::set_error_t(std::exception_ptr),
                              sx::set_stopped_t()>;

template <class Receiver>
auto stop_token_of(const Receiver& receiver) noexcept {
    return sx::get_stop_token(sx::get_env(receiver));
}

/// The type of a callback of a stop token. std::stop_token does not name its own before C++26.
template <class Token, class F>
struct callback_of {
    using type = typename Token::template callback_type<F>;
};
template <class F>
struct callback_of<std::stop_token, F> {
    using type = std::stop_callback<F>;
};

/// The giving of one operation to an executor, by the thread that starts it. The operation may be
/// over, and its memory somebody else's, before execute() returns: so who starts it does not look
/// at it afterwards, unless it was dropped on the way, which is noted here. Whatever drops it
/// later, or on another thread, tells its receiver at once.
class handover {
public:
    handover() noexcept
        : outer_(innermost_), number_(count_.fetch_add(1, std::memory_order_relaxed)) {
        innermost_ = this;
    }
    ~handover() { innermost_ = outer_; }
    handover(const handover&) = delete;
    handover& operator=(const handover&) = delete;

    std::uint64_t number() const noexcept { return number_; }
    bool was_dropped() const noexcept { return dropped_; }
    /// True if the calling thread is in this handover: then it will see to what was dropped.
    static bool note_dropped(const handover* which, std::uint64_t number) noexcept {
        for (handover* h = innermost_; h; h = h->outer_)
            if (h == which && h->number_ == number) return h->dropped_ = true;
        return false;
    }

private:
    static inline thread_local handover* innermost_ = nullptr;
    static inline std::atomic<std::uint64_t> count_ = 0;  // of all threads: they share stacks

    handover* const outer_;
    const std::uint64_t number_;  // tells it from a later one in the same place of the stack
    bool dropped_ = false;
};

/// What an executor gets of an operation: runs it, or stops it if it is dropped. Fits into a task.
template <class Operation>
class operation_ticket {
public:
    operation_ticket(Operation& operation, const handover& by) noexcept
        : operation_(&operation), by_(&by), number_(by.number()) {}
    operation_ticket(operation_ticket&& other) noexcept
        : operation_(std::exchange(other.operation_, nullptr)),
          by_(other.by_),
          number_(other.number_) {}
    operation_ticket& operator=(operation_ticket&&) = delete;
    ~operation_ticket() {
        if (operation_ && !handover::note_dropped(by_, number_)) operation_->stop();
    }
    void operator()() { std::exchange(operation_, nullptr)->run(); }

private:
    Operation* operation_;
    const handover* by_;  // compared, followed only while it lives
    std::uint64_t number_;
};

template <class Receiver>
class schedule_operation {
public:
    using operation_state_concept = sx::operation_kind;

    schedule_operation(executor& where, Receiver receiver) noexcept
        : where_(where), receiver_(std::move(receiver)) {}
    schedule_operation(const schedule_operation&) = delete;
    schedule_operation& operator=(const schedule_operation&) = delete;

    void start() & noexcept {
        if (stop_token_of(receiver_).stop_requested()) return stop();
        const handover here;
        try {
            task ticket(operation_ticket(*this, here));
            const auto needed = where_.kept();
            where_.execute(std::move(ticket));
        } catch (...) {
            if (here.was_dropped()) sx::set_error(std::move(receiver_), std::current_exception());
            return;
        }
        if (here.was_dropped()) stop();
    }

private:
    friend class operation_ticket<schedule_operation>;
    void run() noexcept {
        if (stop_token_of(receiver_).stop_requested())
            stop();
        else
            sx::set_value(std::move(receiver_));
    }
    void stop() noexcept { sx::set_stopped(std::move(receiver_)); }

    executor& where_;
    Receiver receiver_;
};

/// What a receiver gets of a complete future: of a future<T> the value, of a shared one a
/// reference.
template <class Future>
struct future_value;
template <class T>
struct future_value<future<T>> {
    using signatures = signatures_of<T>;
    static T take(future_core& core) { return move_value<T>(core); }
};
template <>
struct future_value<future<void>> {
    using signatures = signatures_of<>;
};
template <class T>
struct future_value<shared_future<T>> {
    using signatures = signatures_of<std::add_lvalue_reference_t<const T>>;
    static decltype(auto) take(future_core& core) { return shared_value<T>(core); }
};
template <>
struct future_value<shared_future<void>> : future_value<future<void>> {};

/// Waits for a future, without a thread: is itself what the future runs on completion.
template <class Receiver, class Future>
class future_operation : public completion {
public:
    using operation_state_concept = sx::operation_kind;

    future_operation(intrusive_ptr<future_core> core, Receiver receiver) noexcept
        : core_(std::move(core)), receiver_(std::move(receiver)) {}
    future_operation(const future_operation&) = delete;
    future_operation& operator=(const future_operation&) = delete;
    ~future_operation() = default;

    void start() & noexcept {
        try {
            await();
        } catch (...) {
            sx::set_error(std::move(receiver_), std::current_exception());
        }
    }

    /// The future is complete.
    void run() final {
        on_stop_.reset();  // waits until it is over, if it is being called elsewhere
        const auto core = std::move(core_);  // for the receiver may end this object
        if (core->is_cancelled()) return sx::set_stopped(std::move(receiver_));
        if (auto error = core->error())
            return sx::set_error(std::move(receiver_), std::move(error));
        if constexpr (!requires { future_value<Future>::take(*core); }) {
            sx::set_value(std::move(receiver_));
        } else {
            try {
                sx::set_value(std::move(receiver_), future_value<Future>::take(*core));
            } catch (...) {  // of moving the value: set_value throws nothing
                sx::set_error(std::move(receiver_), std::current_exception());
            }
        }
    }

protected:
    /// Throws if there is no memory to wait with: then nobody was told. Otherwise this object may
    /// be gone.
    void await() {
        try {
            // The callback first: once this is attached it may be over, and gone, at any time.
            on_stop_.emplace(stop_token_of(receiver_), canceller{core_});
            if (core_->attach(*this)) return;
        } catch (...) {
            on_stop_.reset();
            throw;
        }
        run();
    }

    intrusive_ptr<future_core> core_;
    Receiver receiver_;

private:
    struct canceller {
        intrusive_ptr<future_core> core;
        void operator()() const noexcept {
            const auto held = core;  // this object goes when the operation ends
            held->cancel_on_stop();
        }
    };
    using token = decltype(stop_token_of(std::declval<const Receiver&>()));
    std::optional<typename callback_of<token, canceller>::type> on_stop_;
};

/// Waits for a time: for a future of the scheduler that is made when the operation starts.
template <class Receiver, class When>
class timed_operation : public future_operation<Receiver, future<void>> {
public:
    timed_operation(scheduled_executor_service& timers, When when, Receiver receiver) noexcept
        : future_operation<Receiver, future<void>>(nullptr, std::move(receiver)),
          timers_(timers),
          when_(when) {}

    void start() & noexcept {
        if (stop_token_of(this->receiver_).stop_requested())
            return sx::set_stopped(std::move(this->receiver_));
        try {
            this->core_ = intrusive_ptr<future_core>(future_access::core(timer()));
            this->await();
        } catch (...) {
            if (this->core_)
                this->core_->cancel(false);  // or the scheduler waits for it at its end
            sx::set_error(std::move(this->receiver_), std::current_exception());
        }
    }

private:
    scheduled_future<void> timer() {
        if constexpr (requires { timers_.schedule([] {}, when_); })
            return timers_.schedule([] {}, when_);
        else
            return timers_.schedule_at([] {}, when_);
    }
    scheduled_executor_service& timers_;
    const When when_;
};

/// Says of a sender where it completes.
template <class Scheduler>
struct completes_on {
    Scheduler scheduler;
    template <class... Environment>
    Scheduler query(sx::get_completion_scheduler_t<sx::set_value_t>,
                    const Environment&...) const noexcept {
        return scheduler;
    }
};

}  // namespace detail
}  // namespace cadre

#endif
