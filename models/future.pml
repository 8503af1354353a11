/* SPDX-License-Identifier: Apache-2.0

The future: who runs, cancels, completes, waits. The word is one variable for phase and one each for
the two other parts; each compare-exchange of the code is one atomic step here, each load another.

  here                     in the code, future_core.cpp
  phase, watched, runner   future_core::word_
  move()                   future_core::move
  runs                     run(), start(), body_scope, settle(), compute() -> begin_completion, finish
  cancel()                 cancel_this(), stop_runner(), wake_waiters_of_cancelled()
  tell()                   wake_waiters(), conclude_telling()
  getter                   wait_until(), watch(); the list is guarded by mutex_
  sets_exception           set_exception(), or abandon(): the task is dropped unrun
Not here: completions and sources; leave_queue(); run_and_reset(), which goes back to pending.

Checked: one outcome, told once; the callable called at most once and destroyed exactly once; cancel()
returned true exactly if cancelled; no waiter is left; no interrupt comes after run() has returned, and
one that came for the task is gone by then.
Mutants, each of which must be rejected:
  NO_WATCH      a waiter sleeps without having set the mark
  WATCH_STORE   the mark is set by a store of the word that was read, not exchanged
  NO_INTERRUPTING   the runner does not wait for the canceller that interrupts
  BLIND_FINISH  the outcome is stored without winning `completing`
  CANCEL_LOAD   cancel decides by a load, not by an exchange
  TELL_FIRST    the waiters are told before the final phase is stored
  MARK_LATE     a canceller notes that it interrupts after it has done so
Configurations:
  -DRUNNERS=1 -DCANCELLERS=1 -DGETTERS=1
  -DRUNNERS=2 -DCANCELLERS=1 -DGETTERS=1
  wide -DRUNNERS=1 -DCANCELLERS=2 -DGETTERS=1
  wide -DRUNNERS=1 -DCANCELLERS=1 -DGETTERS=2
  wide -DRUNNERS=2 -DCANCELLERS=2 -DGETTERS=2
*/

#define pending 0
#define running 1
#define completing 2
#define success 3
#define failed 4
#define cancelled 5
#define stopping 6
#define interrupting 7
#define done(p) ((p) >= success)

byte phase = pending;
bool watched = false;
bool runner = false;              /* the thread that runs it is in the word */

byte calls = 0;                   /* of the callable */
byte destroyed = 0;               /* the callable */
byte outcomes = 0;                /* on_done */
byte cancels = 0;                 /* cancel() returned true */
byte sets = 0;
bool in_run = false;              /* the runner is inside run() */
bool flag = false;                /* the thread's interrupt flag */
bool was_interrupted = false;     /* was_interrupted_ */
bool lock = false;                /* mutex_ */
bool listed[2] = false;           /* waiters of changed_ */
bool woken[2] = false;
byte ended = 0;

/* - the mutex */
inline acquire() { atomic { !lock -> lock = true } }
inline release() { lock = false }

/* in src/future_core.cpp, move() */
inline move(from, to, won) {
    /* = while ((seen & phase_mask) == from) if (word_.compare_exchange_weak(seen, (seen & kept) | to)) return true;
         return false */
    /* = const word kept = to >= stopping ? ~phase_mask : watched */
#ifdef CANCEL_LOAD
    won = phase == from;
    if :: won -> phase = to; runner = runner && to >= stopping :: else fi
#else
    atomic {
        won = phase == from;
        if :: won -> phase = to; runner = runner && to >= stopping :: else fi
    }
#endif
}

/* in src/future_core.cpp, wake_waiters() */
inline wake_waiters(watched_then) {
    if
    :: watched_then ->                                     /* = if (!somebody_watches) return nullptr */
        acquire();                                         /* = std::lock_guard lock(mutex_) */
        /* = changed_.notify_all(wake) */
        atomic { woken[0] = woken[0] || listed[0]; listed[0] = false;
                 woken[1] = woken[1] || listed[1]; listed[1] = false };
        release()                                          /* - lock_guard */
    :: else
    fi
}

