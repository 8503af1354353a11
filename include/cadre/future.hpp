// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#include <cadre/context.hpp>
#include <cadre/detail/duration.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/detail/future_core.hpp>
#include <cadre/detail/future_result.hpp>
#include <cadre/errors.hpp>
#include <cadre/task.hpp>

namespace cadre {

class executor;
template <class T>
class shared_future;
template <class T>
class future_task;

namespace detail {

struct future_access;

/// The half of a task that runs it: completes the future as cancelled if it is dropped unrun.
class run_handle {
public:
    explicit run_handle(intrusive_ptr<future_core> core) noexcept : core_(std::move(core)) {}
    run_handle(run_handle&&) noexcept = default;
    run_handle& operator=(run_handle&&) = delete;
    ~run_handle() {
        if (core_) core_->abandon();
    }
    void operator()() { core_->run(); }
    std::string_view task_name() const noexcept { return core_->name(); }
    int task_priority() const noexcept { return core_->priority(); }
    std::uintptr_t task_identity() const noexcept {
        return reinterpret_cast<std::uintptr_t>(core_.get());
    }

private:
    intrusive_ptr<future_core> core_;
};

/// What all handles of a result can do.
template <class T>
class future_base {
public:
    future_base() noexcept = default;

    /// Waits until the task is complete. On a worker whose own pool has the task unstarted, runs
    /// it in place. Throws interrupted; throws illegal_state, naming the tasks, if tasks wait for
    /// each other in a circle.
    void wait() const { core().wait(); }
    /// True if the task was complete in time. Never runs anything.
    template <class Rep, class Period>
    bool wait_for(std::chrono::duration<Rep, Period> timeout) const {
        return core().wait_until(deadline_after(saturated(timeout)));
    }
    template <class Clock, class Duration>
    bool wait_until(std::chrono::time_point<Clock, Duration> t) const {
        return core().wait_until(steady_deadline(t));
    }

    /// Completes the task as cancelled; false if it was complete. If it has not started it never
    /// will, and what it captured is destroyed before this returns; its place in the queue stays
    /// taken until it is reached or purged, or is given up at once with remove_on_cancel. If it is
    /// running it goes on, unheeded; may_interrupt stops its token and interrupts its thread. Stop
    /// callbacks of the task run here, under no lock of the library and before the interrupt: one
    /// that waits for the task to notice the interrupt would wait for ever.
    bool cancel(bool may_interrupt = false) { return core().cancel(may_interrupt); }

    bool is_done() const { return core().is_done(); }
    bool is_cancelled() const { return core().is_cancelled(); }
    future_state state() const { return core().state(); }
    /// What the task failed with; null if it did not fail (yet).
    std::exception_ptr exception() const { return core().error(); }

    /// True if both stand for the same task.
    friend bool operator==(const future_base&, const future_base&) = default;

protected:
    friend struct future_access;
    explicit future_base(intrusive_ptr<future_core> core) noexcept : core_(std::move(core)) {}

    future_core& core() const {
        if (!core_) throw illegal_state("the future stands for no task");
        return *core_;
    }
    void await(steady_time deadline) const {
        if (!core().wait_until(deadline)) throw timeout();
    }

    intrusive_ptr<future_core> core_;
};

}  // namespace detail

/// The result of a task to come: a value, an exception, or cancellation. Move-only; it gives its
/// value once. Destroying it neither waits nor cancels. One thread at a time may use it; any
/// number of threads, each with its own handle, may wait for one task (see shared_future).
///
///     cadre::future<int> answer = pool.submit([] { return 6 * 7; });
///     std::cout << answer.get();
template <class T>
class future : public detail::future_base<T> {
    using base = detail::future_base<T>;

public:
    /// Stands for no task: all but valid() throw illegal_state.
    future() noexcept = default;
    future(future&&) noexcept = default;
    future& operator=(future&&) noexcept = default;

    /// True if the value can still be had.
    bool valid() const noexcept { return this->core_ && !this->core_->value_taken(); }

    /// The value, waiting for it as wait() does. Throws what the task threw, or cancellation, as
    /// often as it is asked; the value itself is given once, then illegal_state.
    T get() {
        this->core().wait();
        return detail::move_value<T>(this->core());
    }
    /// Throws timeout if the task is not complete in time; the future stays valid.
    template <class Rep, class Period>
    T get_for(std::chrono::duration<Rep, Period> timeout) {
        this->await(detail::deadline_after(detail::saturated(timeout)));
        return detail::move_value<T>(this->core());
    }
    template <class Clock, class Duration>
    T get_until(std::chrono::time_point<Clock, Duration> t) {
        this->await(detail::steady_deadline(t));
        return detail::move_value<T>(this->core());
    }

