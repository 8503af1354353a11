// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include <cadre/detail/condition.hpp>
#include <cadre/detail/export.hpp>
#include <cadre/executor.hpp>
#include <cadre/future.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>

namespace cadre {

namespace detail {

/// Complete tasks, in the order in which they came, for others to take. Each brings its entry with
/// it: whoever waits for one that is complete must not wait for ever for want of memory.
class CADRE_API completed_list {
public:
    struct entry {
        future_core* result = nullptr;
        entry* next = nullptr;
    };

    completed_list() = default;
    ~completed_list();
    completed_list(const completed_list&) = delete;
    completed_list& operator=(const completed_list&) = delete;

    /// Once for each task; it is kept until it is taken.
    void push(entry& of) noexcept;
    /// The first, which is gone then; null if there is none.
    intrusive_ptr<future_core> poll() noexcept;
    /// The same, waiting for one. As with the queues, an interrupt counts even if there is one.
    intrusive_ptr<future_core> poll_until(steady_time deadline);

private:
    intrusive_ptr<future_core> pop() noexcept;

    std::mutex mutex_;  // guards all below
    condition not_empty_;
    entry* first_ = nullptr;
    entry* last_ = nullptr;
};

}  // namespace detail

/// Hands out results in the order in which the tasks complete, whichever way they end. All members
/// may be called from any thread. The executor must outlive its last submit().
///
///     cadre::executor_completion_service<page> pages(pool);
///     for (const auto& url : urls) pages.submit([url] { return fetch(url); });
///     for (std::size_t i = 0; i < urls.size(); ++i) show(pages.take().get());
///
/// submit() and take() give two handles of one task: the one of submit() serves for cancelling and
/// asking, and whichever is asked first gives the value.
template <class R>
class executor_completion_service {
public:
    using queue_type = blocking_queue<future<R>>;

    explicit executor_completion_service(executor& where)
        : where_(where), completed_(std::make_shared<outlet>()) {}
    /// With a queue of one's own for the results, which should have room for all: what finds no
    /// room is lost to take(). Throws std::invalid_argument if it is null.
    executor_completion_service(executor& where, std::unique_ptr<queue_type> completed)
        : executor_completion_service(where) {
        if (!completed) throw std::invalid_argument("the completion queue is null");
        completed_->queue = std::move(completed);
    }

    /// Throws std::invalid_argument if f is empty, and what the executor throws; nothing is
    /// delivered then.
    template <class F>
    future<R> submit(F&& f) {
        if (detail::is_empty_callable(f)) throw std::invalid_argument("the callable is empty");
        using core = detail::runnable_core<R, std::decay_t<F>, deliver>;
        // The task refers to the outlet, and the outlet, when it is delivered, to the task: no
        // circle, for a task lets go of the outlet when it is delivered.
        auto made = detail::intrusive_ptr<core>::adopt(
            new core(std::forward<F>(f), deliver{{}, completed_}));
        made->done_function().result = made.get();
        auto result = detail::future_access::make<R>(made);
        // A task that is dropped because it is refused must not be delivered as a cancelled one.
        using stage = detail::sent_handle::stage;
        const auto progress = std::make_shared<std::atomic<stage>>(stage::sending);
        where_.execute(task(detail::sent_handle(made, progress)));
        if (progress->exchange(stage::sent) == stage::dropped) made->abandon();
        return result;
    }

    /// The next completed, waiting for one. Throws interrupted.
    future<R> take() {
        if (completed_->queue) return completed_->queue->take();
        return detail::future_access::make<R>(completed_->list.poll_until(detail::forever));
    }
    std::optional<future<R>> poll() {
        if (completed_->queue) return completed_->queue->poll();
        return future_of(completed_->list.poll());
    }
    template <class Rep, class Period>
    std::optional<future<R>> poll_for(std::chrono::duration<Rep, Period> timeout) {
        if (completed_->queue) return completed_->queue->poll_for(timeout);
        return future_of(
            completed_->list.poll_until(detail::deadline_after(detail::saturated(timeout))));
    }

private:
    /// Where results go. Shared with the tasks under way.
    struct outlet {
        std::unique_ptr<queue_type> queue;  // null: to the list
        detail::completed_list list;
    };
    struct deliver : detail::completed_list::entry {
        std::shared_ptr<outlet> to;
        void operator()(future_state) {
            const auto let_go = std::move(to);
            if (let_go->queue)
                let_go->queue->offer(detail::future_access::make<R>(
                    detail::intrusive_ptr<detail::future_core>(this->result)));
            else
                let_go->list.push(*this);
        }
    };

    static std::optional<future<R>> future_of(detail::intrusive_ptr<detail::future_core> result) {
        if (!result) return std::nullopt;
        return detail::future_access::make<R>(std::move(result));
    }

    executor& where_;
    const std::shared_ptr<outlet> completed_;
};

}  // namespace cadre
