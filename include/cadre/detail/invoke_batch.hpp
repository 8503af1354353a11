// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

#include <cadre/detail/condition.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/future.hpp>
#include <cadre/task.hpp>

namespace cadre {

class executor_service;

namespace detail {

CADRE_API void execute_on(executor_service& where, task what);

/// A task from a callable and its arguments, in one allocation. Throws std::invalid_argument if
/// the callable is empty.
template <class Result, class F, class... Args>
auto make_runnable(F&& f, Args&&... args) {
    if (is_empty_callable(f)) throw std::invalid_argument("the callable is empty");
    using function = std::decay_t<F>;
    if constexpr (sizeof...(Args) == 0) {
        using core = runnable_core<Result, function>;
        return intrusive_ptr<core>::adopt(new core(std::forward<F>(f)));
    } else {
        using core = runnable_core<Result, bound<function, std::decay_t<Args>...>>;
        std::string name;
        int priority = 0;
        if constexpr (requires { f.task_name(); }) {
            name = f.task_name();
            priority = f.task_priority();
        }
        return intrusive_ptr<core>::adopt(new core(std::in_place, std::move(name), priority,
                                                   std::forward<F>(f),
                                                   std::forward<Args>(args)...));
    }
}

/// What the tasks of one invoke_all or invoke_any share with their caller.
class CADRE_API batch {
public:
    /// Once, before the first is sent: this many tasks there are.
    void expect(std::size_t tasks);
    /// A task of the batch is done.
    void completed(std::size_t index) noexcept;
    /// The index of one that is done, each once; nothing if the deadline passed.
    std::optional<std::size_t> next_completed(steady_time deadline);