    /// A handle that can be copied and read any number of times, in place of this one.
    shared_future<T> share() &&;

    /// A future for what f makes of the result. f takes the value, and then runs only if there is
    /// one: failure and cancellation pass it by to the new future; or it takes the future itself,
    /// complete. It runs where the task completes, or here if it has. Cancelling the new future
    /// cancels this task as well.
    template <class F>
    auto then(F f) && {
        return std::move(*this).continue_with(nullptr, std::move(f));
    }
    /// The same, with f run by an executor, which must still be there when the task completes. A
    /// pool may go as soon as f is over. If it refuses, the new future fails with that.
    template <class F>
    auto then(executor& where, F f) && {
        return std::move(*this).continue_with(&where, std::move(f));
    }

    /// Suspends the coroutine until the task is complete, blocking no thread; gives what get()
    /// would, so once, as get() does. The coroutine goes on where the task completes; it may be
    /// destroyed before that. For a wait that a stop token ends, see await() in
    /// <cadre/coroutine.hpp>.
    auto operator co_await();

private:
    friend struct detail::future_access;
    friend class future_task<T>;
    using base::base;

    template <class F>
    auto continue_with(executor* where, F f) &&;
};

/// A result that many may read: copyable, each thread with its own copy. get() gives a const
/// reference to the one value, any number of times; it lives as long as any handle. The result of
/// a task that returns a reference is that reference, const or not.
template <class T>
class shared_future : public detail::future_base<T> {
    using base = detail::future_base<T>;

public:
    /// Stands for no task: all but valid() throw illegal_state.
    shared_future() noexcept = default;
    shared_future(future<T>&& unshared) noexcept : base(std::move(unshared)) {}

    bool valid() const noexcept { return static_cast<bool>(this->core_); }

    decltype(auto) get() const {
        this->core().wait();
        return detail::shared_value<T>(this->core());
    }
    template <class Rep, class Period>
    decltype(auto) get_for(std::chrono::duration<Rep, Period> timeout) const {
        this->await(detail::deadline_after(detail::saturated(timeout)));
        return detail::shared_value<T>(this->core());
    }
    template <class Clock, class Duration>
    decltype(auto) get_until(std::chrono::time_point<Clock, Duration> t) const {
        this->await(detail::steady_deadline(t));
        return detail::shared_value<T>(this->core());
    }

    /// As that of a future; any number of coroutines may await one result.
    auto operator co_await() const;
};

template <class T>
shared_future<T> future<T>::share() && {
    return shared_future<T>(std::move(*this));
}

/// A callable with a result of its own: run by whoever calls it, once; the result is read through
/// get_future(). Move-only; destroyed unrun, it completes its future as cancelled. cancel, set
/// and set_exception may race each other and the run from any thread: the first one decides.
///
///     cadre::future_task sum([&] { return add_up(parts); });
///     auto result = sum.get_future();
///     cadre::thread([task = std::make_shared<decltype(sum)>(std::move(sum))] { (*task)(); });
template <class T>
class future_task {
public:
    /// Throws std::invalid_argument if f is empty.
    template <class F>
        requires(!std::is_same_v<std::remove_cvref_t<F>, future_task>)
    explicit future_task(F&& f) : core_(make_core(std::forward<F>(f), detail::no_on_done{})) {}
    /// on_done(state) runs once, when the task completes in whatever way, where it completes,
    /// after the result is visible. What it throws leaves the call that completed the task. Throws
    /// std::invalid_argument if f or on_done is empty.
    template <class F, class OnDone>
    future_task(F&& f, OnDone on_done) : core_(make_core(std::forward<F>(f), std::move(on_done))) {}

    future_task(future_task&&) noexcept = default;
    future_task& operator=(future_task&& other) noexcept {
        if (this != &other) {
            abandon();
            core_ = std::move(other.core_);
            retrieved_ = other.retrieved_;
        }
        return *this;
    }
    ~future_task() { abandon(); }

    /// Throws illegal_state when called again.
    future<T> get_future() {
        core();  // throws if there is none
        if (std::exchange(retrieved_, true))
            throw illegal_state("the future was given out already");
        return future<T>(core_);
    }

