// SPDX-License-Identifier: Apache-2.0
//
// Where the tasks of a work-stealing pool wait. A worker pushes what its tasks submit to its own
// deque, and takes the newest from there; one that has nothing steals the oldest from another's;
// what comes from other threads goes through a FIFO queue, outside_, from which a worker takes when
// the deques are empty, and now and then (every 61st time) before that, so that work that goes on
// and on does not keep out the rest.
//
// The deques are fixed in number: one for each worker there may be. A worker takes one when it
// begins and gives it back when it ends; a thread that finds none free works without: it pushes
// outside and steals. A deque without an owner can be stolen from, so nothing in it is lost.
//
// A task in a deque is in a node of its own, for a thief reads its place before it knows whether it
// may have it: a pointer can be read so, a task cannot. Each worker keeps the memory of a few nodes
// that it took for those that it will push.
//
// Nothing lies there while workers sleep: see work_stealing_room.cpp. The operation that publishes
// a task (bottom_ of a deque, the tail of outside_) is sequentially consistent and comes before the
// look at wants_call(); a worker makes itself visible before its last look at them.
//
// The pool's own rules hold as with any queue (thread_pool_core.cpp): a task is pushed first and
// the state looked at after that. Whoever pushed to its deque takes back from there, at the bottom,
// where its last push still is, unless somebody has it.

#include "work_stealing_queue.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <cadre/detail/thread_control.hpp>

