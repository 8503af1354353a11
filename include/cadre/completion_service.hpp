// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include <cadre/executor.hpp>
#include <cadre/future.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>

namespace cadre {

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
        : executor_completion_service(where, std::make_unique<linked_blocking_queue<future<R>>>()) {
    }
    /// With a queue of one's own for the results, which should have room for all: what finds no
    /// room is lost to take(). Throws std::invalid_argument if it is null.
    executor_completion_service(executor& where, std::unique_ptr<queue_type> completed)
        : where_(where), completed_(std::move(completed)) {
        if (!completed_) throw std::invalid_argument("the completion queue is null");
    }

    /// Throws std::invalid_argument if f is empty, and what the executor throws; nothing is
    /// delivered then.
    template <class F>
    future<R> submit(F&& f) {
        if (detail::is_empty_callable(f)) throw std::invalid_argument("the callable is empty");
        using core = detail::runnable_core<R, std::decay_t<F>, deliver>;
        // The task refers to the queue, and the queue, when it is delivered, to the task: no
        // circle, for a task lets go of deliver when it is delivered.
        auto made = detail::intrusive_ptr<core>::adopt(
            new core(std::forward<F>(f), deliver{completed_, nullptr}));
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
    future<R> take() { return completed_->take(); }
    std::optional<future<R>> poll() { return completed_->poll(); }
    template <class Rep, class Period>
    std::optional<future<R>> poll_for(std::chrono::duration<Rep, Period> timeout) {
        return completed_->poll_for(timeout);
    }

private:
    struct deliver {
        std::shared_ptr<queue_type> to;
        detail::future_core* result;
        void operator()(future_state) {
            const auto queue = std::move(to);
            queue->offer(
                detail::future_access::make<R>(detail::intrusive_ptr<detail::future_core>(result)));
        }
    };

    executor& where_;
    const std::shared_ptr<queue_type> completed_;
};

}  // namespace cadre
