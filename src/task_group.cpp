// SPDX-License-Identifier: Apache-2.0
//
// A child is in the group from submit() until its callable is destroyed, after its run or when it
// is cancelled before that, and its future is complete; whichever of the two is later takes it out.
// One of them alone is no measure: a running child that is cancelled has a complete future and
// still runs, and a callable goes before the result can be seen. Who runs a child is decided by its
// future_core: the executor's handle and wait() both just try.
//
// A wake-up for wait(): it sleeps when it has found nothing to run and the group is not empty. A
// child that the executor has taken or that is left to it, and the last one that goes, count `news`
// up and notify it; it sleeps only while they are what they were when it began to look. In a worker
// of a work-stealing pool it may be called from its sleep, as in any other wait.

#include <cadre/task_group.hpp>

#include <algorithm>
#include <exception>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <cadre/detail/condition.hpp>
#include <cadre/detail/held_exception.hpp>
#include <cadre/detail/report.hpp>
#include <cadre/errors.hpp>

#include "helper_scope.hpp"

namespace cadre {
namespace detail {

namespace {
thread_local const group_core::running_scope* innermost = nullptr;
}

group_core::running_scope::running_scope(const group_core& group) noexcept
    : group_(&group), outer_(std::exchange(innermost, this)) {}
group_core::running_scope::~running_scope() { innermost = outer_; }

bool group_core::running_scope::is_inside(const group_core& group) noexcept {
    for (const auto* scope = innermost; scope; scope = scope->outer_)
        if (scope->group_ == &group) return true;
    return false;
}

struct group_core::members {
    struct member {
        intrusive_ptr<future_core> core;
        bool callable_gone = false;
        bool is_left = false;  // the executor will not run it
    };
    using list = std::list<member>;

    void tell(deferred_wake& wake) noexcept {
        ++news;
        changed.notify_all(wake);
    }
    /// Takes it out if it is over. Its reference is to be given up outside the lock.
    list leave_if_over(list::iterator which, deferred_wake& wake) {
        list gone;
        if (!which->callable_gone || !which->core->is_done()) return gone;
        places.erase(which->core.get());
        gone.splice(gone.begin(), children, which);
        if (children.empty()) tell(wake);
        return gone;
    }

