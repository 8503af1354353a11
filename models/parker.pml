/* SPDX-License-Identifier: Apache-2.0

The parker: a thread sleeps on its futex word until it is woken, interrupted or its time is up, and
no permit is lost. Two sleeps in a row, so that a permit left over from the first meets the second.

  here                     in the code
  permit                   thread_control::permit_
  park()                   thread_control::park_until, thread_control.cpp
  kernel_*                 futex_wait, futex_wake_one, futex.hpp
  unpark()                 thread_control::unpark
  flags, raise()           thread_control::flags_, raise()
  woken, waker             waiter::woken and deferred_wake, condition.hpp
  sleeper                  wait_list::sleep, condition.cpp

Checked: nobody sleeps for good (no invalid end state), and a sleeper that returns has a reason.
Mutants, each of which must be rejected:
  LOOK_LATE     the sleeper does not look at `woken` before it sleeps
  NO_EXCHANGE   `asleep` is stored, not exchanged for `none`: it overwrites a permit
  WAKE_FIRST    unpark() comes before what it tells of
  NO_RECHECK    the kernel sleeps without comparing the word
  FLAG_LATE     the interrupt flag is set after the unpark()
  LOSE_PERMIT   unpark() grants nothing while the sleeper is awake
*/

#define none 0
#define granted 1
#define asleep 2

byte permit = none;
bool in_kernel = false;           /* the thread is inside futex_wait, asleep */
bool woken[2] = false;            /* of the waiter of each sleep */
bool interrupted = false;         /* these two are one word, flags_, and ended by one visible_ */
bool nudged = false;
bool timed[2] = false;
bool will_interrupt = false;      /* decided: then the first sleep may go without its waker */
bool spurious = true;             /* one return for no reason: a second would hide a lost one */

/* - the kernel: FUTEX_WAKE */
inline kernel_wake() { in_kernel = false }

/* - the kernel: FUTEX_WAIT_BITSET compares and sleeps in one step */
inline kernel_wait(i) {
#ifdef NO_RECHECK
    in_kernel = true;
#else
    atomic { if :: permit == asleep -> in_kernel = true :: else fi };
#endif
    if
    :: !in_kernel                                          /* woken, or never slept */
    :: atomic { timed[i] -> in_kernel = false }            /* the deadline */
    :: atomic { spurious && in_kernel -> spurious = false; in_kernel = false }  /* EINTR */
    fi
}

/* in src/thread_control.cpp, unpark() */
inline unpark(before) {
    /* = if (permit_.exchange(granted) == asleep) futex_wake_one(permit_) */
    atomic { before = permit;
#ifdef LOSE_PERMIT
             if :: before == asleep -> permit = granted :: else fi
#else
             permit = granted
#endif
           };
    if :: before == asleep -> kernel_wake() :: else fi
}

/* in src/thread_control.cpp, park_until() */
inline park(i) {
    bool slept = false;
#ifdef NO_EXCHANGE
    permit = asleep; slept = true;
#else
    /* = std::uint32_t seen = none */
    /* = permit_.compare_exchange_strong(seen, asleep) */
    atomic { if :: permit == none -> permit = asleep; slept = true :: else fi };
#endif
    if :: slept -> kernel_wait(i) :: else fi;              /* = futex_wait(permit_, asleep, deadline) */
    permit = none                                          /* = permit_.exchange(none) */
}

/* in src/condition.cpp, sleep() */
active proctype sleeper() {
    byte i;
    for (i : 0 .. 1) {                                     /* - the caller: sleeps twice */
        if :: timed[i] = true :: skip fi;                  /* - the caller: with a deadline or without */
#ifdef LOOK_LATE
        park(i);
#endif
        do
        :: woken[i] -> break                               /* = !w.woken.load(std::memory_order_acquire) */
        :: else ->
            if
            :: interrupted || nudged -> break              /* = if (self.wait_must_end()) return */
            :: else ->
                if                                         /* = steady_clock::now() >= deadline) return */
                :: timed[i] -> break                       /* - the clock: it may be later than that */
                :: park(i)                                 /* = self.park_until(deadline) */
                fi
            fi
        od;
        assert(woken[i] || interrupted || nudged || timed[i]);                 /* - checked */
        /* in src/thread_control.cpp, throw_if_interrupted() */
        if
        :: atomic { interrupted = false; nudged = false }  /* = flags_.fetch_and(~visible_) */
        :: skip                                            /* - the caller: leaves it for later */
        fi
    }
}

/* Each waker wakes one of the sleeps; the list's mutex sees to it that nobody else does. */
/* in include/cadre/detail/condition.hpp, wake(), rouse() */
active [2] proctype waker() {
    byte before;
    if :: skip :: _pid == 1 && will_interrupt -> goto out fi;                  /* - the caller */
#ifdef WAKE_FIRST
    unpark(before);
    woken[_pid - 1] = true;
#else
    woken[_pid - 1] = true;                                /* = w.woken.store(true, std::memory_order_release) */
    unpark(before);                                        /* = thread_->unpark() */
#endif
out: skip
}

/* in src/thread_control.cpp, raise() */
active proctype interrupter() {
    byte before;
    if :: will_interrupt = true :: goto out fi;            /* - the caller */
#ifdef FLAG_LATE
    unpark(before);
    interrupted = true;
#else
    interrupted = true;                                    /* = flags_.fetch_or(bit) */
    unpark(before);                                        /* = unpark() */
#endif
out: skip
}

/* A nudge, and somebody who unparks late, for a waiter that is gone. */
/* in src/thread_control.cpp, raise() */
active proctype late() {
    byte before;
    unpark(before);                                        /* - a waker of before */
    if
    :: nudged = true;                                      /* = flags_.fetch_or(bit) */
       unpark(before)                                      /* = unpark() */
    :: skip
    fi
}