/* in src/future_core.cpp, finish(), conclude(), conclude_telling() */
inline finish(final) {
    if :: was_pending -> destroyed++ :: else fi;           /* = if (was_pending_) drop_callable() */
#ifdef TELL_FIRST
    was_watched = watched;
    wake_waiters(was_watched);
    phase = final; runner = false;
#else
    /* = const word before = word_.exchange(final_phase) */
    atomic { was_watched = watched; phase = final; runner = false; watched = false };
    wake_waiters(was_watched);                             /* = wake_waiters(before & watched) */
#endif
    outcomes++                                             /* = on_done( */
}

/* in src/future_core.cpp, begin_completion() */
inline begin_completion(won) {
    won = false;                                           /* = return false */
    do
    :: seen_phase = phase;                                 /* = auto seen = phase() */
       if
       :: seen_phase <= running ->                         /* = seen <= running */
           move(seen_phase, completing, won);              /* = if (!move(seen, completing)) continue */
           if
           :: won -> was_pending = seen_phase == pending; break    /* = was_pending_ = seen == pending */
           :: else
           fi
       :: else -> break
       fi
    od
#ifdef BLIND_FINISH
    ; if :: !won && phase != pending -> won = true :: else fi
#endif
}

/* in src/future_core.cpp, stop_runner() */
inline stop_runner() {
#ifndef MARK_LATE
    was_interrupted = true;                                /* = was_interrupted_.store(true) */
#endif
    /* - the stop token: users' callbacks; meanwhile the runner may end */
    move(stopping, interrupting, still);                   /* = if (!move(stopping, interrupting)) return */
    if
    :: still -> assert(in_run);                            /* - checked: else its thread's control may be gone */
        if :: runner -> flag = true :: else fi;            /* = stopped = runner()) stopped->interrupt_for(*this) */
        move(interrupting, cancelled, still)               /* = move(interrupting, cancelled) */
    :: else
    fi
#ifdef MARK_LATE
    ; was_interrupted = true
#endif
}

/* in src/future_core.cpp, cancel_this(), wake_waiters_of_cancelled(), conclude_telling() */
inline cancel(may_interrupt, won) {
    won = false;                                           /* = return false */
    do
    :: seen_phase = phase;                                 /* = auto seen = phase() */
       if
       :: seen_phase <= running ->                         /* = seen <= running */
           stop = seen_phase == running && may_interrupt;  /* = stop = seen == running && may_interrupt */
           /* = if (!move(seen, stop ? stopping : cancelled)) continue */
           if
           :: stop -> move(seen_phase, stopping, won)
           :: else -> move(seen_phase, cancelled, won)
           fi;
           if
           :: won ->
               /* = if (unstarted) { drop_callable() */
               if :: seen_phase == pending -> destroyed++ :: else fi;
               was_watched = watched;                      /* = word_.load() & watched */
               wake_waiters(was_watched);                  /* = return wake_waiters( */
               if :: stop -> stop_runner() :: else fi;     /* = if (stop) stop_runner() */
               outcomes++; break                           /* = conclude_telling(cancelled, completions) */
           :: else
           fi
       :: else -> break
       fi
    od
}

/* One task, and those who would run it. */
/* in src/future_core.cpp, start(), run(), settle(), ~body_scope(), begin_completion() */
active [RUNNERS] proctype runs() {
    bool won; bool still; bool was_pending; bool was_watched; byte seen_phase;
    /* = while ((seen & phase_mask) == pending) */
    /* = reinterpret_cast<word>(&self) | (seen & watched) | running)) return true */
    atomic { won = phase == pending; if :: won -> phase = running; runner = true; in_run = true :: else fi };
    if                                                     /* = if (!start(self)) return */
    /* in include/cadre/detail/future_result.hpp, compute(), set_value() */
    :: won -> calls++;                                     /* = call() */
        destroyed++;                                       /* = this->drop_callable() */
        begin_completion(won);                             /* = if (!this->begin_completion()) return false */
        if
        :: won ->                                          /* = this->finish(true) */
            if
            :: true -> finish(success)                     /* = if (!thrown) this->set_value() */
            :: true -> finish(failed)                      /* = if (thrown) this->set_exception( */
            fi
        :: else
        fi;
        /* in src/future_core.cpp, settle(), ~body_scope() */
        move(stopping, cancelled, still);                  /* = if (move(stopping, cancelled)) return */
#ifndef NO_INTERRUPTING
        if :: !still -> phase != interrupting :: else fi;  /* = while (phase() == interrupting) */
#endif
        in_run = false;                                    /* = task_.settle() */
        if :: was_interrupted -> flag = false :: else fi   /* = if (task_.was_interrupted() && !was_interrupted_) */
    :: else
    fi;
    ended++                                                /* - counted */
}

