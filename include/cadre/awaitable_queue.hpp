// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <utility>

#include <cadre/coroutine.hpp>
#include <cadre/detail/condition.hpp>
#include <cadre/errors.hpp>
#include <cadre/executor.hpp>
#include <cadre/queue/blocking_queue.hpp>

namespace cadre {

/// A FIFO queue whose takers are coroutines: one that waits for an element blocks no thread.
/// Producers are threads or coroutines. A bound holds them back: put() blocks the thread, also that
/// of a coroutine, which should offer() and sleep_on() instead.
///
///     cadre::awaitable_queue<request> requests(1000);
///     cadre::future<void> serve(cadre::executor& pool) {
///         while (auto next = co_await requests.async_take(pool)) handle(*next);
///     }                                        // nothing: the queue is closed and empty
///
/// Elements go to the takers in the order in which those came. All members may be called from any
/// thread. Elements must be movable without exceptions. The destructor closes the queue; putters
/// must not be waiting then.
template <class T>
class awaitable_queue {
    static_assert(std::is_nothrow_move_constructible_v<T>);
    class shared_state;
    class taker;

public:
    class take_awaiter;

    /// Throws std::invalid_argument if the capacity is not positive.
    explicit awaitable_queue(int capacity = unbounded)
        : state_(std::make_shared<shared_state>(checked(capacity))) {}
    ~awaitable_queue() { close(); }
    awaitable_queue(const awaitable_queue&) = delete;
    awaitable_queue& operator=(const awaitable_queue&) = delete;

    /// Inserts x if there is room at once. False when full or closed; x is untouched then.
    bool offer(T&& x) {
        std::unique_lock lock(state_->mutex);
        if (state_->closed || state_->items.size() >= state_->capacity) return false;
        std::list<T> one;
        one.push_back(std::move(x));
        state_->hand_over(one, lock);
        return true;
    }
    /// Inserts x, waiting for room. Throws interrupted, or illegal_state if the queue is closed.
    void put(T x) {
        std::list<T> one;  // before the wait: whoever is woken for the room must use it
        one.push_back(std::move(x));
        std::unique_lock lock(state_->mutex);
        state_->not_full.wait(
            lock, [this] { return state_->closed || state_->items.size() < state_->capacity; });
        if (state_->closed) throw illegal_state("the queue is closed");
        state_->hand_over(one, lock);
    }
    /// Removes and returns the head; nothing if there is none.
    std::optional<T> poll() { return state_->poll(); }

    /// co_await gives the head, waiting for one; nothing if the queue is closed and empty. If it
    /// has to wait, the coroutine goes on as a task of the executor. If that refuses or drops the
    /// task, it goes on with that exception, or cancellation, on the thread where that happens, and
    /// the element goes to the next taker or back to the head. Throws cancellation if a stop is
    /// requested while it waits.
    take_awaiter async_take(executor& where, std::stop_token stop = {}) {
        return take_awaiter(state_, where, std::move(stop));
    }

    /// Takes no more elements. Takers get those that are left, then nothing.
    void close() {
        std::list<detail::intrusive_ptr<taker>> waiting;
        {
            detail::deferred_wake wake;
            const std::lock_guard lock(state_->mutex);
            state_->closed = true;
            waiting.swap(state_->takers);
            for (const auto& each : waiting) each->waits = false;
            state_->not_full.notify_all(wake);
        }
        for (const auto& each : waiting) each->send_on();
    }
    bool is_closed() const {
        const std::lock_guard lock(state_->mutex);
        return state_->closed;
    }
    std::size_t size() const {
        const std::lock_guard lock(state_->mutex);
        return state_->items.size();
    }

private:
    static std::size_t checked(int capacity) {
        if (capacity <= 0)
            throw std::invalid_argument("capacity (" + std::to_string(capacity) +
                                        ") is not positive");
        return static_cast<std::size_t>(capacity);
    }

    /// Shared by the queue and the coroutines that wait, which may be the last to know it.
    /// Whenever the mutex is free, there are no elements or no takers.
    class shared_state {
    public:
        explicit shared_state(std::size_t room) : capacity(room) {}

        /// Gives it to the taker that has waited longest, else to the queue. Unlocks.
        void hand_over(std::list<T>& one, std::unique_lock<std::mutex>& lock) {
            if (takers.empty()) {
                items.splice(items.end(), one);
                lock.unlock();
            } else {
                // That takes no room. Whoever gives it may have been woken for some, and nobody
                // else would tell the next one that it is there.
                {
                    detail::deferred_wake wake;
                    not_full.notify_one(wake);
                }
                hand_to_first(one, lock);
            }
        }
        /// The same for what another taker could not take: it was the head.
        void give_back(std::list<T>& one) {
            std::unique_lock lock(mutex);
            hand_to_first(one, lock);
        }
        std::optional<T> poll() {
            detail::deferred_wake wake;
            const std::lock_guard lock(mutex);
            return take_head(wake);
        }
        std::optional<T> take_head(detail::deferred_wake& wake) {
            if (items.empty()) return std::nullopt;
            std::optional<T> head(std::move(items.front()));
            items.pop_front();
            not_full.notify_one(wake);
            return head;
        }

