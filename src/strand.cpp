// SPDX-License-Identifier: Apache-2.0
//
// A task goes into its lane, and a ticket for it to the executor. A ticket that is served is good
// for running one task: the first of the lane, whichever that is; and those after it, up to the
// ticket's own. If the lane is busy, the ticket becomes a permit, and whoever runs a task of the
// lane goes on with the next. So no thread waits, and whenever the mutex is free
//
//     tasks in the lane + ahead == tickets + permits
//     permits > 0 only while the lane is busy; not both permits and ahead > 0
//
// where `ahead` counts tasks that were run before their tickets came, for the sake of one behind
// them. Usually tickets come in the order of their tasks and there are none. But a worker that
// waits for a task of the lane takes its ticket out of the middle of the queue, and those of the
// tasks before it are perhaps for nobody but itself to serve.
//
// When the lane is not busy, the own task of each ticket that was served has been taken: so no
// accepted task is left lying, and a ticket whose own task is gone finds ahead > 0. A ticket that
// is dropped takes its own task out of the lane, if that is still there. The same goes for one that
// is refused, and then its submitter is told; but if another has run the task meanwhile, it was
// accepted after all.
//
// While a ticket is being sent its sender decides what becomes of it, later its destructor; who of
// the two is decided by an exchange of lane_task::stage_.
//
// A pool that has stopped does not know of the permits, which were tickets of its own: its worker
// that serves the lane drops their tasks for it. A sender that does may be of any other pool.

#include <cadre/strand.hpp>

#include <algorithm>
#include <stdexcept>

#include <cadre/context.hpp>
#include <cadre/detail/report.hpp>

#include "result_of.hpp"

namespace cadre {
namespace detail {

class lane_ticket {
public:
    explicit lane_ticket(intrusive_ptr<lane_task> of) noexcept : of_(std::move(of)) {}
    lane_ticket(lane_ticket&& other) noexcept : of_(std::move(other.of_)), used_(other.used_) {}
    lane_ticket& operator=(lane_ticket&&) = delete;
    ~lane_ticket() {
        if (!of_ || used_) return;
        auto sending = lane_task::stage::sending;
        if (!of_->stage_.compare_exchange_strong(sending, lane_task::stage::dropped))
            of_->owner_->drop(*of_);
    }
    void operator()() {
        used_ = true;
        const bool by_sender =
            of_->stage_.exchange(lane_task::stage::used) == lane_task::stage::sending &&
            of_->sender_ == std::this_thread::get_id();
        of_->owner_->serve(*of_, by_sender);
    }
    std::string_view task_name() const noexcept { return of_->name_; }
    int task_priority() const noexcept { return of_->priority_; }
    /// The ticket is found by who looks for the task.
    std::uintptr_t task_identity() const noexcept {
        return reinterpret_cast<std::uintptr_t>(of_->result_.get());
    }

private:
    intrusive_ptr<lane_task> of_;
    bool used_ = false;
};

lane_task::lane_task(task t)
    : name_(t.name()), priority_(t.priority()), result_(result_of(t)), what_(std::move(t)) {
    if (!what_) throw std::invalid_argument("the task is empty");
    // Not left to the executor: the ticket may run another task.
    if (is_context_carried()) what_ = with_context(std::move(what_));
}

void lane_owner::append(lane& to, lane_task& what) noexcept {
    what.add_ref();
    what.waits_ = true;
    what.number_ = ++to.appended;
    what.previous_ = to.last;
    (to.last ? to.last->next_ : to.first) = &what;
    to.last = &what;
}

/// The task that is to be run next; none if that needs another ticket.
intrusive_ptr<lane_task> lane_owner::take_next(lane& from) noexcept {
    if (from.permits > 0)
        --from.permits;
    else if (from.first && from.first->number_ <= from.wanted)
        ++from.ahead;
    else
        return nullptr;
    return take_out(from, *from.first);
}

intrusive_ptr<lane_task> lane_owner::take_out(lane& from, lane_task& what) noexcept {
    (what.previous_ ? what.previous_->next_ : from.first) = what.next_;
    (what.next_ ? what.next_->previous_ : from.last) = what.previous_;
    what.waits_ = false;
    return intrusive_ptr<lane_task>::adopt(&what);
}

/// Counts a ticket off whose own task is gone, or goes with it: it stands for one run ahead, if
/// there is any, else for one to come.
void lane_owner::count_off(lane& which) noexcept {
    --which.tickets;
    if (which.ahead > 0)
        --which.ahead;
    else
        ++which.permits;
}

void lane_owner::send(std::unique_lock<std::mutex> lock, lane& to, intrusive_ptr<lane_task> what,
                      executor& where) {
    const auto alive = shared_from_this();
    what->owner_ = alive;
    what->lane_ = &to;
    what->sender_ = std::this_thread::get_id();
    append(to, *what);
    ++to.tickets;
    lock.unlock();
    try {
        where.execute(task(lane_ticket(what)));
    } catch (...) {
        if (what->stage_.load() == lane_task::stage::used) throw;  // it was run right here
        if (drop(*what)) throw;
        return;
    }
    if (what->stage_.exchange(lane_task::stage::sent) == lane_task::stage::dropped) drop(*what);
}

bool lane_owner::drop(lane_task& of) noexcept {
    intrusive_ptr<lane_task> gone;
    {
        std::unique_lock lock(mutex_);
        lane& which = *of.lane_;
        if (of.waits_) {
            gone = take_out(which, of);
            --which.tickets;
        } else {
            count_off(which);
        }
        if (which.tickets == 0 && !which.busy) retire(which, lock);
    }
    if (!gone) return false;
    gone->what_ = nullptr;
    return true;
}

namespace {
thread_local int serving = 0;
}

int lane_owner::served_here() noexcept { return serving; }

void lane_owner::serve(lane_task& own, bool by_sender) {
    std::exception_ptr thrown;
    std::unique_lock lock(mutex_);
    lane& which = *own.lane_;
    count_off(which);
    if (own.waits_) which.wanted = std::max(which.wanted, own.number_);
    if (which.busy) return;
    which.busy = true;
    ++serving;
    bool stopped = false;
    while (auto next = take_next(which)) {
        lock.unlock();
        try {
            task what = std::move(next->what_);
            if (!stopped) what();
            task_access::release(what);
        } catch (...) {
            if (thrown) report_uncaught("a task of a strand", thrown);
            thrown = std::current_exception();
        }
        next = nullptr;  // perhaps the last to know the result, which goes under no lock
        const auto* const self = by_sender ? nullptr : thread_control::current_if_any();
        stopped = self && self->is_told_to_stop();
        lock.lock();
    }
    --serving;
    which.busy = false;
    if (which.tickets == 0) retire(which, lock);
    if (lock) lock.unlock();
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace detail

class strand::only_lane final : public detail::lane_owner {
public:
    detail::lane tasks;

private:
    void retire(detail::lane&, std::unique_lock<std::mutex>&) noexcept override {}
};

strand::strand(executor& where) : where_(where), lane_(std::make_shared<only_lane>()) {}

void strand::execute(task t) {
    auto what =
        detail::intrusive_ptr<detail::lane_task>::adopt(new detail::lane_task(std::move(t)));
    lane_->send(std::unique_lock(lane_->mutex()), lane_->tasks, std::move(what), where_);
}

}  // namespace cadre
