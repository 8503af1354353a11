// SPDX-License-Identifier: Apache-2.0
//
// A coroutine that waits for an executor is resumed once: by the task when it runs; with an error
// by whoever drops the task unrun; or not at all if it is destroyed before. While the task is being
// sent, its sender decides what a dropped task means: a refusal, which the coroutine is to see as
// an exception of its co_await. Who of the two it is, is decided by an exchange of stage_.
//
// An executor may run the task at once, within execute(). Resumed in there, a coroutine that moves
// to and fro would go a little deeper into the stack each time; so such a task only notes that it
// ran, and the sender goes on with the coroutine when execute() has returned. Not so in a strand,
// which is the coroutine's only within execute(): there it cannot get deeper than one for each.

#include <cadre/coroutine.hpp>

#include <cadre/detail/report.hpp>
#include <cadre/detail/strand_lane.hpp>

namespace cadre::detail {

class resume_ticket {
public:
    explicit resume_ticket(intrusive_ptr<resume_point> point) noexcept : point_(std::move(point)) {}
    resume_ticket(resume_ticket&& other) noexcept
        : point_(std::move(other.point_)), used_(other.used_) {}
    resume_ticket& operator=(resume_ticket&&) = delete;
    ~resume_ticket() {
        if (!point_ || used_) return;
        auto sending = resume_point::stage::sending;
        if (!point_->stage_.compare_exchange_strong(sending, resume_point::stage::dropped))
            point_->drop();
    }
    void operator()() {
        used_ = true;
        auto sending = resume_point::stage::sending;
        if (point_->sender_ == std::this_thread::get_id() &&
            point_->lanes_ == lane_owner::served_here() &&
            point_->stage_.compare_exchange_strong(sending, resume_point::stage::run_by_sender))
            return;
        point_->stage_ = resume_point::stage::used;
        point_->resume();
    }

private:
    intrusive_ptr<resume_point> point_;
    bool used_ = false;
};

bool resume_point::send(executor& where) {
    const intrusive_ptr<resume_point> alive(this);
    sender_ = std::this_thread::get_id();
    lanes_ = lane_owner::served_here();
    try {
        const auto needed = where.kept();
        where.execute(task(resume_ticket(alive)));
    } catch (...) {
        const auto reached = stage_.load();
        if (reached != stage::used && reached != stage::run_by_sender) {
            error_ = std::current_exception();
            return false;
        }
        report_uncaught("a coroutine", std::current_exception());  // it goes on all the same
        return reached == stage::used;
    }
    auto sending = stage::sending;
    if (stage_.compare_exchange_strong(sending, stage::sent) || sending == stage::used) return true;
    if (sending == stage::dropped) error_ = std::make_exception_ptr(cancellation());
    return false;
}

void resume_point::drop() noexcept {
    try {
        if (!error_) error_ = std::make_exception_ptr(cancellation());
        given_up();
        resume();
    } catch (...) {
        report_uncaught("a coroutine", std::current_exception());
    }
}

void resume_point::resume() {
    if (ended_.exchange(true)) {
        given_up();
        return;
    }
    auto error = context_.try_resume(waiting_);
    if (!error) return;
    if (!error_) error_ = std::move(error);
    given_up();
    waiting_.resume();
}

}  // namespace cadre::detail
