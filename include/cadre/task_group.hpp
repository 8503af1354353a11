// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <type_traits>
#include <utility>

#include <cadre/context.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/detail/intrusive_ptr.hpp>
#include <cadre/executor.hpp>
#include <cadre/future.hpp>
#include <cadre/task.hpp>
#include <cadre/thread.hpp>

namespace cadre {

namespace detail {

/// What a task_group shares with its children. Told in task_group.cpp.
class CADRE_API group_core {
public:
    /// The place of a child in its group, part of the child's callable: tells the group when that
    /// is destroyed, after its run or instead of it.
    class membership {
    public:
        explicit membership(group_core& group) noexcept : group_(group) {}
        membership(membership&& other) noexcept
            : group_(other.group_), child_(std::exchange(other.child_, nullptr)) {}
        membership& operator=(membership&&) = delete;
        ~membership() {
            if (child_) group_.callable_gone(*child_);
        }
        /// Once the group knows the child it may be over any time: so this object is complete
        /// before, and not touched after.
        void enter(future_core& child) {
            child_ = &child;
            try {
                group_.add(child);
            } catch (...) {
                child_ = nullptr;
                throw;
            }
        }
        group_core& group() const noexcept { return group_; }
        const future_core* child() const noexcept { return child_; }

    private:
        group_core& group_;  // kept by the child's on_done, which lives longer
        future_core* child_ = nullptr;
    };

    /// What the future of a child does when it is complete.
    struct completion_note {
        std::shared_ptr<group_core> group;
        future_core* child = nullptr;
        void operator()(future_state how) const noexcept {
            // Has told already, unless it failed without being called.
            if (how == future_state::failed) group->fail(child, child->error());
            group->completed(*child);
        }
    };

    /// Marks the calling thread as one that runs a child, for as long as it lives.
    class [[nodiscard]] running_scope {
    public:
        explicit running_scope(const group_core& group) noexcept;
        ~running_scope();
        running_scope(const running_scope&) = delete;
        running_scope& operator=(const running_scope&) = delete;
        static bool is_inside(const group_core& group) noexcept;

    private:
        const group_core* const group_;
        const running_scope* const outer_;
    };

    group_core();
    ~group_core();
    group_core(const group_core&) = delete;
    group_core& operator=(const group_core&) = delete;

    void add(future_core& child);
    /// The executor has taken the child: a worker that waits for the group may find it there.
    void was_taken(const future_core& child) noexcept;
    void callable_gone(future_core& child) noexcept;
    void completed(future_core& child) noexcept;
    /// The executor will not run the child: who waits for the group does.
    void leave_to_waiter(const future_core& child) noexcept;
    /// The child has thrown: if it is the first, the others are stopped.
    void fail(const future_core* child, std::exception_ptr error) noexcept;
    void stop() noexcept;
    bool is_stopped() const;
    void wait();
    /// The end: stops all, waits for them, reports an error that nobody was told.
    void end() noexcept;

private:
    struct members;
    intrusive_ptr<future_core> first_unstarted() const;
    void cancel_all_but(const future_core* child) noexcept;
    bool run_one_left();
    bool help(thread_control& self);
    void await_news(thread_control& self, std::uint64_t seen);
    void run_and_await_all();
    void await_all_gone() noexcept;

    const std::unique_ptr<members> members_;
};

template <class F>
struct group_child {
    group_core::membership place;
    F function;
    captured_context context = {};  // for those that are run by who waits

