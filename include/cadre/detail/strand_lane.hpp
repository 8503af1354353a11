// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <cadre/detail/export.hpp>
#include <cadre/detail/future_core.hpp>
#include <cadre/detail/intrusive_ptr.hpp>
#include <cadre/detail/recycled_memory.hpp>
#include <cadre/executor.hpp>
#include <cadre/task.hpp>

namespace cadre::detail {

class lane_owner;
class lane_task;

/// The tasks of one strand that have not started. Guarded by the mutex of its owner.
struct lane {
    lane_task* first = nullptr;
    lane_task* last = nullptr;
    std::size_t tickets = 0;     ///< on their way to the executor, or there
    std::size_t permits = 0;     ///< tickets that came while the lane was busy
    std::size_t ahead = 0;       ///< tasks that were run before their tickets came
    std::uint64_t appended = 0;  ///< the number of the last task that came
    std::uint64_t wanted = 0;    ///< tasks up to this number need no more tickets
    bool busy = false;           ///< one of its tasks runs
};

/// A task in its lane, and the ticket that goes to the executor for it.
class CADRE_API lane_task final : public in_recycled_memory {
public:
    explicit lane_task(task t);
    void add_ref() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

private:
    friend class lane_owner;
    friend class lane_ticket;
    enum class stage { sending, sent, dropped, used };

    std::atomic<int> references_ = 1;
    std::atomic<stage> stage_ = stage::sending;
    const std::string name_;  // of its own, for what_ may run while a hook asks for it
    const int priority_;
    const intrusive_ptr<future_core> result_;  // of what_; null: it has none
    std::shared_ptr<lane_owner> owner_;
    lane* lane_ = nullptr;    // there as long as the ticket is
    std::thread::id sender_;  // set before it is sent

    // Guarded by the owner's mutex.
    lane_task* previous_ = nullptr;
    lane_task* next_ = nullptr;
    std::uint64_t number_ = 0;  // its place in the lane
    bool waits_ = false;        // in the lane
    task what_;                 // while it waits; then of whoever took it out
};

/// Whoever keeps lanes: their lock, and what may be done with them. Told in strand.cpp.
class CADRE_API lane_owner : public std::enable_shared_from_this<lane_owner> {
public:
    lane_owner() = default;
    lane_owner(const lane_owner&) = delete;
    lane_owner& operator=(const lane_owner&) = delete;
    virtual ~lane_owner() = default;

    std::mutex& mutex() noexcept { return mutex_; }
    /// Puts the task at the end of the lane, unlocks, and sends a ticket for it. Throws what the
    /// executor throws; the task is destroyed then.
    void send(std::unique_lock<std::mutex> lock, lane& to, intrusive_ptr<lane_task> what,
              executor& where);
    /// A ticket is served: runs tasks of the lane, up to the ticket's own, or has them run by
    /// whoever runs one. By its sender, that is, by an executor that runs it within execute().
    void serve(lane_task& own, bool by_sender);
    /// How many lanes the calling thread is serving, one inside another.
    static int served_here() noexcept;
    /// A ticket is lost: drops its task. False if that is gone already.
    bool drop(lane_task& of) noexcept;

protected:
    /// The lane is empty, idle, and nobody knows it any more. May unlock; the rest is over then.
    virtual void retire(lane& which, std::unique_lock<std::mutex>& lock) noexcept = 0;

private:
    static void append(lane& to, lane_task& what) noexcept;
    static intrusive_ptr<lane_task> take_next(lane& from) noexcept;
    static intrusive_ptr<lane_task> take_out(lane& from, lane_task& what) noexcept;
    static void count_off(lane& which) noexcept;

    std::mutex mutex_;
};

/// Makes a task with a result and passes it to `send`; gives the future.
template <class Send, class F, class... Args>
auto submit_by(Send send, F&& f, Args&&... args)
    -> future<task_result_t<std::decay_t<F>, std::decay_t<Args>...>> {
    using result = task_result_t<std::decay_t<F>, std::decay_t<Args>...>;
    auto core = make_runnable<result>(std::forward<F>(f), std::forward<Args>(args)...);
    auto handle = future_access::make<result>(core);
    send(task(run_handle(std::move(core))));
    return handle;
}

}  // namespace cadre::detail
