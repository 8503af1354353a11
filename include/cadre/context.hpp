// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/task.hpp>

/// What belongs to the work and not to the thread that does it: a trace id, the context of a log, a
/// deadline. Registered once, such a value goes with every task of every pool, scheduler, strand
/// and group: it is captured where the task is submitted, set while the task runs, and put back to
/// what it was on that thread afterwards. So it is inherited by the tasks that a task submits. A
/// continuation has the values of where then() was called, a coroutine keeps its own across
/// co_await, whoever it is that completes the future or puts the element.
/// An executor of your own carries it for the strands, groups, loops, continuations and coroutines
/// on it, and not for what it is given as it is.
///
///     thread_local std::string trace_id;
///     const auto carried = cadre::carry_context([] { return trace_id; },
///                                               [](std::string id) { trace_id = std::move(id); });
///
/// When nothing is registered, this costs a submission one relaxed load; else an allocation or two.

namespace cadre {

namespace detail {

/// A captured value, which goes with one task.
class CADRE_API context_value {
public:
    context_value() = default;
    context_value(const context_value&) = delete;
    context_value& operator=(const context_value&) = delete;
    virtual ~context_value() = default;
    virtual void enter() = 0;
    virtual void leave() = 0;
};

class CADRE_API context_carrier {
public:
    context_carrier() = default;
    context_carrier(const context_carrier&) = delete;
    context_carrier& operator=(const context_carrier&) = delete;
    virtual ~context_carrier() = default;
    virtual std::unique_ptr<context_value> capture() = 0;
};

template <class Get, class Set>
class typed_carrier final : public context_carrier,
                            public std::enable_shared_from_this<typed_carrier<Get, Set>> {
public:
    typed_carrier(Get get, Set set) : get_(std::move(get)), set_(std::move(set)) {}
    std::unique_ptr<context_value> capture() override {
        return std::make_unique<captured>(this->shared_from_this());
    }

private:
    using kept = std::decay_t<std::invoke_result_t<const Get&>>;

    class captured final : public context_value {
    public:
        explicit captured(std::shared_ptr<const typed_carrier> of)
            : of_(std::move(of)), own_(of_->get_()), before_(own_) {}
        void enter() override {
            before_ = of_->get_();
            of_->set_(own_);
        }
        void leave() override { of_->set_(std::move(before_)); }

    private:
        const std::shared_ptr<const typed_carrier> of_;
        const kept own_;
        kept before_;  // of the thread, while the task runs
    };

    const Get get_;
    const Set set_;
};

CADRE_API inline std::atomic<int> carried_contexts = 0;
/// Relaxed: who submits a task after a registration, by whatever means, sees that registration.
inline bool is_context_carried() noexcept {
    return carried_contexts.load(std::memory_order_relaxed) != 0;
}
/// The task with what is carried from here to where it runs.
CADRE_API task with_context(task t);

/// What is carried from where this is made, to where something goes on that is no task of an
/// executor's: a continuation, a coroutine. Holds nothing when nothing is registered.
class CADRE_API captured_context {
public:
    captured_context() {
        if (is_context_carried()) capture();
    }
    captured_context(captured_context&&) noexcept = default;
    captured_context& operator=(captured_context&&) noexcept = default;

    bool is_empty() const noexcept { return values_.empty(); }
    /// Calls f with the values of the thread that made this.
    template <class F>
    decltype(auto) call(F&& f) {
        if (values_.empty()) return std::forward<F>(f)();
        const scope restored(*this);
        return std::forward<F>(f)();
    }
    /// Goes on with a coroutine, with the values of the thread that made this. If they cannot be
    /// set, returns what kept them, and the coroutine still waits.
    [[nodiscard]] std::exception_ptr try_resume(std::coroutine_handle<> waiting);
    /// The same, but it goes on without them, and stderr tells.
    void resume(std::coroutine_handle<> waiting);

private:
    class CADRE_API [[nodiscard]] scope {
    public:
        explicit scope(captured_context& of);
        ~scope();
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;

    private:
        void leave() noexcept;
        captured_context& of_;
        std::size_t entered_ = 0;
    };
    void capture();

    std::vector<std::unique_ptr<context_value>> values_;
};

CADRE_API void register_carrier(const std::shared_ptr<context_carrier>& carrier);
CADRE_API void unregister_carrier(const std::shared_ptr<context_carrier>& carrier) noexcept;

}  // namespace detail

/// Keeps a value registered; it is carried no more by tasks that are submitted after its end.
class [[nodiscard]] context_registration {
public:
    context_registration(context_registration&&) noexcept = default;
    context_registration& operator=(context_registration&& other) noexcept {
        if (this != &other) {
            end();
            carrier_ = std::move(other.carrier_);
        }
        return *this;
    }
    ~context_registration() { end(); }

private:
    template <class Get, class Set>
    friend context_registration carry_context(Get get, Set set);
    explicit context_registration(std::shared_ptr<detail::context_carrier> carrier)
        : carrier_(std::move(carrier)) {
        detail::register_carrier(carrier_);
    }
    void end() noexcept {
        if (carrier_) detail::unregister_carrier(carrier_);
        carrier_ = nullptr;
    }

    std::shared_ptr<detail::context_carrier> carrier_;  // null: moved away
};

/// Has a copyable value go with every task from now on: get() gives the calling thread's,
/// set(value) sets it. Both are called from many threads, under no lock. What get() throws at a
/// submission is thrown by that; what either throws before a run is handled as if the task threw
/// it, but a scheduler cancels the task and tells its hook uncaught_exception; what set() throws
/// when it puts the old value back goes to stderr, a line of it.
template <class Get, class Set>
context_registration carry_context(Get get, Set set) {
    return context_registration(
        std::make_shared<detail::typed_carrier<Get, Set>>(std::move(get), std::move(set)));
}

}  // namespace cadre
