// SPDX-License-Identifier: Apache-2.0

#include "delayed_work_queue.hpp"

#include <algorithm>

#include <cadre/detail/future_result.hpp>
#include <cadre/detail/queue_extract.hpp>

#include "timer_details.hpp"

namespace cadre::detail {

intrusive_ptr<timer_core> make_wrapped(task&& t) {
    using core = runnable_core<void, wrapped_task, no_on_done, timer_core>;
    auto made = intrusive_ptr<core>::adopt(new core(wrapped_task{std::move(t)}));
    made->tell_what_it_throws();
    return made;
}

bool delayed_work_queue::offer(task&& x) {
    auto timer = make_wrapped(std::move(x));
    timer->prepare(*timers_, {.first = timers_->now()});
    timers_->insert(std::move(timer), timers_->now());
    return true;
}

task delayed_work_queue::take() {
    return task(timer_handle(timers_->poll_until(forever), timer_handle::origin::due));
}

std::optional<task> delayed_work_queue::poll() {
    if (auto timer = timers_->poll())
        return task(timer_handle(std::move(timer), timer_handle::origin::due));
    return std::nullopt;
}

std::optional<task> delayed_work_queue::poll_for(std::chrono::nanoseconds timeout) {
    if (auto timer = timers_->poll_until(deadline_after(timeout)))
        return task(timer_handle(std::move(timer), timer_handle::origin::due));
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

void delayed_work_queue::for_each(function_ref<void(const task&)> visit) const {
    timers_->for_each([&](timer_core& timer, steady_time) {
        const task shown{timer_view(timer)};
        visit(shown);
    });
}

}  // namespace cadre::detail
