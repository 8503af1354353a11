// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <cadre/detail/intrusive_ptr.hpp>
#include <cadre/detail/thread_control.hpp>
#include <cadre/thread.hpp>

namespace cadre::detail {

/// A thread of that factory. The default factory gives it the name of the pool, if that has one.
thread make_pool_thread(const thread_factory& factory, const std::string& pool_name,
                        std::function<void()> body);

/// True for a factory of this library: it refuses only if the system has no thread to give.
bool is_own_factory(const thread_factory& factory) noexcept;

/// False if so little is left of the calling thread's stack that a task may not fit. Of a stack
/// that is not its own, say a fiber's, nothing is known: there it is true.
bool has_stack_for_a_task();

[[noreturn]] void refuse_foreign(thread made);
[[noreturn]] void refuse_caller();

/// What the thread of a worker runs. The thread runs as soon as the factory has made it, but may
/// only begin when the pool has entered the worker in its books; if the pool cannot, it ends.
template <class Pool, class Worker>
class worker_start {
public:
    worker_start(std::shared_ptr<Pool> pool, std::shared_ptr<Worker> w)
        : pool_(std::move(pool)), worker_(std::move(w)) {}
    worker_start(const worker_start&) = delete;
    worker_start& operator=(const worker_start&) = delete;
    /// Tells the pool if the worker was to begin and its thread ended without having done so.
    ~worker_start() {
        if (decision_.load() == go && !entered_.load()) pool_->worker_never_started(*worker_);
    }

    void run() {
        // Before the decision its maker is still in the factory, so no other thread has that id.
        if (decision_.load() == undecided && std::this_thread::get_id() == maker_) refuse_caller();
        if (!entered_.exchange(true) && is_to_begin()) pool_->run_worker(*worker_);
    }
    void begin() noexcept { decide(go); }
    void call_off() noexcept { decide(off); }

private:
    static constexpr std::uint32_t undecided = 0;
    static constexpr std::uint32_t go = 1;
    static constexpr std::uint32_t off = 2;
    static constexpr std::uint32_t awaited = 3;  // undecided, and the thread sleeps

    /// Waits for the decision. False also if the factory gives the thread up and waits for it to
    /// end, before it refuses or throws; or it makes another one, which is to begin instead.
    bool is_to_begin() {
        auto& self = thread_control::current();
        sleeper_ = intrusive_ptr<thread_control>(&self);
        std::uint32_t seen = undecided;
        if (!decision_.compare_exchange_strong(seen, awaited)) return seen == go;
        while (decision_.load() == awaited && !self.is_abandoned()) self.park_until(forever);
        seen = awaited;
        if (!decision_.compare_exchange_strong(seen, undecided)) return seen == go;
        entered_.store(false);
        return false;
    }
    void decide(std::uint32_t decision) noexcept {
        if (decision_.exchange(decision) == awaited) sleeper_->unpark();
    }

    const std::shared_ptr<Pool> pool_;
    const std::shared_ptr<Worker> worker_;
    const std::thread::id maker_ = std::this_thread::get_id();
    std::atomic<std::uint32_t> decision_ = undecided;
    std::atomic<bool> entered_ = false;
    intrusive_ptr<thread_control> sleeper_;  // written before `awaited`, read after it was seen
};

/// Has the factory make a thread that waits until the start is decided; an empty one if it
/// refuses. Throws what the factory throws, and illegal_state if the thread is not ours.
template <class Pool, class Worker>
thread make_waiting_thread(const thread_factory& factory, const std::string& pool_name,
                           const std::shared_ptr<worker_start<Pool, Worker>>& start) {
    thread made = make_pool_thread(factory, pool_name, [start] { start->run(); });
    if (made.joinable() && start.use_count() == 1) refuse_foreign(std::move(made));
    return made;
}

}  // namespace cadre::detail
