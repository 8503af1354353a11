// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cadre/detail/future_core.hpp>
#include <cadre/task.hpp>

namespace cadre::detail {

/// What a future holds of what a function returns: no rvalue references, no const values.
template <class R>
using result_of_t = std::conditional_t<std::is_lvalue_reference_v<R>, R,
                                       std::remove_cv_t<std::remove_reference_t<R>>>;

/// What F returns when called with Args, or with a std::stop_token before them.
template <class F, class... Args>
struct task_result {};
template <class F, class... Args>
    requires is_task_callable<F, Args...>
struct task_result<F, Args...> {
    using type = result_of_t<decltype(invoke_task(std::declval<F&>(), std::declval<Args>()...))>;
};
template <class F, class... Args>
using task_result_t = typename task_result<F, Args...>::type;

/// A callable with its arguments, called once.
template <class F, class... Args>
struct bound {
    F function;
    std::tuple<Args...> arguments;

    decltype(auto) operator()() {
        return std::apply(
            [this](Args&... args) -> decltype(auto) {
                return invoke_task(function, std::move(args)...);
            },
            arguments);
    }
    std::string_view task_name() const noexcept requires has_annotations<F> {
        return function.task_name();
    }
    int task_priority() const noexcept requires has_annotations<F> {
        return function.task_priority();
    }
};

/// How a value of type T is kept.
template <class T>
using stored_t =
    std::conditional_t<std::is_reference_v<T>, std::remove_reference_t<T>*, std::remove_const_t<T>>;

/// The place of the outcome, which is a value or an error: never are both there. Core is
/// future_core, or a class of its kind that keeps more.
template <class T, class Core = future_core>
class result_core : public Core {
public:
    using Core::Core;
    result_core() noexcept {}
    ~result_core() override {
        if (this->has_value())
            std::destroy_at(&value_);
        else if (this->has_error())
            std::destroy_at(&error_);
    }

    /// Completes with the value, unless it is complete. If storing it throws, that is the result.
    template <class U>
    bool set_value(U&& value) {
        if (!this->begin_completion()) return false;
        bool stored = false;
        try {
            if constexpr (std::is_reference_v<T>)
                ::new (outcome_address()) stored_t<T>(std::addressof(value));
            else
                ::new (outcome_address()) stored_t<T>(std::forward<U>(value));
            stored = true;
        } catch (...) {
            this->store_error(std::current_exception());
        }
        this->finish(stored);
        return true;
    }

private:
    void* outcome_address() noexcept final { return std::addressof(value_); }

    union {  // written while completing, read when done; the phase tells what is there
        stored_t<T> value_;
        held_exception error_;
    };
};

template <class Core>
class result_core<void, Core> : public Core {
public:
    using Core::Core;
    result_core() noexcept {}
    ~result_core() override {
        if (this->has_error()) std::destroy_at(&error_);
    }

    bool set_value() {
        if (!this->begin_completion()) return false;
        this->finish(true);
        return true;
    }

private:
    void* outcome_address() noexcept final { return std::addressof(error_); }

    union {
        held_exception error_;
    };
};

/// The value of a complete task, for the first who asks. Throws if it has none.
template <class T>
T move_value(future_core& core) {
    core.throw_if_no_value();
    const bool first = core.take_value();
    if constexpr (!std::is_void_v<T>) {
        if (!first) throw illegal_state("the result of the task was taken already");
        auto& stored = *static_cast<stored_t<T>*>(core.outcome_address());
        if constexpr (std::is_reference_v<T>)
            return *stored;
        else
            return std::move(stored);
    }
}

/// The value of a complete task, for anybody; of a reference: that reference. Throws if none.
template <class T>
std::conditional_t<std::is_void_v<T>, void, std::add_lvalue_reference_t<const T>> shared_value(
    future_core& core) {
    core.throw_if_no_value();
    if constexpr (!std::is_void_v<T>) {
        auto& stored = *static_cast<stored_t<T>*>(core.outcome_address());
        if constexpr (std::is_reference_v<T>)
            return *stored;
        else
            return stored;
    }
}

struct no_on_done {};

/// All of a task: result, callable and what happens when it is done, in one block.
template <class T, class F, class OnDone = no_on_done, class Core = future_core>
class runnable_core final : public result_core<T, Core> {
public:
    template <class From>
    explicit runnable_core(From&& f, OnDone on_done = {}) : on_done_(std::move(on_done)) {
        if constexpr (requires { f.task_name(); })  // first, for this may throw
            if (!f.task_name().empty() || f.task_priority() != 0)
                this->set_annotations(std::string(f.task_name()), f.task_priority());
        std::construct_at(&function_, std::forward<From>(f));
        this->owns_callable_ = true;
    }
    template <class Fn, class... Args>
    runnable_core(std::in_place_t, std::string name, int priority, Fn&& f, Args&&... args) {
        this->set_annotations(std::move(name), priority);
        ::new (static_cast<void*>(&function_))
            F{std::forward<Fn>(f), {std::forward<Args>(args)...}};
        this->owns_callable_ = true;
    }
    ~runnable_core() noexcept override { this->drop_callable(); }

    /// A task that wraps another is known by that one.
    std::uintptr_t identity() const noexcept override {
        if constexpr (requires { function_.wrapped_identity(); })
            if (this->owns_callable_)
                if (const auto wrapped = function_.wrapped_identity()) return wrapped;
        return future_core::identity();
    }

    /// For its maker, before anybody else knows the task.
    OnDone& done_function() noexcept { return on_done_; }
    F& callable() noexcept { return function_; }

private:
    /// Calls the callable, within a scope of the core's if it has one for that.
    decltype(auto) call() {
        if constexpr (requires { typename Core::call_scope; }) {
            const typename Core::call_scope calling(*this);
            return invoke_task(function_);
        } else {
            return invoke_task(function_);
        }
    }
    void compute() override {
        std::exception_ptr thrown;
        if constexpr (std::is_void_v<T>) {
            try {
                call();
            } catch (...) {
                thrown = std::current_exception();
            }
            this->drop_callable();  // captures are gone before anybody sees the result
            if (!thrown) this->set_value();
        } else {
            std::optional<stored_t<T>> value;
            try {
                if constexpr (std::is_reference_v<T>)
                    value.emplace(std::addressof(call()));
                else
                    value.emplace(call());
            } catch (...) {
                thrown = std::current_exception();
            }
            this->drop_callable();
            if (!thrown) {
                if constexpr (std::is_reference_v<T>)
                    this->set_value(**value);
                else
                    this->set_value(std::move(*value));
            }
        }
        if (thrown) this->set_exception(std::move(thrown));
    }
    void compute_and_discard() override { static_cast<void>(call()); }
    void destroy_callable() override {
        if (std::exchange(this->owns_callable_, false)) std::destroy_at(&function_);
    }
    void end_unstarted() override {
        if constexpr (std::is_trivially_destructible_v<F> && std::is_same_v<OnDone, no_on_done>) {
            Core::end_without_callable();
        } else {
            const intrusive_ptr<future_core> alive(this);
            this->drop_callable();
            Core::end_without_callable();
            if constexpr (!std::is_same_v<OnDone, no_on_done>) on_done_(future_state::cancelled);
        }
    }
    void on_done(future_state how) override {
        Core::on_done(how);
        if constexpr (!std::is_same_v<OnDone, no_on_done>) on_done_(how);
    }

    union {
        F function_;  // there while owns_callable_; destroyed by whoever owns it
    };
    [[no_unique_address]] OnDone on_done_;
};

}  // namespace cadre::detail
