// SPDX-License-Identifier: Apache-2.0
//
// src/work_stealing_deque.hpp, the very header: an owner that pushes and pops while two thieves
// steal. Each element goes to one of them, who sees what the owner wrote before the push. Then an
// owner that gives the deque back and another that takes it, as work_stealing_queue.cpp does with
// its slots. And WK-12, as work_stealing_queue.cpp has it: the owner pushes and then looks whether
// anybody sleeps, a worker says that it sleeps and then looks whether there is anything. One of
// them sees the other.

#include "simulated.hpp"

#include "work_stealing_deque.hpp"

namespace cadre::relacy {

namespace {

struct deque_suite : rl::test_suite<deque_suite, 3> {
    struct element {
        rl::var<int> payload;
        rl::var<int> taken;
    };
    detail::work_stealing_deque<element> deque;
    element elements[3];

    void before() {
        for (element& e : elements) VAR(e.taken) = 0;
        deque.make_room();  // here, for its many steps would let the thieves come too early
    }
    void take(element* e) {
        if (!e) return;
        RL_ASSERT(VAR(e->payload) == 7);
        VAR(e->taken) = VAR(e->taken) + 1;  // a data race if somebody else does the same
    }
    void push(element& e) {
        VAR(e.payload) = 7;
        deque.make_room();
        deque.push(&e);
    }
    void thread(unsigned index) {
        if (index == 0) {
            push(elements[0]);
            push(elements[1]);
            take(deque.pop());
            push(elements[2]);
            take(deque.pop());
            take(deque.pop());
        } else {
            bool lost = false;
            take(deque.steal(lost));
            take(deque.steal(lost));
        }
    }
    void after() {
        while (element* e = deque.pop()) take(e);
        for (element& e : elements) RL_ASSERT(VAR(e.taken) == 1);
    }
};

/// The flag of a slot: whoever sets it is the owner until it is cleared.
template <bool gives_back_relaxed>
struct owners_suite : rl::test_suite<owners_suite<gives_back_relaxed>, 3> {
    struct element {
        rl::var<int> taken;
    };
    detail::work_stealing_deque<element> deque;
    detail::std::atomic<bool> has_owner = true;
    element elements[2];

    void before() {
        for (element& e : elements) VAR(e.taken) = 0;
        deque.make_room();
    }
    void take(element* e) {
        if (e) VAR(e->taken) = VAR(e->taken) + 1;
    }
    void thread(unsigned index) {
        if (index == 0) {
            deque.push(&elements[0]);
            has_owner.store(false, gives_back_relaxed ? rl::mo_relaxed : rl::mo_release);
        } else if (index == 1) {
            if (has_owner.exchange(true, rl::mo_acquire)) {  // none to be had: it works without
                VAR(elements[1].taken) = 1;
                return;
            }
            deque.make_room();
            deque.push(&elements[1]);
            take(deque.pop());
            take(deque.pop());
        } else {
            bool lost = false;
            take(deque.steal(lost));
        }
    }
    void after() {
        while (element* e = deque.pop()) take(e);
        for (element& e : elements) RL_ASSERT(VAR(e.taken) == 1);
    }
};

struct sleeper_suite : rl::test_suite<sleeper_suite, 2> {
    struct element {};
    detail::work_stealing_deque<element> deque;
    element work;
    detail::std::atomic<int> wants_call = 0;  // of work_stealing_room.hpp
    rl::var<int> called;
    rl::var<int> stays_awake;

    void before() {
        VAR(called) = 0;
        VAR(stays_awake) = 0;
        deque.make_room();
    }
    void thread(unsigned index) {
        if (index == 0) {
            deque.push(&work);
            VAR(called) = wants_call.load();
        } else {
            wants_call.store(1);
            VAR(stays_awake) = deque.size() > 0 ? 1 : 0;
        }
    }
    void after() { RL_ASSERT(VAR(called) == 1 || VAR(stays_awake) == 1); }
};

}  // namespace

void check_deque(runner& r) {
    r.passes<deque_suite>("work-stealing deque: an owner, two thieves, three elements");
    r.finds<deque_suite>("work-stealing deque without sequential consistency",
                         given::no_sequential);
    r.finds<deque_suite>("work-stealing deque with relaxed orders", given::nothing);
    r.passes<owners_suite<false>>("work-stealing deque: one owner after the other, a thief");
    r.finds<owners_suite<true>>("work-stealing deque given back with a relaxed order");
    r.passes<sleeper_suite>("work-stealing deque: a push against a worker that goes to sleep");
    r.finds<sleeper_suite>("a push and a sleep without sequential consistency",
                           given::no_sequential);
}

}  // namespace cadre::relacy
