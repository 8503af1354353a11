// SPDX-License-Identifier: Apache-2.0

#include "delayed_work_queue.hpp"

#include <algorithm>

#include <cadre/detail/future_result.hpp>
#include <cadre/detail/queue_extract.hpp>

#include "timer_details.hpp"

namespace cadre::detail {

void wrapping_timer::cancelled(const future_core&) {
    // It may be on its way to the queue, and not prepared yet. Whoever has it in a queue looks at
    // its callable.
    if (timers_->removes_cancelled() && timers_->drop(*this)) abandon();
}

intrusive_ptr<wrapping_timer> make_wrapped(task&& t, intrusive_ptr<timer_queue> timers) {
    using core = runnable_core<void, wrapped_task, no_on_done, wrapping_timer>;
    auto made = intrusive_ptr<core>::adopt(new core(wrapped_task{std::move(t)}));
    made->set_timers(std::move(timers));
    made->tell_what_it_throws();
    return made;
}

bool delayed_work_queue::offer(task&& x) {
    auto timer = make_wrapped(std::move(x), timers_);
    timer->prepare(*timers_, {.first = timers_->now()});
    timers_->insert(std::move(timer), timers_->now());
    return true;
}

task delayed_work_queue::due_task(timer_queue::given due) const {
    return task(
        timer_handle(std::move(due.timer), timer_handle::origin::due, timers_->stamp_of(due.due)));
}

task delayed_work_queue::take() { return due_task(timers_->poll_until(forever)); }

std::optional<task> delayed_work_queue::poll() {
    if (auto due = timers_->poll(); due.timer) return due_task(std::move(due));
    return std::nullopt;
}

std::optional<task> delayed_work_queue::poll_for(std::chrono::nanoseconds timeout) {
    if (auto due = timers_->poll_until(deadline_after(timeout)); due.timer)
        return due_task(std::move(due));
    return std::nullopt;
}

std::size_t delayed_work_queue::move_out(function_ref<bool(timer_core&, steady_time)> wanted,
                                         std::vector<task>& out, std::size_t max) {
    auto taken =
        timers_->extract_if(wanted, max, [&](std::size_t count) { make_room(out, count); });
    for (auto& timer : taken) out.emplace_back(timer_handle(std::move(timer)));
    return taken.size();
}

std::size_t delayed_work_queue::drain_to(std::vector<task>& out, std::size_t max) {
    const auto now = timers_->now();
    return move_out([now](timer_core&, steady_time due) { return due <= now; }, out, max);
}

std::size_t delayed_work_queue::extract_if(function_ref<bool(const task&)> wanted,
                                           std::vector<task>& out, std::size_t max) {
    return move_out(
        [&](timer_core& timer, steady_time) {
            const task shown{timer_view(timer)};
            return wanted(shown);
        },
        out, max);
}

std::optional<task> delayed_work_queue::extract_first(function_ref<bool(const task&)> wanted) {
    auto timer = timers_->extract_first([&](timer_core& t, steady_time) {
        const task shown{timer_view(t)};
        return wanted(shown);
    });
    if (!timer) return std::nullopt;
    return task(timer_handle(std::move(timer)));
}

std::chrono::nanoseconds delayed_work_queue::lateness() const { return timers_->lateness(); }

void delayed_work_queue::for_each(function_ref<void(const task&)> visit) const {
    const auto now = timers_->now();
    timers_->for_each([&](timer_core& timer, steady_time due) {
        const task shown{timer_view(timer, due <= now ? timers_->stamp_of(due) : 0)};
        visit(shown);
    });
}

}  // namespace cadre::detail
