// SPDX-License-Identifier: Apache-2.0

#include <cadre/executor.hpp>

#include <utility>

#include <cadre/errors.hpp>
#include <cadre/thread.hpp>

namespace cadre {

void executor_service::close() {
    struct interrupt_again {
        bool needed = false;
        ~interrupt_again() {
            if (needed) thread_handle::current().interrupt();
        }
    } at_the_end;
    shutdown();
    for (bool over = false; !over;) {
        try {
            over = await_termination(std::chrono::nanoseconds::max());
        } catch (const interrupted&) {
            if (!std::exchange(at_the_end.needed, true)) shutdown_now();
        }
    }
}

namespace detail {

void execute_on(executor_service& where, task what) { where.execute(std::move(what)); }

void send(intrusive_ptr<future_core> core, executor& where) {
    using stage = sent_handle::stage;
    sent_handle::shared_stage progress;
    try {
        const auto needed = where.kept();
        progress = std::make_shared<std::atomic<stage>>(stage::sending);
        where.execute(task(sent_handle(core, progress)));
        if (progress->exchange(stage::sent) == stage::dropped) core->abandon();
    } catch (...) {
        if (progress) progress->store(stage::sent);
        core->set_exception(std::current_exception());
    }
    core->announce_dispatched();
}

void batch::expect(std::size_t tasks) { done_.reserve(tasks); }

void batch::completed(std::size_t index) noexcept {
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    done_.push_back(index);  // expect() has made room
    changed_.notify_all(wake);
}

std::optional<std::size_t> batch::next_completed(steady_time deadline) {
    if (deadline != steady_time::min()) run_deferred_completions();
    std::unique_lock lock(mutex_);
    const auto has_one = [this] { return next_done_ < done_.size(); };
    if (deadline == steady_time::min()) {  // a look, no wait
        if (!has_one()) return std::nullopt;
    } else if (!changed_.wait_until(lock, deadline, has_one)) {
        return std::nullopt;
    }
    return done_[next_done_++];
}

void batch::enter() noexcept {
    std::lock_guard lock(mutex_);
    ++callables_;
}

void batch::leave() noexcept {
    deferred_wake wake;
    std::lock_guard lock(mutex_);
    --callables_;
    changed_.notify_all(wake);
}

void batch::await_all_gone() noexcept {
    const uninterruptible_scope uninterruptible(thread_control::current_whatever_comes());
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return callables_ == 0; });
}

}  // namespace detail
}  // namespace cadre
