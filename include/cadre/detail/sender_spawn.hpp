// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <optional>
#include <stop_token>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <cadre/detail/sender_operations.hpp>
#include <cadre/future.hpp>

// What <cadre/execution.hpp> makes of a sender whose result a future is to have.
#ifdef CADRE_EXECUTION_NAMESPACE

namespace cadre::detail {

/// std::stop_token, which before C++26 does not name its callbacks.
struct spawned_stop_token : std::stop_token {
    template <class F>
    using callback_type = std::stop_callback<F>;
};

struct spawned_environment {
    spawned_stop_token stop;
    const spawned_stop_token& query(sx::get_stop_token_t) const noexcept { return stop; }
};

/// The value of a future that stands for these values.
template <class... Values>
struct joined_value {
    using type = std::tuple<std::decay_t<Values>...>;
};
template <class Value>
struct joined_value<Value> {
    using type = std::decay_t<Value>;
};
template <>
struct joined_value<> {
    using type = void;
};

template <class Signature>
struct value_signature {
    static constexpr int count = 0;
};
template <class... Values>
struct value_signature<sx::set_value_t(Values...)> {
    static constexpr int count = 1;
    using type = typename joined_value<Values...>::type;
};

template <class... Signatures>
struct first_value {
    using type = void;  // it never has a value
};
template <class First, class... Rest>
struct first_value<First, Rest...> : first_value<Rest...> {};
template <class First, class... Rest>
    requires(value_signature<First>::count == 1)
struct first_value<First, Rest...> : value_signature<First> {};

template <class Signatures>
struct only_value;
template <class... Signatures>
struct only_value<sx::completion_signatures<Signatures...>> {
    static_assert((value_signature<Signatures>::count + ... + 0) <= 1,
                  "a future has one type of value: the sender completes with several");
    using type = typename first_value<Signatures...>::type;
};

template <class Sender>
using spawned_value_t =
    typename only_value<sx::completion_signatures_of_t<Sender, spawned_environment>>::type;

template <class Error>
std::exception_ptr as_exception(Error&& error) noexcept {
    using kind = std::remove_cvref_t<Error>;
    if constexpr (std::is_same_v<kind, std::exception_ptr>)
        return std::forward<Error>(error);
    else if constexpr (std::is_same_v<kind, std::error_code>)
        return std::make_exception_ptr(std::system_error(error));
    else
        return std::make_exception_ptr(std::forward<Error>(error));
}

/// A sender that was started, with the future that it completes. Deletes itself at its end.
template <class Sender>
class spawned {
    using value = spawned_value_t<Sender>;
    using kept = std::conditional_t<std::is_void_v<value>, std::monostate, value>;

public:
    explicit spawned(Sender&& sender)
        : task_(&spawned::never_called, request_stop{stop_}),
          operation_(sx::connect(std::forward<Sender>(sender), receiver{this})) {}
    spawned(const spawned&) = delete;
    spawned& operator=(const spawned&) = delete;

    future<value> result() { return task_.get_future(); }
    void start() noexcept { sx::start(operation_); }

private:
    /// When the future is complete: it was cancelled, or the sender is over and nobody listens.
    struct request_stop {
        std::stop_source stop;
        void operator()(future_state how) {
            if (how == future_state::cancelled) stop.request_stop();
        }
    };

    struct receiver {
        using receiver_concept = sx::receiver_kind;
        spawned* self;

        template <class... Values>
        void set_value(Values&&... values) noexcept {
            std::optional<kept> result;
            std::exception_ptr error;
            try {
                // Moved out first: they may live in the operation, which ends before the future.
                result.emplace(std::forward<Values>(values)...);
            } catch (...) {
                error = std::current_exception();
            }
            auto task = self->end();
            if (error)
                task.set_exception(std::move(error));
            else if constexpr (std::is_void_v<value>)
                task.set();
            else
                task.set(std::move(*result));
        }
        template <class Error>
        void set_error(Error&& error) noexcept {
            auto thrown = as_exception(std::forward<Error>(error));
            self->end().set_exception(std::move(thrown));
        }
        void set_stopped() noexcept { self->end().cancel(); }
        spawned_environment get_env() const noexcept { return {{self->stop_.get_token()}}; }
    };

    future_task<value> end() noexcept {
        auto task = std::move(task_);
        delete this;
        return task;
    }
    static value never_called() { std::terminate(); }

    std::stop_source stop_;
    future_task<value> task_;
    sx::connect_result_t<Sender, receiver> operation_;
};

}  // namespace cadre::detail

#endif
