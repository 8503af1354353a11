// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <stop_token>
#include <type_traits>
#include <utility>

/// A stand-in of std::execution for the tests of <cadre/execution.hpp>: the concepts and
/// customization points of C++26, as strict as they are where we rely on them.
namespace p2300 {

struct sender_tag {};
struct receiver_tag {};
struct scheduler_tag {};
struct operation_state_tag {};

struct empty_env {};

inline constexpr struct get_env_t {
    template <class T>
    auto operator()(const T& of) const noexcept {
        if constexpr (requires { of.get_env(); }) {
            static_assert(noexcept(of.get_env()));
            return of.get_env();
        } else {
            return empty_env{};
        }
    }
} get_env;

struct never_stop_token {
    template <class F>
    struct callback_type {
        callback_type(never_stop_token, F) noexcept {}
    };
    static constexpr bool stop_requested() noexcept { return false; }
    static constexpr bool stop_possible() noexcept { return false; }
    friend bool operator==(never_stop_token, never_stop_token) = default;
};

/// A stop token as C++26 has it.
struct stop_token : std::stop_token {
    template <class F>
    using callback_type = std::stop_callback<F>;
};

template <class T>
concept stoppable_token = std::copyable<T> && std::equality_comparable<T> && requires(const T t) {
    typename T::template callback_type<void (*)()>;
    { t.stop_requested() }
    noexcept->std::same_as<bool>;
    { t.stop_possible() }
    noexcept->std::same_as<bool>;
};

inline constexpr struct get_stop_token_t {
    template <class Env>
    auto operator()(const Env& env) const noexcept {
        if constexpr (requires { env.query(get_stop_token_t{}); }) {
            static_assert(noexcept(env.query(*this)));
            static_assert(stoppable_token<std::remove_cvref_t<decltype(env.query(*this))>>);
            return env.query(*this);
        } else {
            return never_stop_token{};
        }
    }
} get_stop_token;

enum class forward_progress_guarantee { concurrent, parallel, weakly_parallel };
struct get_forward_progress_guarantee_t {};

template <class Tag>
struct get_completion_scheduler_t {
    template <class Env>
    auto operator()(const Env& env) const noexcept {
        return env.query(*this);
    }
};

inline constexpr struct set_value_t {
    template <class Receiver, class... Values>
        requires(!std::is_reference_v<Receiver>)
    void operator()(Receiver&& to, Values&&... values) const noexcept {
        static_assert(noexcept(std::move(to).set_value(std::forward<Values>(values)...)));
        std::move(to).set_value(std::forward<Values>(values)...);
    }
} set_value;
inline constexpr struct set_error_t {
    template <class Receiver, class Error>
        requires(!std::is_reference_v<Receiver>)
    void operator()(Receiver&& to, Error&& error) const noexcept {
        static_assert(noexcept(std::move(to).set_error(std::forward<Error>(error))));
        std::move(to).set_error(std::forward<Error>(error));
    }
} set_error;
inline constexpr struct set_stopped_t {
    template <class Receiver>
        requires(!std::is_reference_v<Receiver>)
    void operator()(Receiver&& to) const noexcept {
        static_assert(noexcept(std::move(to).set_stopped()));
        std::move(to).set_stopped();
    }
} set_stopped;

template <class... Signatures>
struct completion_signatures {};
template <class Sender, class... Env>
using completion_signatures_of_t = typename std::remove_cvref_t<Sender>::completion_signatures;

inline constexpr struct start_t {
    template <class Operation>
    void operator()(Operation& operation) const noexcept {
        static_assert(noexcept(operation.start()));
        operation.start();
    }
} start;

template <class O>
concept operation_state =
    std::derived_from<typename O::operation_state_concept, operation_state_tag> &&
    std::is_object_v<O> && !std::move_constructible<O> &&
    requires(O & o) {
    start(o);
};
template <class R>
concept receiver = std::derived_from<typename R::receiver_concept, receiver_tag> &&
    std::is_nothrow_move_constructible_v<R> && requires(const R& r) {
    get_env(r);
};
template <class S>
concept sender = std::derived_from<typename std::remove_cvref_t<S>::sender_concept, sender_tag> &&
    std::move_constructible<std::remove_cvref_t<S>> && requires(const S& s) {
    get_env(s);
    typename completion_signatures_of_t<S>;
};

inline constexpr struct connect_t {
    template <sender Sender, receiver Receiver>
    auto operator()(Sender&& from, Receiver to) const {
        static_assert(operation_state<decltype(std::forward<Sender>(from).connect(std::move(to)))>);
        return std::forward<Sender>(from).connect(std::move(to));
    }
} connect;
template <class Sender, class Receiver>
using connect_result_t = decltype(connect(std::declval<Sender>(), std::declval<Receiver>()));

inline constexpr struct schedule_t {
    template <class Scheduler>
    sender auto operator()(const Scheduler& on) const noexcept {
        return on.schedule();
    }
} schedule;
template <class S>
concept scheduler = std::derived_from<typename S::scheduler_concept, scheduler_tag> &&
    std::copyable<S> && std::equality_comparable<S> && requires(const S s) {
    { get_completion_scheduler_t<set_value_t>{}(get_env(schedule(s))) } -> std::same_as<S>;
};

}  // namespace p2300
