/* SPDX-License-Identifier: Apache-2.0

The parker: a thread sleeps on its futex word until it is woken, interrupted or its time is up, and
no permit is lost. Two sleeps in a row, so that a permit left over from the first meets the second.

  here                     in the code
  permit                   thread_control::permit_
  park()                   thread_control::park_until, thread_control.cpp
  kernel_*                 futex_wait, futex_wake_one, futex.hpp: the kernel compares and sleeps in one step
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
bool interrupted = false;
bool nudged = false;
bool timed[2] = false;
bool will_interrupt = false;      /* decided: then the first sleep may go without its waker */
bool spurious = true;             /* one return for no reason: a second would hide a lost one */

inline kernel_wake() { in_kernel = false }

inline unpark(before) {
    atomic { before = permit;
#ifdef LOSE_PERMIT
             if :: before == asleep -> permit = granted :: else fi
#else
             permit = granted
#endif
           };
    if :: before == asleep -> kernel_wake() :: else fi
}

inline park(i) {
    bool slept = false;
#ifdef NO_EXCHANGE
    permit = asleep; slept = true;
#else
    atomic { if :: permit == none -> permit = asleep; slept = true :: else fi };
#endif
    if
    :: slept ->
#ifdef NO_RECHECK
        in_kernel = true;
#else
        atomic { if :: permit == asleep -> in_kernel = true :: else fi };
#endif
        if
        :: !in_kernel                                      /* woken, or never slept */
        :: atomic { timed[i] -> in_kernel = false }        /* the deadline */
        :: atomic { spurious && in_kernel -> spurious = false; in_kernel = false }  /* EINTR */
        fi
    :: else
    fi;
    permit = none
}

active proctype sleeper() {
    byte i;
    for (i : 0 .. 1) {
        if :: timed[i] = true :: skip fi;
#ifdef LOOK_LATE
        park(i);
#endif
        do
        :: woken[i] -> break
        :: !woken[i] && (interrupted || nudged) -> break
        :: !woken[i] && !interrupted && !nudged && timed[i] -> break     /* the clock says so */
        :: !woken[i] && !interrupted && !nudged -> park(i)
        od;
        assert(woken[i] || interrupted || nudged || timed[i]);
        if :: interrupted = false :: skip fi                 /* taken, or left for later */
    }
}

/* Each waker wakes one of the sleeps; the list's mutex sees to it that nobody else does. */
active [2] proctype waker() {
    byte before;
    if :: skip :: _pid == 1 && will_interrupt -> goto out fi;
#ifdef WAKE_FIRST
    unpark(before);
    woken[_pid - 1] = true;
#else
    woken[_pid - 1] = true;
    unpark(before);
#endif
out: skip
}

active proctype interrupter() {
    byte before;
    if :: will_interrupt = true :: goto out fi;
#ifdef FLAG_LATE
    unpark(before);
    interrupted = true;
#else
    interrupted = true;
    unpark(before);
#endif
out: skip
}

/* A nudge, and somebody who unparks late, for a waiter that is gone. */
active proctype late() {
    byte before;
    unpark(before);
    if :: nudged = true; unpark(before) :: skip fi
}