    /// Runs the callable, unless the task is running, complete or cancelled.
    void operator()() { held_core()->run(); }
    /// Runs the callable and throws its value away, so that the task can be run again. False if
    /// it did not run, threw (that completes the task) or was cancelled meanwhile.
    bool run_and_reset() { return held_core()->run_and_reset(); }
    bool cancel(bool may_interrupt = false) { return core().cancel(may_interrupt); }
    /// Completes the task with this value instead of running it; false if it is complete.
    template <class U>
    bool set(U&& value) requires(!std::is_void_v<T>) {
        return held_core()->set_value(std::forward<U>(value));
    }
    bool set() requires std::is_void_v<T> { return held_core()->set_value(); }
    bool set_exception(std::exception_ptr error) {
        return held_core()->set_exception(std::move(error));
    }

    bool is_done() const { return core().is_done(); }
    bool is_cancelled() const { return core().is_cancelled(); }
    future_state state() const { return core().state(); }

    /// True if it was moved away: an empty callable.
    friend bool operator==(const future_task& t, std::nullptr_t) noexcept { return !t.core_; }
    std::string_view task_name() const noexcept {
        return core_ ? core_->name() : std::string_view();
    }
    int task_priority() const noexcept { return core_ ? core_->priority() : 0; }
    std::uintptr_t task_identity() const noexcept {
        return reinterpret_cast<std::uintptr_t>(static_cast<detail::future_core*>(core_.get()));
    }

private:
    using core_pointer = detail::intrusive_ptr<detail::result_core<T>>;

    template <class F, class OnDone>
    static core_pointer make_core(F&& f, OnDone on_done) {
        if (detail::is_empty_callable(f)) throw std::invalid_argument("the callable is empty");
        if (detail::is_empty_callable(on_done)) throw std::invalid_argument("on_done is empty");
        using core = detail::runnable_core<T, std::decay_t<F>, OnDone>;
        return core_pointer::adopt(new core(std::forward<F>(f), std::move(on_done)));
    }
    detail::result_core<T>& core() const {
        if (!core_) throw illegal_state("the task was moved away");
        return *core_;
    }
    /// For calls of users' code, which may destroy this object.
    core_pointer held_core() const {
        core();  // throws if there is none
        return core_;
    }
    void abandon() noexcept {
        if (core_) core_->abandon();
    }

    core_pointer core_;
    bool retrieved_ = false;
};

template <class F>
explicit future_task(F) -> future_task<detail::task_result_t<std::decay_t<F>>>;
template <class F, class OnDone>
future_task(F, OnDone) -> future_task<detail::task_result_t<std::decay_t<F>>>;

namespace detail {

/// What the layers above may do with futures.
struct future_access {
    template <class T>
    static future_core* core(const future_base<T>& f) noexcept {
        return f.core_.get();
    }
    template <class T>
    static future<T> make(intrusive_ptr<future_core> core) {
        return future<T>(std::move(core));
    }
};

/// A run_handle on its way to an executor. If the executor drops it while it refuses it, the
/// sender decides what becomes of the task, for the sender knows why; dropped later, it is
/// cancelled as any other.
class sent_handle {
public:
    enum class stage { sending, sent, dropped };
    using shared_stage = std::shared_ptr<std::atomic<stage>>;

    sent_handle(intrusive_ptr<future_core> core, shared_stage progress) noexcept
        : core_(std::move(core)), stage_(std::move(progress)) {}
    sent_handle(sent_handle&&) noexcept = default;
    sent_handle& operator=(sent_handle&&) = delete;
    ~sent_handle() {
        auto sending = stage::sending;
        if (core_ && !stage_->compare_exchange_strong(sending, stage::dropped)) core_->abandon();
    }
    void operator()() { core_->run(); }
    std::string_view task_name() const noexcept { return core_->name(); }
    int task_priority() const noexcept { return core_->priority(); }
    std::uintptr_t task_identity() const noexcept {
        return reinterpret_cast<std::uintptr_t>(core_.get());
    }

private:
    intrusive_ptr<future_core> core_;
    shared_stage stage_;
};

/// Has an executor run the task; if it refuses, the task fails with that.
CADRE_API void send(intrusive_ptr<future_core> core, executor& where);

/// What a continuation does: it calls f with the value of its source, or with the source.
template <class T, class F>
struct continuation_body {
    static constexpr bool takes_value = [] {
        if constexpr (std::is_void_v<T>)
            return std::is_invocable_v<F&>;
        else
            return std::is_invocable_v<F&, T>;
    }();