        const std::size_t capacity;
        mutable std::mutex mutex;  // guards all below
        detail::condition not_full;
        std::list<T> items;  // a list, so that what a taker could not take goes back without memory
        std::list<detail::intrusive_ptr<taker>> takers;  // in the order in which they came
        bool closed = false;

    private:
        /// To the first whose executor takes it, else to the head of the queue. The others go on
        /// here, with what their executors said, when the element has its place. Unlocks.
        void hand_to_first(std::list<T>& one, std::unique_lock<std::mutex>& lock) {
            std::list<detail::intrusive_ptr<taker>> here;
            while (!one.empty() && !takers.empty()) {
                here.splice(here.end(), takers, takers.begin());
                auto& first = here.back();
                first->waits = false;
                first->item.splice(first->item.end(), one);
                lock.unlock();
                if (first->send_to_executor())
                    here.pop_back();
                else if (first->error())
                    one.splice(one.end(), first->item);
                lock.lock();
            }
            items.splice(items.begin(), one);
            lock.unlock();
            for (const auto& each : here) each->resume();
        }
    };

    /// A coroutine that waits for an element.
    class taker final : public detail::resume_point {
    public:
        taker(std::coroutine_handle<> waiting, std::shared_ptr<shared_state> from, executor& where)
            : resume_point(waiting), state_(std::move(from)), where_(where) {}

        bool send_to_executor() { return this->send(where_); }
        /// Has the coroutine go on: on the executor, else here.
        void send_on() {
            if (!send_to_executor()) this->resume();
        }
        /// A stop was requested.
        void stop() {
            {
                const std::lock_guard lock(state_->mutex);
                stopped = true;
                if (!waits) return;
                waits = false;
                state_->takers.remove(detail::intrusive_ptr<taker>(this));
            }
            send_on();
        }
        /// The coroutine is destroyed.
        void leave() {
            this->forget();
            const std::lock_guard lock(state_->mutex);
            if (!std::exchange(waits, false)) return;
            state_->takers.remove(detail::intrusive_ptr<taker>(this));
        }

        bool waits = false;    // in the list; guarded by the mutex, as
        bool stopped = false;  // this
        std::list<T> item;  // one or none; of whoever took it out of the list, then the coroutine

    private:
        void given_up() noexcept override {
            if (!item.empty()) state_->give_back(item);
        }
        const std::shared_ptr<shared_state> state_;
        executor& where_;
    };

public:
    /// What async_take() returns, to be awaited at once.
    class take_awaiter {
    public:
        take_awaiter(const take_awaiter&) = delete;
        take_awaiter& operator=(const take_awaiter&) = delete;
        ~take_awaiter() {
            if (taker_) taker_->leave();
        }

        bool await_ready() {
            head_ = state_->poll();
            return head_ || stop_.stop_requested();
        }
        bool await_suspend(std::coroutine_handle<> waiting) {
            const auto own =
                detail::intrusive_ptr<taker>::adopt(new taker(waiting, state_, where_));
            taker_ = own;
            // Before it is in the list: after that this object may be gone any time.
            on_stop_.emplace(stop_, [own] {
                const auto alive = own;  // going on destroys the callback
                alive->stop();
            });
            detail::deferred_wake wake;
            const std::lock_guard lock(state_->mutex);
            if (own->stopped) return false;
            head_ = state_->take_head(wake);
            if (head_ || state_->closed) return false;
            state_->takers.push_back(own);
            own->waits = true;
            return true;
        }
        std::optional<T> await_resume() {
            if (head_) return std::move(head_);
            if (taker_) {
                if (taker_->error()) std::rethrow_exception(taker_->error());
                if (!taker_->item.empty()) return std::move(taker_->item.front());
            }
            if (stop_.stop_requested()) throw cancellation();
            return std::nullopt;
        }

    private:
        friend class awaitable_queue;
        take_awaiter(std::shared_ptr<shared_state> from, executor& where, std::stop_token stop)
            : state_(std::move(from)), where_(where), stop_(std::move(stop)) {}

        const std::shared_ptr<shared_state> state_;
        executor& where_;
        const std::stop_token stop_;
        std::optional<T> head_;  // if there was no need to wait
        detail::intrusive_ptr<taker> taker_;
        std::optional<std::stop_callback<std::function<void()>>> on_stop_;
    };

private:
    const std::shared_ptr<shared_state> state_;
};

}  // namespace cadre
