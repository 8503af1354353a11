/* SPDX-License-Identifier: Apache-2.0

The future: who runs, cancels, completes, waits. The word is one variable for phase and one each for
the two other parts; each compare-exchange of the code is one atomic step here, each load another.

  here                     in the code, future_core.cpp
  phase, watched, runner   future_core::word_
  move()                   future_core::move
  run()                    run(), start(), body_scope, settle(), compute() -> begin_completion, finish
  cancel()                 cancel_this(), stop_runner(), wake_waiters_of_cancelled()
  tell()                   wake_waiters(), conclude_telling()
  getter                   wait_until(), watch(); the list is guarded by mutex_
  abandon                  abandon(): the task is dropped unrun

Checked: one outcome, told once; the callable called at most once and destroyed exactly once; cancel()
returned true exactly if cancelled; no waiter is left; no interrupt comes after run() has returned.
Mutants, each of which must be rejected:
  NO_WATCH      a waiter sleeps without having set the mark
  WATCH_STORE   the mark is set by a store of the word that was read, not exchanged
  NO_INTERRUPTING   the runner does not wait for the canceller that interrupts
  BLIND_FINISH  the outcome is stored without winning `completing`
  CANCEL_LOAD   cancel decides by a load, not by an exchange
  TELL_FIRST    the waiters are told before the final phase is stored
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
bool lock = false;                /* mutex_ */
bool listed[2] = false;           /* waiters of changed_ */
bool woken[2] = false;
byte ended = 0;

inline acquire() { atomic { !lock -> lock = true } }
inline release() { lock = false }

/* watched and, from one phase to another in which it may be interrupted, the runner are kept */
inline move(from, to, won) {
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

inline tell(seen) {
    if
    :: seen ->
        acquire();
        atomic { woken[0] = woken[0] || listed[0]; listed[0] = false;
                 woken[1] = woken[1] || listed[1]; listed[1] = false };
        release()
    :: else
    fi
}

inline conclude(final) {
#ifdef TELL_FIRST
    was_watched = watched;
    tell(was_watched);
    phase = final; runner = false;
#else
    atomic { was_watched = watched; phase = final; runner = false; watched = false };
    tell(was_watched);
#endif
    outcomes++
}

inline begin_completion(won, was_pending) {
    won = false;
    do
    :: seen_phase = phase;
       if
       :: seen_phase <= running ->
           move(seen_phase, completing, won);
           if :: won -> was_pending = seen_phase == pending; break :: else fi
       :: else -> break
       fi
    od
#ifdef BLIND_FINISH
    ; if :: !won && phase != pending -> won = true :: else fi
#endif
}

inline cancel(may_interrupt, won) {
    won = false;
    do
    :: seen_phase = phase;
       if
       :: seen_phase <= running && seen_phase == running && may_interrupt ->
           move(running, stopping, won);
           if
           :: won ->
               was_watched = watched;
               tell(was_watched);                    /* is_done(): everything from success upwards */
               /* the stop token: users' callbacks; meanwhile the runner may end */
               move(stopping, interrupting, still);
               if
               :: still ->
                   assert(in_run);                   /* or the control of its thread may be gone */
                   flag = true;
                   move(interrupting, cancelled, still)
               :: else
               fi;
               outcomes++; break
           :: else
           fi
       :: seen_phase <= running && !(seen_phase == running && may_interrupt) ->
           move(seen_phase, cancelled, won);
           if
           :: won ->
               if :: seen_phase == pending -> destroyed++ :: else fi;
               was_watched = watched;
               tell(was_watched);
               outcomes++; break
           :: else
           fi
       :: else -> break
       fi
    od
}

active [RUNNERS] proctype runs() {                          /* one task, two that would run it */
    bool won; bool still; bool was_pending; bool was_watched; byte seen_phase;
    atomic { won = phase == pending; if :: won -> phase = running; runner = true; in_run = true :: else fi };
    if
    :: won ->
        calls++;
        destroyed++;                                  /* before the result can be seen */
        begin_completion(won, was_pending);
        if
        :: won -> if :: conclude(success) :: conclude(failed) fi
        :: else
        fi;
        /* settle() */
        move(stopping, cancelled, still);
#ifndef NO_INTERRUPTING
        if :: !still -> phase != interrupting :: else fi;
#endif
        in_run = false;
        flag = false                                  /* an interrupt by its cancellation ends with it */
    :: else
    fi;
    ended++
}

active [CANCELLERS] proctype cancels_it() {
    bool won; bool still; bool was_watched; byte seen_phase; bool hard;
    if :: hard = true :: hard = false fi;
    cancel(hard, won);
    if :: won -> cancels++ :: else fi;
    ended++
}

active proctype sets_exception() {                    /* set_exception(), or abandon() */
    bool won; bool still; bool was_pending; bool was_watched; byte seen_phase;
    if
    :: begin_completion(won, was_pending);
       if
       :: won ->
           sets++;
           if :: was_pending -> destroyed++ :: else fi;
           conclude(failed)
       :: else
       fi
    :: if
       :: phase == pending -> cancel(false, won); if :: won -> cancels++ :: else fi
       :: else
       fi
    fi;
    ended++
}

active [GETTERS] proctype getter() {
    byte me; byte seen_phase; bool timed;
    me = _pid - (RUNNERS + CANCELLERS + 1);
    if :: timed = true :: timed = false fi;
    acquire();
    /* watch() */
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
    :: done(seen_phase) -> release()
    :: else ->
        do
        :: seen_phase = phase;
           if
           :: done(seen_phase) -> release(); break
           :: else ->
               atomic { listed[me] = true; woken[me] = false };
               release();
               if :: woken[me] :: timed fi;
               acquire();
               if :: !woken[me] -> listed[me] = false; release(); break :: else fi
           fi
        od
    fi;
    ended++
}

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