    decltype(auto) operator()() {
        const group_core::running_scope running(place.group());
        try {
            return context.call([this]() -> decltype(auto) { return invoke_task(function); });
        } catch (...) {
            place.group().fail(place.child(), std::current_exception());
            throw;
        }
    }
    std::string_view task_name() const noexcept requires has_annotations<F> {
        return function.task_name();
    }
    int task_priority() const noexcept requires has_annotations<F> {
        return function.task_priority();
    }
};

/// A child on its way to an executor. Dropped unrun it is left to who waits for the group.
class group_handle {
public:
    group_handle(std::shared_ptr<group_core> group, intrusive_ptr<future_core> core) noexcept
        : group_(std::move(group)), core_(std::move(core)) {}
    group_handle(group_handle&&) noexcept = default;
    group_handle& operator=(group_handle&&) = delete;
    ~group_handle() {
        if (core_ && !used_) group_->leave_to_waiter(*core_);
    }
    void operator()() {
        used_ = true;
        core_->run();
    }
    std::string_view task_name() const noexcept { return core_->name(); }
    int task_priority() const noexcept { return core_->priority(); }
    std::uintptr_t task_identity() const noexcept {
        return reinterpret_cast<std::uintptr_t>(core_.get());
    }

private:
    std::shared_ptr<group_core> group_;
    intrusive_ptr<future_core> core_;
    bool used_ = false;
};

}  // namespace detail

/// Tasks that belong together: none of them outlives the group, and the first that fails stops the
/// others.
///
///     cadre::task_group group(pool);
///     auto user = group.submit([&] { return load_user(id); });
///     auto orders = group.submit([&] { return load_orders(id); });
///     group.wait();               // throws what the first to fail threw
///     show(user.get(), orders.get());
///
/// Stopped means: children that have not started never will, the stop tokens of running ones are
/// stopped and their threads interrupted, as by cancel(true) of their futures.
///
/// Children run where the executor runs them, under its hooks and its order: those of a group on a
/// strand one at a time. wait() runs two kinds of them itself: what the executor refused or
/// dropped, and not in a strand's turn; and, called by a task of a pool, what that pool has not
/// started, as a get() there would. So it may be used by a task of a pool whose threads are all
/// busy. All members may be called from any thread, also by the children, except that a child may
/// not wait for its own group.
class CADRE_API task_group {
public:
    /// The group is also stopped by this token: by default that of the task that makes the group.
    explicit task_group(executor& where, std::stop_token outer = this_thread::stop_token());
    /// Stops the group and waits until no child is left, whatever interrupts come. If a child has
    /// failed and nobody called wait(), one line on stderr tells.
    ~task_group();
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;

    /// Adds f(args...), called with a std::stop_token first if it takes one; f and the arguments
    /// are copied or moved, as with std::thread. The future may be dropped. If the group is
    /// stopped, f never runs. Throws std::invalid_argument if f is empty.
    template <class F, class... Args>
    auto submit(F&& f, Args&&... args)
        -> future<detail::task_result_t<std::decay_t<F>, std::decay_t<Args>...>> {
        if (detail::is_empty_callable(f)) throw std::invalid_argument("the callable is empty");
        if constexpr (sizeof...(Args) == 0)
            return add(std::forward<F>(f));
        else
            return add(detail::bound<std::decay_t<F>, std::decay_t<Args>...>{
                std::forward<F>(f), {std::forward<Args>(args)...}});
    }

    /// Returns when every child is over and its future complete. Throws what the first to fail
    /// threw, or cancellation if the group was stopped by request. If the caller is interrupted,
    /// stops the group, waits for what is running, and throws interrupted. Throws illegal_state if
    /// called by a child.
    void wait() { core_->wait(); }

    /// Stops the group.
    void request_stop() { core_->stop(); }
    /// True after a failure, request_stop(), or a stop of the outer token.
    bool is_stopped() const { return core_->is_stopped(); }

private:
    template <class F>
    auto add(F&& f) {
        using result = detail::task_result_t<std::decay_t<F>>;
        using child = detail::group_child<std::decay_t<F>>;
        using note = detail::group_core::completion_note;
        using core = detail::runnable_core<result, child, note>;
        auto made = detail::intrusive_ptr<core>::adopt(new core(
            child{detail::group_core::membership(*core_), std::forward<F>(f)}, note{core_}));
        made->done_function().child = made.get();
        made->callable().place.enter(*made);
        start(made);
        return detail::future_access::make<result>(std::move(made));
    }
    void start(detail::intrusive_ptr<detail::future_core> child);

    executor& where_;
    const std::shared_ptr<detail::group_core> core_;
    const std::stop_callback<std::function<void()>> when_outer_stops_;
};

}  // namespace cadre