    future<T> source;
    F f;
    captured_context context = {};

    decltype(auto) operator()() {
        return context.call([this]() -> decltype(auto) { return call(); });
    }
    decltype(auto) call() {
        if constexpr (!takes_value) {
            return std::invoke(f, std::move(source));
        } else if constexpr (std::is_void_v<T>) {
            source.get();
            return std::invoke(f);
        } else {
            return std::invoke(f, source.get());
        }
    }
    std::string_view task_name() const noexcept requires has_annotations<F> {
        return f.task_name();
    }
    int task_priority() const noexcept requires has_annotations<F> { return f.task_priority(); }
};

/// Runs a continuation when its source is complete.
template <class Source, class Child, bool takes_future>
class continuation final : public completion {
public:
    continuation(intrusive_ptr<Source> source, intrusive_ptr<Child> child, executor* where)
        : source_(std::move(source)), child_(std::move(child)), where_(where) {}

    void run() override {
        const std::unique_ptr<continuation> self(this);
        const auto how = source_->state();
        if (!takes_future && how == future_state::cancelled)
            child_->abandon();
        else if (where_ && (takes_future || how == future_state::success))
            send(child_, *where_);
        else
            run_here();
    }

private:
    /// A thread that has not used the library yet may find no memory to begin with.
    void run_here() {
        try {
            child_->run();
        } catch (...) {
            if (!child_->set_exception(std::current_exception())) throw;
        }
    }

    intrusive_ptr<Source> source_;
    intrusive_ptr<Child> child_;
    executor* where_;
};

/// Goes on with a coroutine when the future it awaits is complete, unless the coroutine has been
/// destroyed. The completion and the awaiter each come to an end once; the second deletes it.
class resumption final : public completion {
public:
    explicit resumption(std::coroutine_handle<> waiting) noexcept : waiting_(waiting) {}
    void run() override {
        auto context = std::move(context_);  // for the coroutine may delete this
        if (other_ended_.exchange(true))
            delete this;
        else
            context.resume(waiting_);
    }
    void release() noexcept {
        if (other_ended_.exchange(true)) delete this;
    }

private:
    const std::coroutine_handle<> waiting_;
    captured_context context_;  // of the coroutine, where it waits
    std::atomic<bool> other_ended_ = false;
};

/// Waits for a future or a shared_future.
template <class Future>
class future_awaiter {
public:
    explicit future_awaiter(Future awaited) : awaited_(std::move(awaited)) {}
    future_awaiter(const future_awaiter&) = delete;
    future_awaiter& operator=(const future_awaiter&) = delete;
    ~future_awaiter() {
        if (attached_) attached_->release();
    }

    bool await_ready() const { return awaited_.is_done(); }
    bool await_suspend(std::coroutine_handle<> waiting) {
        attached_ = new resumption(waiting);
        try {
            // Once it is attached the coroutine may go on elsewhere: nothing of it is touched then.
            if (future_access::core(awaited_)->attach(*attached_)) return true;
        } catch (...) {
            delete std::exchange(attached_, nullptr);
            throw;
        }
        delete std::exchange(attached_, nullptr);
        return false;
    }
    decltype(auto) await_resume() { return awaited_.get(); }

private:
    Future awaited_;
    resumption* attached_ = nullptr;
};

}  // namespace detail

template <class T>
template <class F>
auto future<T>::continue_with(executor* where, F f) && {
    this->core();  // throws if there is none
    if (detail::is_empty_callable(f)) throw std::invalid_argument("the continuation is empty");
    detail::continuation_body<T, F> body{future(this->core_), std::move(f)};
    using result = detail::result_of_t<std::invoke_result_t<decltype(body)&>>;
    using child_core = detail::runnable_core<result, decltype(body)>;
    auto source = std::move(this->core_);
    auto child = detail::intrusive_ptr<child_core>::adopt(new child_core(std::move(body)));
    future<result> next = detail::future_access::make<result>(child);
    using continuation = detail::continuation<detail::future_core, child_core, !body.takes_value>;
    auto completion = std::make_unique<continuation>(source, child, where);
    child->follow(source);
    if (source->attach(*completion))
        completion.release();
    else
        completion.release()->run();
    return next;
}

template <class T>
auto future<T>::operator co_await() {
    return detail::future_awaiter<future>(std::move(*this));
}
template <class T>
auto shared_future<T>::operator co_await() const {
    return detail::future_awaiter<shared_future>(*this);
}

}  // namespace cadre
