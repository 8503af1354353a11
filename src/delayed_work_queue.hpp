// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cadre/detail/export.hpp>
#include <cadre/queue/blocking_queue.hpp>
#include <cadre/task.hpp>

#include "timer_queue.hpp"

namespace cadre::detail {

/// The queue of a scheduler as its pool, and a user who looks into it, see it: unbounded, giving
/// out tasks when they are due. A task that is put in directly is due at once.
/// Exported, for cadre::manage tells it from others.
class CADRE_API delayed_work_queue final : public blocking_queue<task> {
public:
    explicit delayed_work_queue(intrusive_ptr<timer_queue> timers) : timers_(std::move(timers)) {}
    ~delayed_work_queue() override { timers_->close(); }

    using blocking_queue::drain_to;
    using blocking_queue::offer;
    using blocking_queue::offer_for;
    using blocking_queue::poll_for;

    bool offer(task&& x) override;
    bool offer_for(task&& x, std::chrono::nanoseconds) override { return offer(std::move(x)); }
    void put(task x) override { offer(std::move(x)); }
    task take() override;
    std::optional<task> poll() override;
    std::optional<task> poll_for(std::chrono::nanoseconds timeout) override;
    std::size_t size() const override { return timers_->size(); }
    std::size_t remaining_capacity() const override { return npos; }
    /// Tasks that are due only.
    std::size_t drain_to(std::vector<task>& out, std::size_t max = npos) override;
    std::size_t extract_if(function_ref<bool(const task&)> wanted, std::vector<task>& out,
                           std::size_t max = npos) override;
    std::optional<task> extract_first(function_ref<bool(const task&)> wanted) override;
    void for_each(function_ref<void(const task&)> visit) const override;
    /// For how long the first task has been due; zero if it is not.
    std::chrono::nanoseconds lateness() const;

protected:
    bool would_give() const override { return timers_->has_due(); }

private:
    task due_task(timer_queue::given due) const;
    std::size_t move_out(function_ref<bool(timer_core&, steady_time)> wanted,
                         std::vector<task>& out, std::size_t max);

    const intrusive_ptr<timer_queue> timers_;
};

/// A task, as it came, that is to run at a time.
struct wrapped_task {
    task inner;
    void operator()() { inner(); }
    std::string_view task_name() const noexcept { return inner.name(); }
    int task_priority() const noexcept { return inner.priority(); }
    std::uintptr_t wrapped_identity() const noexcept { return task_access::identity(inner); }
};

/// A timer of a task whose future, if it has one, is inside. It holds that and is told by it when
/// it is cancelled; so the future holds the timer, whose callable goes when it runs or is given up.
class wrapping_timer : public timer_core, public cancel_listener {
public:
    /// Its queue, known before anybody else knows the timer. Once.
    void set_timers(intrusive_ptr<timer_queue> timers) noexcept { timers_ = std::move(timers); }
    void add_ref() noexcept override { timer_core::add_ref(); }
    void release() noexcept override { timer_core::release(); }
    /// Leaves the queue, if that is the policy.
    void cancelled(const future_core&) override;

private:
    intrusive_ptr<timer_queue> timers_;
};

/// If there is no memory, t is untouched.
intrusive_ptr<wrapping_timer> make_wrapped(task&& t, intrusive_ptr<timer_queue> timers);

}  // namespace cadre::detail
