// SPDX-License-Identifier: Apache-2.0
//
// thread_control.cpp (park_until, unpark, raise) with condition.cpp (sleep) and
// deferred_wake::wake: a thread sleeps until it is woken or interrupted; both may come at any
// moment, and neither is lost. And the pair on which wait_room.cpp and work_stealing_room.cpp rest:
// who brings something makes it visible and looks for sleepers, who sleeps makes itself visible and
// looks for something.

#include "simulated.hpp"

namespace cadre::relacy {

namespace {

enum class parker_bug { none, forgets_a_permit, flag_after_wake_up };

template <parker_bug bug>
struct parker_suite : rl::test_suite<parker_suite<bug>, 3> {
    detail::parker place;
    detail::std::atomic<bool> woken = false;
    detail::std::atomic<std::uint32_t> flags = 0;
    rl::var<int> payload;

    void unpark() {
        if (bug == parker_bug::forgets_a_permit)
            place.unpark_if_asleep();
        else
            place.unpark();
    }
    bool sleep() {  // wait_list::sleep: until woken or interrupted
        while (!woken.load(rl::mo_acquire)) {
            if (flags.load() != 0) return false;
            place.park();
        }
        return true;
    }
    void thread(unsigned index) {
        if (index == 0) {
            if (!sleep()) {  // interrupted: takes that, and waits for what it wants
                flags.exchange(0);
                while (!sleep()) flags.exchange(0);
            }
            RL_ASSERT(VAR(payload) == 7);
        } else if (index == 1) {
            VAR(payload) = 7;
            woken.store(true, rl::mo_release);
            unpark();
        } else if (bug == parker_bug::flag_after_wake_up) {
            unpark();
            flags.fetch_or(1);
        } else {  // raise()
            flags.fetch_or(1);
            unpark();
        }
    }
};

/// An interrupt alone must end the sleep.
template <parker_bug bug>
struct interrupt_suite : rl::test_suite<interrupt_suite<bug>, 2> {
    detail::parker place;
    detail::std::atomic<std::uint32_t> flags = 0;

    void thread(unsigned index) {
        if (index == 0) {
            while (flags.load() == 0) place.park();
        } else if (bug == parker_bug::flag_after_wake_up) {
            place.unpark();
            flags.fetch_or(1);
        } else if (bug == parker_bug::forgets_a_permit) {
            flags.fetch_or(1);
            place.unpark_if_asleep();
        } else {
            flags.fetch_or(1);
            place.unpark();
        }
    }
};

/// Publish, then look, on both sides.
struct room_suite : rl::test_suite<room_suite, 2> {
    detail::parker place;
    detail::std::atomic<bool> wants_call = false;
    detail::std::atomic<bool> something = false;

    void thread(unsigned index) {
        if (index == 0) {
            wants_call.store(true);
            if (!something.load()) place.park();
        } else {
            something.store(true);
            if (wants_call.load()) place.unpark();
        }
    }
};

}  // namespace

void check_parker(runner& r) {
    r.passes<parker_suite<parker_bug::none>>("parker: a wake-up and an interrupt");
    r.passes<interrupt_suite<parker_bug::none>>("parker: an interrupt");
    r.passes<room_suite>("room: publish, then look, on both sides");
    r.finds<parker_suite<parker_bug::forgets_a_permit>>("parker that forgets a permit");
    r.finds<interrupt_suite<parker_bug::flag_after_wake_up>>(
        "interrupt flag set after the wake-up");
    r.finds<parker_suite<parker_bug::none>>("parker with relaxed orders", given::nothing);
    r.finds<room_suite>("room without sequential consistency", given::no_sequential);
}

}  // namespace cadre::relacy
