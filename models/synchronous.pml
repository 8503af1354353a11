/* SPDX-License-Identifier: Apache-2.0

Hand-over without a queue: two givers and two receivers, each with or without a time limit, each of
which may be interrupted. What one side counts as given, the other has received.

  here                     in the code
  lock                     synchronous_queue::mutex_, synchronous_queue.hpp
  giving, receiving        givers_, receivers_ (wait_list, condition.hpp); one is always empty
  give(), accept()         of synchronous_queue, and detail::give and accept, queue_handover.hpp
  wait()                   wait_list::wait and park, condition.hpp: under the mutex into the list,
                           sleep without it, under the mutex out of the list again
  woken, gone, has         waiter::woken, giver::done, receiver::element
  giver, receiver          offer_for(), poll_for(); with no time at all also offer(), poll()

Checked: given = received, each element once; nobody sleeps beside a partner; nobody is taken out of a
list in which it is not.
Mutants, each of which must be rejected:
  TIME_BEATS    a giver that was served as its time ran out says it was not
  STAY_LISTED   who gives up stays in the list
  NO_LOOK       whoever comes does not look for a partner before it sleeps
  SLEEP_LOCKED_OUT  a waiter enters the list after it let go of the mutex
  SERVE_TWICE   who serves a waiter leaves it in the list
  TELL_LATE     who serves a waiter tells it so after it let go of the mutex
*/

#define N 2
#define nobody 9

bool lock = false;
bool giving[N] = false;  bool gone[N] = false;  bool gwoken[N] = false;
bool receiving[N] = false; byte has[N] = nobody; bool rwoken[N] = false;
byte given = 0; byte received = 0;
byte times[3] = 0;                /* how often the element of a giver was received */
byte ended = 0;

/* - the mutex */
inline acquire() { atomic { !lock -> lock = true } }
inline release() { lock = false }

/* in include/cadre/queue/synchronous_queue.hpp, next_in(), give(), accept() */
inline choose(list, found) {
    if                            /* = fair_ ? *waiters.front() : *waiters.back() */
    :: list[0] -> found = 0       /* - either end: fair and unfair are both in it */
    :: list[1] -> found = 1       /* - the same */
    :: else -> found = nobody     /* = if (receivers_.empty()) return false */
    fi                            /* = if (!givers_.empty()) */
}

/* in include/cadre/detail/queue_handover.hpp, give(), accept() */
inline let_go(list, woken, other) {
#ifndef SERVE_TWICE
    list[other] = false;          /* = receivers.remove(w) */ /* = givers.remove(w) */
#endif
#ifdef TELL_LATE
    release();
#endif
    woken[other] = true;          /* = wake.wake(w) */
#ifndef TELL_LATE
    release()                     /* - lock_guard: after that deferred_wake unparks, see parker.pml */
#endif
}

/* in include/cadre/detail/condition.hpp, wait(), park() */
inline wait(list, woken, me, timed, slept) {
    if                                                     /* = if (!may_sleep(w, deadline)) return false */
    :: timed -> slept = false                              /* - the clock, or interrupted: both end it */
    :: slept = true;                                       /* = return true */
#ifdef SLEEP_LOCKED_OUT
        release();
        atomic { list[me] = true; woken[me] = false };
#else
        atomic { list[me] = true; woken[me] = false };     /* = push_back(w) */
        release();                                         /* = lock.unlock() */
#endif
        if                                                 /* = sleep(w, deadline) */
        :: woken[me]                                       /* - see parker.pml */
        :: timed                                           /* - the clock, or interrupted */
        fi;
        acquire();                                         /* = lock.lock() */
        if
        :: woken[me]                                       /* = w.woken.load(std::memory_order_relaxed) */
        :: else ->
            assert(list[me]);                              /* - checked */
#ifndef STAY_LISTED
            list[me] = false                               /* = remove(w) */
#endif
        fi
    fi
}

/* in include/cadre/queue/synchronous_queue.hpp, give(), offer_for() */
proctype giver(byte me) {
    byte other = nobody; bool yes = false; bool timed; bool slept;
    if :: timed = true :: timed = false fi;                /* - the caller: offer_for() or put() */
    acquire();                                             /* = std::unique_lock lock(mutex_) */
#ifndef NO_LOOK
    choose(receiving, other);                              /* = next_in(receivers_) */
#endif
    if
    :: other != nobody ->                                  /* = if (give(std::move(x), wake)) return true */
        /* in include/cadre/detail/queue_handover.hpp, give() */
        has[other] = me; yes = true;                       /* = element.emplace(std::move(x)) */
        let_go(receiving, rwoken, other)                   /* = receivers.remove(w); wake.wake(w) */
    :: else ->
        /* in include/cadre/queue/synchronous_queue.hpp, offer_for() */
        do
        :: wait(giving, gwoken, me, timed, slept);         /* = givers_.wait(self, lock, deadline) */
           if
           :: !slept -> break                              /* = return false */
#ifdef TIME_BEATS
           :: timed -> break
#endif
           :: slept && gone[me] -> yes = true; break       /* = if (self.done) return true */
           :: slept && !gone[me]                           /* = for (;;) */
           fi
        od;
        release()                                          /* - unique_lock */
    fi;
    atomic { if :: yes -> given++ :: else fi; ended++ }    /* - counted */
}

/* in include/cadre/queue/synchronous_queue.hpp, accept(), poll_for() */
proctype receiver(byte me) {
    byte other = nobody; byte got = nobody; bool timed; bool slept;
    if :: timed = true :: timed = false fi;                /* - the caller: poll_for() or take() */
    acquire();                                             /* = std::unique_lock lock(mutex_) */
#ifndef NO_LOOK
    choose(giving, other);                                 /* = next_in(givers_) */
#endif
    if
    :: other != nobody ->                                  /* = if (auto x = accept(wake)) return x */
        got = other;                                       /* = x.emplace(std::move(given)) */
        /* in include/cadre/detail/queue_handover.hpp, accept() */
        gone[other] = true;                                /* = from.done = true */
        let_go(giving, gwoken, other)                      /* = givers.remove(w); wake.wake(w) */
    :: else ->
        /* in include/cadre/queue/synchronous_queue.hpp, poll_for() */
        do
        :: wait(receiving, rwoken, me, timed, slept);      /* = receivers_.wait(self, lock, deadline) */
           if
           :: !slept -> break                              /* = return std::nullopt */
           :: slept && has[me] != nobody ->                /* = if (self.element) */
               got = has[me]; break                        /* = return std::move(self.element) */
           :: slept && has[me] == nobody                   /* = for (;;) */
           fi
        od;
        release()                                          /* - unique_lock */
    fi;
    atomic { if :: got != nobody -> received++; times[got]++ :: else fi; ended++ }     /* - counted */
}

/* Whoever waits for ever because the other side gave up is served in the end. */
/* - the test */
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

/* - who takes part */
init { atomic { run giver(0); run giver(1); run receiver(0); run receiver(1); run last() } }