/* - the caller: cancel(), with or without an interrupt */
active [CANCELLERS] proctype cancels_it() {
    bool won; bool still; bool was_watched; byte seen_phase; bool hard; bool stop;
    if :: hard = true :: hard = false fi;
    cancel(hard, won);
    if :: won -> cancels++ :: else fi;
    ended++
}

/* in src/future_core.cpp, set_exception(), abandon() */
active proctype sets_exception() {
    bool won; bool still; bool was_pending; bool was_watched; byte seen_phase; bool stop;
    if
    :: begin_completion(won);                              /* = if (!begin_completion()) return false */
       if
       :: won -> sets++;                                   /* = store_error(std::move(error)) */
           finish(failed)                                  /* = finish(false) */
       :: else
       fi
    :: if
       :: phase == pending ->                              /* = if (phase() != pending) return */
           cancel(false, won);                             /* = cancel_this(false) */
           if :: won -> cancels++ :: else fi               /* - counted */
       :: else
       fi
    fi;
    ended++                                                /* - counted */
}

/* in src/future_core.cpp, wait_until(), watch() */
active [GETTERS] proctype getter() {
    byte me; byte seen_phase; bool timed;
    me = _pid - (RUNNERS + CANCELLERS + 1);                /* - the model's */
    if :: timed = true :: timed = false fi;                /* - the caller: get() or wait_for() */
    if :: done(phase) -> goto out :: else fi;              /* = if (is_done()) return true */
    acquire();                                             /* = std::unique_lock lock(mutex_) */
    /* = while ((seen & phase_mask) < success) */
    /* = word_.compare_exchange_weak(seen, seen | watched) */
#ifdef NO_WATCH
    seen_phase = phase;
#else
#ifdef WATCH_STORE
    seen_phase = phase;
    if :: !done(seen_phase) -> atomic { phase = seen_phase; watched = true } :: else fi;
#else
    atomic { seen_phase = phase; if :: !done(seen_phase) -> watched = true :: else fi };
#endif
#endif
    if
    :: done(seen_phase)                                    /* = if (!watch()) return true */
    :: else ->
        /* in include/cadre/detail/condition.hpp, wait_until(), wait_once(), wait(), park() */
        do
        :: seen_phase = phase;                             /* = holds() */
           if
           :: done(seen_phase) -> break                    /* = while (!holds()) */
           :: !done(seen_phase) && timed -> break          /* = if (!wait_once(lock, deadline)) return false */
           :: !done(seen_phase) ->                         /* = waiters_.wait(self, lock, deadline) */
               atomic { listed[me] = true; woken[me] = false };    /* = push_back(w) */
               release();                                  /* = lock.unlock() */
               if                                          /* = sleep(w, deadline) */
               :: woken[me]                                /* - see parker.pml */
               :: timed                                    /* - the clock */
               fi;
               acquire();                                  /* = lock.lock() */
               /* = if (w.woken.load(std::memory_order_relaxed)) return true */
               if :: !woken[me] -> listed[me] = false :: else fi   /* = remove(w) */
           fi
        od
    fi;
    release();                                             /* - unique_lock */
out:
    ended++                                                /* - counted */
}

/* - the test */
active proctype judge() {
    ended == RUNNERS + CANCELLERS + 1 + GETTERS ->
    assert(phase == success || phase == failed || phase == cancelled);
    assert(outcomes == 1);
    assert(calls <= 1);
    assert(destroyed == 1);
    assert(cancels <= 1);
    assert((cancels == 1) == (phase == cancelled));
    assert(!flag && !in_run);
    assert(!(sets == 1 && phase != failed))
}