namespace cadre::detail {

constinit thread_local work_stealing_queue::attached_to work_stealing_queue::attached = {};

work_stealing_queue::work_stealing_queue(int workers)
    : count_(static_cast<std::size_t>(workers)), slots_(std::make_unique<worker_slot[]>(count_)) {
    for (std::size_t i = 0; i < count_; ++i)
        slots_[i].random = static_cast<std::uint32_t>(2 * i + 1) * 2654435761U;
}

work_stealing_queue::~work_stealing_queue() {
    task dropped;
    while (steal(nullptr, dropped)) dropped = nullptr;
    for (std::size_t i = 0; i < count_; ++i)
        while (spare_node* const spare = slots_[i].spares) {
            slots_[i].spares = spare->next;
            recycled_delete(spare, sizeof(node));
        }
}

work_stealing_queue::attachment::attachment(work_stealing_queue* queue) noexcept
    : outer_(attached), slot_(queue ? queue->take_slot() : nullptr) {
    attached = {queue, slot_};
}

work_stealing_queue::attachment::~attachment() {
    // release: what this thread did as the owner comes before what the next one does.
    if (slot_) slot_->taken.store(false, std::memory_order_release);
    attached = outer_;
}

work_stealing_queue::worker_slot* work_stealing_queue::take_slot() noexcept {
    for (std::size_t i = 0; i < count_; ++i)
        // acquire: pairs with the release of the owner before.
        if (!slots_[i].taken.exchange(true, std::memory_order_acquire)) return &slots_[i];
    return nullptr;
}

void work_stealing_queue::push(task&& t) {
    if (worker_slot* own = own_slot()) {
        push(*own, std::move(t));
        return;
    }
    outside_.try_insert(std::move(t));
    if (room_.wants_call()) room_.call();
}

inline bool work_stealing_queue::pop(worker_slot* own, task& next) noexcept {
    node* const found = own ? own->deque.pop() : nullptr;
    if (!found) return false;
    next = std::move(found->work);
    give_back(*own, found);
    return true;
}

bool work_stealing_queue::steal(worker_slot* own, task& next) noexcept {
    std::size_t at = 0;
    if (own) {  // xorshift: from another one each time
        own->random ^= own->random << 13;
        own->random ^= own->random >> 17;
        own->random ^= own->random << 5;
        at = own->random % count_;
    }
    for (bool lost = true; lost;) {
        lost = false;
        for (std::size_t left = count_; left > 0; --left, at = at + 1 == count_ ? 0 : at + 1) {
            if (&slots_[at] == own) continue;
            node* const found = slots_[at].deque.steal(lost);
            if (!found) continue;
            next = std::move(found->work);
            give_back(own, found);
            if (own)  // counts only, which order nothing
                own->steals.store(own->steals.load(std::memory_order_relaxed) + 1,
                                  std::memory_order_relaxed);
            return true;
        }
    }
    return false;
}

bool work_stealing_queue::try_take(task& next) noexcept {
    worker_slot* const own = own_slot();
    if (own && --own->turns_left == 0) {
        own->turns_left = turns_between_looks_outside;
        if (outside_.try_take(next)) return true;
    }
    return pop(own, next) || steal(own, next) || outside_.try_take(next);
}

bool work_stealing_queue::try_take_meanwhile(task& next) noexcept {
    worker_slot* const own = own_slot();
    return pop(own, next) || steal(own, next) || (!room_.has_idle() && outside_.try_take(next));
}

template <class IsWanted>
bool work_stealing_queue::take_back_newest(worker_slot& own, task& t, IsWanted is_wanted) {
    node* const found = own.deque.pop();
    if (!found) return false;
    if (is_wanted(found)) {
        t = std::move(found->work);
        give_back(own, found);
        return true;
    }
    own.deque.push(found);  // into the place where it was
    if (room_.wants_call()) room_.call();
    return false;
}

/// By its node, for it may have no identity. The others in the deque have been there longer, so
/// none of them has got the memory of one that is gone.
bool work_stealing_queue::take_back(worker_slot& own, const void* pushed, task& t) {
    return take_back_newest(own, t, [=](const node* newest) { return newest == pushed; });
}

bool work_stealing_queue::take_back(std::uintptr_t identity, task& t) {
    const auto is_wanted = [=](const task& queued) {
        return task_access::identity(queued) == identity;
    };
    if (worker_slot* own = own_slot())
        return take_back_newest(*own, t, [&](const node* n) { return is_wanted(n->work); });
    auto found = outside_.extract_first(is_wanted);
    if (found) t = std::move(*found);
    return found.has_value();
}

bool work_stealing_queue::enter_call(waiter& w) noexcept {
    room_.enter(w);
    if (!has_work_meanwhile()) return true;
    leave_call(w);
    return false;
}

void work_stealing_queue::leave_call(waiter& w) noexcept {
    if (room_.leave(w) && room_.wants_call() && !empty()) room_.call();
}

bool work_stealing_queue::take_within(steady_time deadline, task& next) {
    thread_control::current().throw_if_interrupted();
    if (try_take(next)) return true;
    do {
        if (!room_.rest(deadline, [this] { return !empty(); })) return false;
    } while (!try_take(next));
    if (room_.wants_call() && !empty()) room_.call();
    return true;
}

task work_stealing_queue::take() {
    task next;
    take_within(forever, next);
    return next;
}

std::optional<task> work_stealing_queue::poll() {
    task next;
    return try_take(next) ? std::optional<task>(std::move(next)) : std::nullopt;
}

std::optional<task> work_stealing_queue::poll_for(std::chrono::nanoseconds timeout) {
    task next;
    return take_within(deadline_after(timeout), next) ? std::optional<task>(std::move(next))
                                                      : std::nullopt;
}

bool work_stealing_queue::has_nested_work() const noexcept {
    for (std::size_t i = 0; i < count_; ++i)
        if (slots_[i].deque.size() > 0) return true;
    return false;
}

bool work_stealing_queue::has_work_meanwhile() const noexcept {
    return has_nested_work() || (!room_.has_idle() && !outside_.empty());
}

bool work_stealing_queue::empty() const { return !has_nested_work() && outside_.empty(); }

std::size_t work_stealing_queue::size() const {
    std::size_t total = outside_.size();
    for (std::size_t i = 0; i < count_; ++i) total += slots_[i].deque.size();
    return total;
}

/// Makes a place for one more. False if there is no memory for it.
static bool has_place(std::vector<task>& out) noexcept {
    try {
        if (out.size() == out.capacity()) out.reserve(2 * out.size() + 1);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

/// A place is had before each task is taken, for those that are there now before the first. If
/// there is no memory for more, what came meanwhile stays: the caller has what was taken, and an
/// exception could lose that.
std::size_t work_stealing_queue::drain_to(std::vector<task>& out, std::size_t max) {
    const std::size_t before = out.size();
    const auto moved = [&] { return out.size() - before; };
    out.reserve(before + std::min(max, size()));
    task next;
    while (moved() < max && has_place(out) && (steal(nullptr, next) || outside_.try_take(next)))
        out.push_back(std::move(next));
    return moved();
}

std::size_t work_stealing_queue::extract_if(function_ref<bool(const task&)> wanted,
                                            std::vector<task>& out, std::size_t max) {
    return outside_.extract_if(wanted, out, max);
}

void work_stealing_queue::for_each(function_ref<void(const task&)> visit) const {
    outside_.for_each(visit);
}

std::int64_t work_stealing_queue::steal_count() const noexcept {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < count_; ++i)
        total += slots_[i].steals.load(std::memory_order_relaxed);
    return total;
}

}  // namespace cadre::detail