    /// A callable of the batch exists; it is gone when the guard is.
    void enter() noexcept;
    void leave() noexcept;
    /// Waits until no callable is left, whatever comes.
    void await_all_gone() noexcept;

private:
    std::mutex mutex_;  // guards all below
    condition changed_;
    std::vector<std::size_t> done_;  // in the order in which they were
    std::size_t next_done_ = 0;
    std::size_t callables_ = 0;
};

class batch_guard {
public:
    explicit batch_guard(std::shared_ptr<batch> b) noexcept : batch_(std::move(b)) {
        batch_->enter();
    }
    batch_guard(batch_guard&&) noexcept = default;
    batch_guard& operator=(batch_guard&&) = delete;
    ~batch_guard() {
        if (batch_) batch_->leave();
    }

private:
    std::shared_ptr<batch> batch_;
};

/// A callable that its batch counts.
template <class F>
struct batch_callable {
    batch_guard guard;
    F function;
    decltype(auto) operator()() { return invoke_task(function); }
    std::string_view task_name() const noexcept requires has_annotations<F> {
        return function.task_name();
    }
    int task_priority() const noexcept requires has_annotations<F> {
        return function.task_priority();
    }
};

struct batch_on_done {
    std::shared_ptr<batch> shared;
    std::size_t index;
    void operator()(future_state) const { shared->completed(index); }
};

template <class Range>
using batch_function_t = std::decay_t<std::ranges::range_reference_t<Range>>;
template <class Range>
using batch_result_t = task_result_t<batch_function_t<Range>>;

/// The tasks of a batch, none of them sent yet. Throws std::invalid_argument if one is empty.
template <class Range>
auto make_batch(const std::shared_ptr<batch>& shared, Range&& callables) {
    using function = batch_function_t<Range>;
    using result = batch_result_t<Range>;
    using core = runnable_core<result, batch_callable<function>, batch_on_done>;
    std::vector<intrusive_ptr<future_core>> cores;
    for (auto&& f : callables) {
        if (is_empty_callable(f))
            throw std::invalid_argument("callable " + std::to_string(cores.size()) + " is empty");
        // The elements of a range that is given away are given away with it.
        constexpr bool given = !std::is_lvalue_reference_v<Range> && !std::ranges::view<Range>;
        auto take = [&]() -> function {
            if constexpr (given && std::is_move_constructible_v<function>)
                return std::move(f);
            else
                return std::forward<decltype(f)>(f);  // of an input range: its own, or a value
        };
        cores.push_back(intrusive_ptr<core>::adopt(new core(
            batch_callable<function>{batch_guard(shared), take()}, {shared, cores.size()})));
    }
    shared->expect(cores.size());
    return cores;
}

inline void cancel_all(const std::vector<intrusive_ptr<future_core>>& cores) {
    for (const auto& core : cores) core->cancel(true);
}

template <class Service, class Range>
auto invoke_all(Service& where, Range&& callables, steady_time deadline) {
    using result = batch_result_t<Range>;
    auto shared = std::make_shared<batch>();
    auto cores = make_batch(shared, std::forward<Range>(callables));
    std::vector<future<result>> futures;
    futures.reserve(cores.size());
    for (const auto& core : cores) futures.push_back(future_access::make<result>(core));
    const auto in_time = [deadline] {
        return deadline == forever || std::chrono::steady_clock::now() < deadline;
    };
    try {
        for (const auto& core : cores) {
            if (!in_time()) break;
            execute_on(where, task(run_handle(core)));
        }
    } catch (...) {
        cancel_all(cores);
        shared->await_all_gone();  // they may refer to what the exception is about to destroy
        throw;
    }
    try {
        for (const auto& core : cores) {
            if (deadline == forever)
                core->wait();
            else if (!core->wait_until(deadline))
                break;
        }
    } catch (...) {
        cancel_all(cores);
        throw;
    }
    cancel_all(cores);  // what is not done by now
    return futures;
}

template <class Service, class Range>
auto invoke_any(Service& where, Range&& callables, steady_time deadline) -> batch_result_t<Range> {
    auto shared = std::make_shared<batch>();
    auto cores = make_batch(shared, std::forward<Range>(callables));
    if (cores.empty()) throw std::invalid_argument("invoke_any needs at least one callable");
    struct cancel_losers {
        decltype(cores)& all;
        ~cancel_losers() { cancel_all(all); }
    } const cancel_at_the_end{cores};

    // As in the JDK: one more is sent whenever none of those under way is done.
    std::exception_ptr failure;
    std::size_t sent = 0;
    std::size_t under_way = 0;
    const auto send_next = [&] {
        const auto& core = cores[sent++];
        execute_on(where, task(run_handle(core)));
        ++under_way;
    };
    const auto help = [&] {
        for (std::size_t i = 0; i < sent; ++i)
            if (cores[i]->help()) return true;
        return false;
    };
    // So that a circle of waits that goes through here is seen.
    const auto wait_for_the_only_one = [&] {
        for (std::size_t i = 0; i < sent; ++i) {
            if (cores[i]->is_done()) continue;
            cores[i]->wait();
            return true;
        }
        return false;
    };
    send_next();
    for (;;) {
        auto done = shared->next_completed(steady_time::min());
        if (!done && sent < cores.size()) {
            send_next();
            continue;
        }
        if (!done && under_way == 0) std::rethrow_exception(std::move(failure));
        if (!done && deadline == forever) {
            if (help()) {  // perhaps with others, and for long
                done = shared->next_completed(steady_time::min());
                if (!done) {
                    thread_control::current().throw_if_interrupted();
                    continue;
                }
            } else if (under_way == 1 && wait_for_the_only_one()) {
                continue;
            }
        }
        if (!done) done = shared->next_completed(deadline);
        if (!done) throw timeout();
        --under_way;
        const auto& core = cores[*done];
        if (core->state() == future_state::success) return move_value<batch_result_t<Range>>(*core);
        failure = core->error();
        if (!failure) failure = std::make_exception_ptr(cancellation());
    }
}

}  // namespace detail
}  // namespace cadre
