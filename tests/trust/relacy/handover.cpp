// SPDX-License-Identifier: Apache-2.0
//
// Words by which one thread hands something over to another, once:
//   - future.hpp, sent_handle, as strand.cpp and coroutine.cpp have it too: what is dropped while
//     it is being sent, its sender sees to; what is dropped later sees to itself;
//   - pool_thread.hpp, worker_start: a thread sleeps until the pool has entered its worker, or is
//     given up by its factory;
//   - timer_core.cpp, the state of a decoration: who ends the task, or the run that comes to its
//     end meanwhile, drops it;
//   - queue_segments.hpp, segment_slot: a slot is filled again when its taker has let go of it;
//   - thread_control.cpp, id(): who asks a thread that is not there yet sleeps until it is;
//   - future.hpp, resumption: the later of two ends what both use.

#include "simulated.hpp"

namespace cadre::relacy {

namespace {

enum class handover_bug {
    none,
    look_and_then_write,
    no_wake_up,
    sleeper_told_late,
    no_second_look
};

template <handover_bug bug>
struct sending_suite : rl::test_suite<sending_suite<bug>, 2> {
    static constexpr int sending = 0, sent = 1, dropped = 2;
    detail::std::atomic<int> stage = sending;
    rl::var<int> done_by[2];  // by each, before it looks at the stage
    rl::var<int> abandoned;

    void before() { VAR(abandoned) = 0; }
    void abandon() {
        RL_ASSERT(VAR(done_by[0]) == 7);
        RL_ASSERT(VAR(done_by[1]) == 7);
        VAR(abandoned) = VAR(abandoned) + 1;  // a data race if both do
    }
    bool leave_to_sender() {
        if (bug == handover_bug::look_and_then_write) {
            if (stage.load() != sending) return false;
            stage.store(dropped);
            return true;
        }
        int seen = sending;
        return stage.compare_exchange_strong(seen, dropped);
    }
    void thread(unsigned index) {
        VAR(done_by[index]) = 7;
        if (index == 0) {
            if (stage.exchange(sent) == dropped) abandon();
        } else if (!leave_to_sender()) {
            abandon();
        }
    }
    void after() { RL_ASSERT(VAR(abandoned) == 1); }
};

/// The third thread is a factory that gives the thread up, by an interrupt that lasts.
template <handover_bug bug, bool given_up>
struct start_suite : rl::test_suite<start_suite<bug, given_up>, given_up ? 3 : 2> {
    static constexpr std::uint32_t undecided = 0, go = 1, awaited = 3;
    detail::std::atomic<std::uint32_t> decision = undecided;
    detail::std::atomic<bool> abandoned = false;
    detail::parker place;
    rl::var<int> sleeper;
    rl::var<int> books;
    rl::var<int> begun;

    void before() {
        VAR(sleeper) = 0;
        VAR(begun) = 0;
    }
    bool is_to_begin() {
        if (bug != handover_bug::sleeper_told_late) VAR(sleeper) = 1;
        std::uint32_t seen = undecided;
        if (!decision.compare_exchange_strong(seen, awaited)) return seen == go;
        if (bug == handover_bug::sleeper_told_late) VAR(sleeper) = 1;
        while (decision.load() == awaited && !abandoned.load()) place.park();
        seen = awaited;
        if (bug == handover_bug::no_second_look) return false;
        if (!decision.compare_exchange_strong(seen, undecided)) return seen == go;
        return false;
    }
    void thread(unsigned index) {
        if (index == 0) {
            VAR(books) = 7;
            if (decision.exchange(go) == awaited && bug != handover_bug::no_wake_up) {
                RL_ASSERT(VAR(sleeper) == 1);
                place.unpark();
            }
        } else if (index == 1) {
            if (!is_to_begin()) return;
            RL_ASSERT(VAR(books) == 7);
            VAR(begun) = 1;
        } else {
            abandoned.store(true);
            place.unpark();
        }
    }
    void after() {
        if (!given_up) RL_ASSERT(VAR(begun) == 1);
    }
};

struct decoration_suite : rl::test_suite<decoration_suite, 2> {
    static constexpr int idle = 1, running = 2, gone = 3;
    detail::std::atomic<int> decoration = running;
    detail::std::atomic<bool> done = false;  // the phase of the task
    rl::var<int> released;

