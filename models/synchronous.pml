/* SPDX-License-Identifier: Apache-2.0

Hand-over without a queue: two givers and two receivers, each with or without a time limit, each of
which may be interrupted. What one side counts as given, the other has received.

  here                     in the code
  lock                     synchronous_queue::mutex_, synchronous_queue.hpp
  giving, receiving        givers_, receivers_ (wait_list, condition.hpp); one is always empty
  give(), accept()         detail::give and accept, queue_handover.hpp
  wait()                   wait_list::wait and park, condition.hpp: under the mutex into the list,
                           sleep without it, under the mutex out of the list again
  woken, done, has         waiter::woken, giver::done, receiver::element

Checked: given = received, each element once; nobody sleeps beside a partner.
Mutants, each of which must be rejected:
  TIME_BEATS    a giver that was served as its time ran out says it was not
  STAY_LISTED   who gives up stays in the list
  NO_LOOK       whoever comes does not look for a partner before it sleeps
  SLEEP_LOCKED_OUT  a waiter enters the list after it let go of the mutex
  SERVE_TWICE   who serves a waiter leaves it in the list
*/

#define N 2
#define nobody 9

bool lock = false;
bool giving[N] = false;  bool gone[N] = false;  bool gwoken[N] = false;
bool receiving[N] = false; byte has[N] = nobody; bool rwoken[N] = false;
byte given = 0; byte received = 0;
byte times[3] = 0;                /* how often the element of a giver was received */
byte ended = 0;

inline acquire() { atomic { !lock -> lock = true } }
inline release() { lock = false }

/* either end of the list: fair and unfair are both in it */
inline choose(list, found) {
    if
    :: list[0] -> found = 0
    :: list[1] -> found = 1
    :: else -> found = nobody
    fi
}

proctype giver(byte me) {
    byte other = nobody; bool yes = false; bool timed; bool again = true;
    if :: timed = true :: timed = false fi;
    acquire();
#ifndef NO_LOOK
    choose(receiving, other);
#endif
    if
    :: other != nobody ->
        has[other] = me;
#ifndef SERVE_TWICE
        receiving[other] = false;
#endif
        yes = true;
        release();
        rwoken[other] = true                 /* deferred_wake: after the unlock */
    :: else ->
        do
        :: !again -> break
        :: again ->
#ifdef SLEEP_LOCKED_OUT
            release();
            atomic { giving[me] = true; gwoken[me] = false };
#else
            atomic { giving[me] = true; gwoken[me] = false };
            release();
#endif
            if :: gwoken[me] :: timed fi;    /* or interrupted: the same to the list */
#ifdef TIME_BEATS
            if :: !gwoken[me] -> acquire(); giving[me] = false; release(); again = false; goto out :: else fi;
#endif
            acquire();
#ifndef STAY_LISTED
            giving[me] = false;
#endif
            if
            :: gone[me] -> yes = true; again = false
            :: else -> again = !timed
            fi;
            if :: !again -> release() :: else fi
        od
    fi;
out:
    atomic { if :: yes -> given++ :: else fi; ended++ }
}

proctype receiver(byte me) {
    byte other = nobody; byte got = nobody; bool timed; bool again = true;
    if :: timed = true :: timed = false fi;
    acquire();
#ifndef NO_LOOK
    choose(giving, other);
#endif
    if
    :: other != nobody ->
        got = other;
        gone[other] = true;
#ifndef SERVE_TWICE
        giving[other] = false;
#endif
        release();
        gwoken[other] = true
    :: else ->
        do
        :: !again -> break
        :: again ->
            atomic { receiving[me] = true; rwoken[me] = false };
            release();
            if :: rwoken[me] :: timed fi;
            acquire();
            receiving[me] = false;
            if
            :: has[me] != nobody -> got = has[me]; again = false
            :: else -> again = !timed
            fi;
            if :: !again -> release() :: else fi
        od
    fi;
    atomic { if :: got != nobody -> received++; times[got]++ :: else fi; ended++ }
}

/* Whoever waits for ever because the other side gave up is served in the end. */
proctype last() {
    byte other = nobody; bool served = false;
    do
    :: ended == 2 * N -> break
    :: timeout ->
        served = false;
        acquire();
        atomic {
            assert(!((giving[0] || giving[1]) && (receiving[0] || receiving[1])));
            choose(giving, other);
            if :: other != nobody ->
                   received++; times[other]++; gone[other] = true; giving[other] = false;
                   gwoken[other] = true; served = true
               :: else -> choose(receiving, other);
                   if :: other != nobody -> has[other] = 2; given++; receiving[other] = false;
                          rwoken[other] = true; served = true
                      :: else
                   fi
            fi
        };
        release();
        assert(served)                       /* else somebody sleeps in no list */
    od;
    assert(given == received);
    assert(times[0] <= 1 && times[1] <= 1)
}

init { atomic { run giver(0); run giver(1); run receiver(0); run receiver(1); run last() } }