    mutable std::mutex mutex;  // guards all below
    condition changed;         // there are news
    std::uint64_t news = 0;    // counts what wait() has to look at
    list children;             // in the order in which they came
    std::unordered_map<const future_core*, list::iterator> places;
    bool stopped = false;
    held_exception error;  // of the first child that failed
    bool error_told = false;
};

group_core::group_core() : members_(std::make_unique<members>()) {}
group_core::~group_core() = default;

void group_core::add(future_core& child) {
    const std::lock_guard lock(members_->mutex);
    auto& children = members_->children;
    children.push_back({.core = intrusive_ptr<future_core>(&child)});
    try {
        members_->places.emplace(&child, std::prev(children.end()));
    } catch (...) {
        children.pop_back();
        throw;
    }
}

void group_core::was_taken(const future_core& child) noexcept {
    if (child.state() != future_state::pending) return;
    deferred_wake wake;
    const std::lock_guard lock(members_->mutex);
    members_->tell(wake);
}

void group_core::callable_gone(future_core& child) noexcept {
    members::list gone;
    deferred_wake wake;
    const std::lock_guard lock(members_->mutex);
    const auto which = members_->places.find(&child)->second;
    which->callable_gone = true;
    gone = members_->leave_if_over(which, wake);
}

void group_core::completed(future_core& child) noexcept {
    members::list gone;
    deferred_wake wake;
    const std::lock_guard lock(members_->mutex);
    const auto found = members_->places.find(&child);
    if (found != members_->places.end()) gone = members_->leave_if_over(found->second, wake);
}

void group_core::leave_to_waiter(const future_core& child) noexcept {
    deferred_wake wake;
    const std::lock_guard lock(members_->mutex);
    const auto found = members_->places.find(&child);
    if (found == members_->places.end()) return;
    found->second->is_left = true;
    members_->tell(wake);
}

void group_core::fail(const future_core* child, std::exception_ptr error) noexcept {
    {
        const std::lock_guard lock(members_->mutex);
        if (members_->stopped) return;
        members_->stopped = true;
        members_->error.hold(std::move(error));
    }
    cancel_all_but(child);
}

void group_core::stop() noexcept {
    {
        const std::lock_guard lock(members_->mutex);
        members_->stopped = true;
    }
    cancel_all_but(nullptr);
}

bool group_core::is_stopped() const {
    const std::lock_guard lock(members_->mutex);
    return members_->stopped;
}

/// Users' stop callbacks and destructors run in here. A child that is added later sees the stop.
/// The unstarted go first: a running one that is stopped frees a thread, which would start them.
void group_core::cancel_all_but(const future_core* child) noexcept {
    for (;;) {
        intrusive_ptr<future_core> next;
        {
            const std::lock_guard lock(members_->mutex);
            next = first_unstarted();
            if (!next) {
                const auto& children = members_->children;
                const auto found =
                    std::find_if(children.begin(), children.end(), [&](const auto& each) {
                        return each.core.get() != child && !each.core->is_done();
                    });
                if (found != children.end()) next = found->core;
            }
        }
        if (!next) return;
        try {
            next->cancel(true);
        } catch (...) {
            report_uncaught("a stop callback of a task group", std::current_exception());
        }
    }
}

intrusive_ptr<future_core> group_core::first_unstarted() const {
    for (const auto& child : members_->children)
        if (child.core->state() == future_state::pending) return child.core;
    return nullptr;
}

/// Runs a child that the executor will not run; false if there is none.
bool group_core::run_one_left() {
    intrusive_ptr<future_core> child;
    {
        const std::lock_guard lock(members_->mutex);
        auto& children = members_->children;
        const auto found = std::find_if(children.begin(), children.end(), [](const auto& each) {
            return each.is_left && each.core->state() == future_state::pending;
        });
        if (found == children.end()) return false;
        child = found->core;
    }
    child->run();
    return true;
}

/// Has the pool of the calling worker run children here, or whatever it runs for one that waits;
/// false if there is nothing. It is asked also for children that are cancelled and still run: they
/// may need what it has.
bool group_core::help(thread_control& self) {
    if (!self.helper) return false;
    std::vector<intrusive_ptr<future_core>> children;
    {
        const std::lock_guard lock(members_->mutex);
        for (const auto& child : members_->children) children.push_back(child.core);
    }
    bool helped = children.empty();  // meanwhile: the caller looks again
    for (const auto& child : children) {
        if (!self.helper->run_in_place(*child)) continue;
        helped = true;
        self.throw_if_interrupted();  // others may be run meanwhile, for long
    }
    return helped;
}

void group_core::await_news(thread_control& self, std::uint64_t seen) {
    const helper_scope helped(self);
    if (helped.must_look_again()) return;
    std::unique_lock lock(members_->mutex);
    try {
        members_->changed.wait(lock, [&] { return members_->news != seen; });
    } catch (const interrupted&) {
        if (!helped.was_called()) throw;
    }
}

void group_core::run_and_await_all() {
    auto& self = thread_control::current();
    for (;;) {
        std::unique_lock lock(members_->mutex);
        if (members_->children.empty()) return;
        const auto seen = members_->news;
        lock.unlock();
        self.throw_if_interrupted();
        run_deferred_completions();
        if (!run_one_left() && !help(self)) await_news(self, seen);
    }
}

/// Of a group that is stopped: what has not started never will.
void group_core::await_all_gone() noexcept {
    const uninterruptible_scope uninterruptible(thread_control::current_whatever_comes());
    std::unique_lock lock(members_->mutex);
    members_->changed.wait(lock, [this] { return members_->children.empty(); });
}

void group_core::wait() {
    if (running_scope::is_inside(*this))
        throw illegal_state("a task group cannot be waited for by one of its own tasks");
    try {
        run_and_await_all();
    } catch (const interrupted&) {
        stop();
        await_all_gone();
        thread_control::current().take_interrupt();  // one that came meanwhile: it is told below
        throw;
    } catch (...) {  // no stack left to help with, or no memory
        stop();
        await_all_gone();
        throw;
    }
    std::unique_lock lock(members_->mutex);
    members_->error_told = true;
    const std::exception_ptr error = members_->error.get();
    const bool stopped = members_->stopped;
    lock.unlock();
    if (error) std::rethrow_exception(error);
    if (stopped) throw cancellation("the task group was stopped");
}

void group_core::end() noexcept {
    stop();
    await_all_gone();
    if (members_->error && !members_->error_told)
        report_uncaught("a task group that nobody waited for", members_->error.get());
}

}  // namespace detail

task_group::task_group(executor& where, std::stop_token outer)
    : where_(where),
      core_(std::make_shared<detail::group_core>()),
      when_outer_stops_(std::move(outer), [core = core_] { core->stop(); }) {}

task_group::~task_group() { core_->end(); }

void task_group::start(detail::intrusive_ptr<detail::future_core> child) {
    if (core_->is_stopped()) {
        child->cancel(true);
        return;
    }
    try {
        where_.execute(task(detail::group_handle(core_, child)));
    } catch (const interrupted&) {
        child->cancel(true);
        throw;
    } catch (...) {
        core_->leave_to_waiter(*child);
        return;
    }
    core_->was_taken(*child);
}

}  // namespace cadre