    void before() { VAR(released) = 0; }
    void release() {
        int seen = idle;
        if (decoration.compare_exchange_strong(seen, gone)) VAR(released) = VAR(released) + 1;
    }
    void thread(unsigned index) {
        if (index == 0) {  // the run ends
            decoration.store(idle);
            if (done.load()) release();
        } else {  // the task is cancelled
            done.store(true);
            release();
        }
    }
    void after() { RL_ASSERT(VAR(released) == 1); }
};

struct slot_suite : rl::test_suite<slot_suite, 2> {
    detail::std::atomic<bool> occupied = true;
    rl::var<int> value;

    void before() { VAR(value) = 1; }
    void thread(unsigned index) {
        if (index == 0) {
            RL_ASSERT(VAR(value) == 1);
            occupied.store(false, rl::mo_release);
        } else if (!occupied.load(rl::mo_acquire)) {
            VAR(value) = 2;  // a data race if the taker is not done
        }
    }
};

struct id_suite : rl::test_suite<id_suite, 2> {
    static constexpr std::uint32_t unknown = 0, awaited = 1, known = 2;
    detail::std::atomic<std::uint32_t> id_is = unknown;
    rl::var<int> id;

    void thread(unsigned index) {
        if (index == 0) {
            VAR(id) = 7;
            if (id_is.exchange(known) == awaited) detail::futex_wake_one(id_is);
        } else {
            std::uint32_t seen = unknown;
            id_is.compare_exchange_strong(seen, awaited);
            while (id_is.load() == awaited) detail::futex_wait(id_is, awaited);
            RL_ASSERT(VAR(id) == 7);
        }
    }
};

struct later_of_two_suite : rl::test_suite<later_of_two_suite, 2> {
    detail::std::atomic<bool> other_ended = false;
    rl::var<int> used[2];
    rl::var<int> ended;

    void before() { VAR(ended) = 0; }
    void thread(unsigned index) {
        VAR(used[index]) = 7;
        if (!other_ended.exchange(true)) return;
        RL_ASSERT(VAR(used[0]) == 7);
        RL_ASSERT(VAR(used[1]) == 7);
        VAR(ended) = 1;
    }
    void after() { RL_ASSERT(VAR(ended) == 1); }
};

}  // namespace

void check_handover(runner& r) {
    using bug = handover_bug;
    r.passes<sending_suite<bug::none>>("a task dropped while it is sent");
    r.finds<sending_suite<bug::look_and_then_write>>("a drop that looks and then writes");
    r.finds<sending_suite<bug::none>>("a drop with relaxed orders", given::nothing);
    r.passes<start_suite<bug::none, false>>("a worker's thread that waits for its entry");
    r.passes<start_suite<bug::none, true>>("the same, given up by its factory");
    r.finds<start_suite<bug::no_wake_up, false>>("a start that wakes nobody");
    r.finds<start_suite<bug::sleeper_told_late, false>>("a sleeper that is told late");
    r.finds<start_suite<bug::no_second_look, false>>("a start at which nobody looks again");
    r.finds<start_suite<bug::none, false>>("a start with relaxed orders", given::nothing);
    r.passes<decoration_suite>("a decoration against the end of its task");
    r.finds<decoration_suite>("a decoration without sequential consistency", given::no_sequential);
    r.passes<slot_suite>("a slot that is filled again");
    r.finds<slot_suite>("a slot with relaxed orders", given::nothing);
    r.passes<id_suite>("who asks a thread that is not there yet for its id");
    r.finds<id_suite>("an id with relaxed orders", given::nothing);
    r.passes<later_of_two_suite>("the later of two ends it");
    r.finds<later_of_two_suite>("the later of two with relaxed orders", given::nothing);
}

}  // namespace cadre::relacy
