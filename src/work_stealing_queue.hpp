// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <cadre/detail/condition.hpp>
#include <cadre/detail/recycled_memory.hpp>
#include <cadre/detail/schedule_point.hpp>
#include <cadre/queue/linked_blocking_queue.hpp>
#include <cadre/task.hpp>

#include "keeps_memory.hpp"
#include "work_stealing_deque.hpp"
#include "work_stealing_room.hpp"

namespace cadre::detail {

/// The queue of a work-stealing pool: a deque for each worker, and a FIFO queue for what comes from
/// outside. How it works is told in work_stealing_queue.cpp. Nobody but the pool sees it.
class work_stealing_queue final : public blocking_queue<task> {
    struct node;
    struct worker_slot;
    struct attached_to {
        const work_stealing_queue* queue;
        worker_slot* slot;
    };

public:
    /// With deques for so many workers.
    explicit work_stealing_queue(int workers);
    ~work_stealing_queue() override;
    work_stealing_queue* as_work_stealing() noexcept override { return this; }

    class own_task;

    /// While it lives, the calling thread has a deque, if one is free. What is left in it at the
    /// end is for the others, and for whoever has the deque next.
    class [[nodiscard]] attachment {
    public:
        explicit attachment(work_stealing_queue* queue) noexcept;
        ~attachment();
        attachment(const attachment&) = delete;
        attachment& operator=(const attachment&) = delete;
        explicit operator bool() const noexcept { return slot_ != nullptr; }

    private:
        friend class own_task;
        const attached_to outer_;  // a thread may work for one pool inside another's
        worker_slot* const slot_;
    };

    /// The newest task of the calling thread's own deque, to be run where it lies: a move less
    /// than try_take(). There is none if the deque is empty, or if it is time to look outside.
    class [[nodiscard]] own_task {
    public:
        explicit own_task(const attachment& deque) noexcept
            : slot_(*deque.slot_), node_(pop_for_now(slot_)) {}
        ~own_task() {
            if (node_) give_back(slot_, node_);
        }
        own_task(const own_task&) = delete;
        own_task& operator=(const own_task&) = delete;
        explicit operator bool() const noexcept { return node_ != nullptr; }
        task& operator*() const noexcept { return node_->work; }

    private:
        worker_slot& slot_;
        node* const node_;
    };

    using blocking_queue::drain_to;
    using blocking_queue::offer;
    using blocking_queue::offer_for;
    using blocking_queue::poll_for;

    /// The deque of the calling thread; null if it has none here.
    worker_slot* own_slot() const noexcept {
        return attached.queue == this ? attached.slot : nullptr;
    }
    /// Into that deque; the result is for take_back(). Throws std::bad_alloc, with nothing changed.
    const void* push(worker_slot& own, task&& t) {
        own.deque.make_room();
        node* const pushed = make_node(own, std::move(t));
        CADRE_SCHEDULE_POINT("a push to a deque");
        own.deque.push(pushed);
        if (room_.wants_call()) room_.call();
        return pushed;
    }
    /// Into the deque of the calling thread if it has one, else to the end of the queue outside.
    void push(task&& t);
    /// The next task for the calling thread; false, with `next` untouched, if there is none.
    bool try_take(task& next) noexcept;
    /// The same for one that waits inside a task: what came from outside it leaves to idle workers.
    bool try_take_meanwhile(task& next) noexcept;
    /// Takes out what the calling thread has just pushed; false if somebody else has it.
    bool take_back(std::uintptr_t identity, task& t);
    bool take_back(worker_slot& own, const void* pushed, task& t);

    /// From now until leave_call() the calling thread, which w stands for and which waits inside a
    /// task, is nudged when there is work. False, and it is not, if there is some now.
    bool enter_call(waiter& w) noexcept;
    void leave_call(waiter& w) noexcept;

    bool offer(task&& t) override {
        push(std::move(t));
        return true;
    }
    bool offer_for(task&& t, std::chrono::nanoseconds) override { return offer(std::move(t)); }
    void put(task t) override { push(std::move(t)); }
    task take() override;
    std::optional<task> poll() override;
    std::optional<task> poll_for(std::chrono::nanoseconds timeout) override;
    std::size_t size() const override;
    bool empty() const override;
    std::size_t remaining_capacity() const override { return npos; }
    std::size_t drain_to(std::vector<task>& out, std::size_t max = npos) override;
    /// Of what came from outside only; nobody but the owner of a deque can look into its middle.
    std::size_t extract_if(function_ref<bool(const task&)> wanted, std::vector<task>& out,
                           std::size_t max = npos) override;
    /// What came from outside only.
    void for_each(function_ref<void(const task&)> visit) const override;

    /// How many came from outside and wait.
    std::size_t outside_size() const { return outside_.size(); }
    /// How many tasks a worker has taken from the deque of another.
    std::int64_t steal_count() const noexcept;

private:
    static constexpr std::uint32_t turns_between_looks_outside = 61;  // prime: in step with nothing
    static constexpr std::uint32_t most_spares = 64;

    struct node : in_recycled_memory {
        explicit node(task&& t) noexcept : work(std::move(t)) {}
        task work;
    };
    struct spare_node {
        spare_node* next;
    };
    /// What belongs to one worker. All but what the deque and the atomics allow is its own.
    struct alignas(64) worker_slot {
        work_stealing_deque<node> deque;
        std::atomic<bool> taken = false;
        std::uint32_t random = 0;
        std::uint32_t turns_left = turns_between_looks_outside;  // before one outside
        std::uint32_t spare_count = 0;
        spare_node* spares = nullptr;  // the memory of nodes, for the next ones
        std::atomic<std::int64_t> steals = 0;
    };

    static node* make_node(worker_slot& own, task&& t) {
        spare_node* const spare = own.spares;
        if (!spare) return new node(std::move(t));
        own.spares = spare->next;
        --own.spare_count;
        return ::new (static_cast<void*>(spare)) node(std::move(t));
    }
    static void give_back(worker_slot& own, node* used) noexcept {
        if (!keeps_memory || own.spare_count == most_spares) {
            delete used;
            return;
        }
        used->~node();
        own.spares = ::new (static_cast<void*>(used)) spare_node{own.spares};
        ++own.spare_count;
    }
    static void give_back(worker_slot* own, node* used) noexcept {
        if (own)
            give_back(*own, used);
        else
            delete used;
    }
    static node* pop_for_now(worker_slot& own) noexcept {
        if (own.turns_left <= 1) return nullptr;  // try_take() looks outside
        node* const newest = own.deque.pop();
        if (newest) --own.turns_left;
        return newest;
    }

    static constinit thread_local attached_to attached;  // the deque of this thread

    worker_slot* take_slot() noexcept;
    template <class IsWanted>
    bool take_back_newest(worker_slot& own, task& t, IsWanted is_wanted);
    bool pop(worker_slot* own, task& next) noexcept;
    bool steal(worker_slot* own, task& next) noexcept;
    bool take_within(steady_time deadline, task& next);
    bool has_nested_work() const noexcept;
    bool has_work_meanwhile() const noexcept;

    const std::size_t count_;
    const std::unique_ptr<worker_slot[]> slots_;
    linked_blocking_queue<task> outside_;  // nobody sleeps in it
    work_stealing_room room_;
};

}  // namespace cadre::detail
