/* SPDX-License-Identifier: Apache-2.0

The pool: submitters, workers that come and go, resizing and the end, around the control word. Each
process is a machine with its place in pc, so that what they share is written once.

  here                     in the code
  state, workers           control_word: one word, so read and exchanged in one step here
  queued[], length         the queue, a monitor of its own; FIFO does not matter here
  listed, started, busy    the books, thread_pool_core::workers_, under mutex_; worker::started, tally
  nudged                   thread_control: the nudge; also stands for the interrupt of shutdown_now()
  ADD, MAKE, BACK          add_worker: count_worker; enter_worker; roll_back, thread_pool_core.cpp
  TERM                     try_terminate, nudge_an_idle_worker, thread_pool_end.cpp
  submitter                admit, confirm_queued, take_back, thread_pool_admission.cpp
  worker                   run_worker, take_next, run_task, leave, come_back, thread_pool_core.cpp
  closer                   shutdown or shutdown_now, then await_end with drop_if_stranded
  resizer                  set_core_pool_size, start_for_queued, thread_pool_settings.cpp
Simpler than the code:
  - Not here: who joins the thread of a worker that comes back, last_to_leave_; take_at_once, which is
    take_next in short; a bounded queue that is full; changes of the maximum.
  - One step: a search of the queue; a loop that nudges, under mutex_; is_stranded(), which looks at the word
    and then at the queue, and is_abandoned(), which looks at the word again after that; a limit, taken where
    add_worker() is called, not where it is compared.
  - A worker that leaves tries for another only if the core lacks one, not if tasks are stranded, and comes
    back only if they still are when it is counted; the code does both more often.
  - What is stranded at the end is dropped by the closer after one try, in the code also by the worker that
    leaves, and only when a thread was refused.
  - A factory that throws has refused, but for whoever has queued a task; in the code that ends execute().
  - A worker of a pool that is shut down waits without a limit; in the code for a second at most, against those
    who empty the queue past the pool.
  - A worker that was counted but may not come back leaves it at that; in the code it refills the core.
  - Successions count in count_worker() alone; in the code one more or less has others look again, too. Core
    threads do not time out here, and so leave none behind.
  - take_back() looks whether that ends the pool if it found the task, in the code always.

Checked: each task accepted is run or handed back, once; one refused does neither; TERMINATED means an
empty queue and no workers; nobody waits for good; and, if no thread was refused, all that was accepted
is run without the help of a shutdown (the closer may wait for just that).
Mutants, each of which must be rejected:
  NO_SECOND_LOOK   the submitter does not look at the state after queueing
  NO_WORKER_LOOK   nor whether there is a worker
  NUDGE_AFTER      a worker takes its nudge after it read the state
  NO_CHAIN         a worker that leaves nudges nobody
  NO_ROLL_BACK     a thread that was refused stays counted
  IDLE_LEAVES      a worker whose time is up looks at the queue neither before nor after it leaves
  NO_TERMINATE_AFTER_TAKE_BACK  whoever takes the last task out again does not look whether that ends it
  NO_REPLACEMENT   a worker that died of its task is not replaced, and does not come back
  DRAIN_FIRST      shutdown_now() empties the queue before it changes the state
  DROP_ONCE        the destructor looks for stranded tasks once, not whenever the last worker has gone
Configurations:
  -DCORE=1 -DMOST=1 -DTASKS=2 -DFAIL=0 -DNEW_CORE=1 -DTHREADS=2 -DIN_A_ROW -DTHROWS=1
  -DCORE=0 -DMOST=1 -DTASKS=2 -DFAIL=1 -DNEW_CORE=0 -DTHREADS=2 -DIN_A_ROW -DTHROWS=1
  short -DCORE=1 -DMOST=2 -DTASKS=2 -DFAIL=0 -DNEW_CORE=2 -DTHREADS=2 -DIN_A_ROW -DTHROWS=0
  wide -DCORE=1 -DMOST=1 -DTASKS=2 -DFAIL=0 -DNEW_CORE=1 -DTHREADS=2 -DTHROWS=0
  wide -DCORE=1 -DMOST=2 -DTASKS=2 -DFAIL=1 -DNEW_CORE=0 -DTHREADS=3 -DTHROWS=1
  wide -DCORE=1 -DMOST=2 -DTASKS=3 -DFAIL=1 -DNEW_CORE=1 -DTHREADS=3 -DTHROWS=1
IN_A_ROW: one submitter gives all tasks, else each has its own.
THREADS is how many there may be at a time, those that leave too; a factory waits until there is one.
*/

#define RUNNING 0
#define SHUTDOWN 1
#define STOP 2
#define TERMINATED 4              /* tidying and terminated are one here: between them is a hook */
#define NONE 9

byte state = RUNNING; byte workers = 0; byte successions = 0;
bool queued[TASKS] = false; byte length = 0;
byte core = CORE;
bool listed[3] = false; bool started[3] = false;
bool nudged[3] = false; bool busy[3] = false;
bool hired[3] = false; byte first_of[3] = NONE;
bool accepted[TASKS] = false; bool refused[TASKS] = false;
byte ran[TASKS] = 0; byte returned[TASKS] = 0;
byte refusals = 0;                /* of the thread factory */
bool throws = THROWS;             /* one task may throw */
byte ended = 0;                   /* submitters and resizer */

#define settled(t) ((refused[t] && ran[t] + returned[t] == 0) || (accepted[t] && ran[t] + returned[t] == 1))
#if TASKS > 2
#define all_settled (settled(0) && settled(1) && settled(2))
#else
#define all_settled (settled(0) && settled(1))
#endif
#if NEW_CORE != CORE
#define OTHERS (TASKS + 1)
#else
#define OTHERS TASKS
#endif
#define nobody_listed (!listed[0] && !listed[1] && !listed[2])
#define stranded (workers == 0 && state < STOP && length > 0)
#define abandoned (stranded && successions == 0)
#ifdef IDLE_LEAVES
#define may_leave(n) true
#else
#define may_leave(n) (n > 1 || length == 0)
#endif
#ifdef NO_ROLL_BACK
#define roll_back skip
#else
#define roll_back workers--
#endif

#define is_any_task_running (busy[0] || busy[1] || busy[2])
#define idle(w) (listed[w] && started[w] && !busy[w])

/* in src/thread_pool_end.cpp, nudge_workers() */
inline nudge_all() {
    /* = if (auto* started = w->started.load()) started->nudge() */
    d_step { nudged[0] = nudged[0] || (listed[0] && started[0]);
             nudged[1] = nudged[1] || (listed[1] && started[1]);
             nudged[2] = nudged[2] || (listed[2] && started[2]) }
}
#ifdef NO_CHAIN
#define nudge_one() skip
#else
/* in src/thread_pool_end.cpp, nudge_an_idle_worker() */
inline nudge_one() {
    atomic {
        if
        /* = if (!started || worker::running(w->tally()) > 0) continue; started->nudge(); return */
        :: idle(0) -> nudged[0] = true
        :: idle(1) -> nudged[1] = true
        :: idle(2) -> nudged[2] = true
        :: !idle(0) && !idle(1) && !idle(2) -> nudge_all()       /* = nudge_workers() */
        fi
    }
}
#endif

/* Where a machine is; 0 is the end of it, and from 10 on they are its own. */
#define ADD 1
#define MAKE 2
#define BACK 3
#define TERM 4

#define registers byte pc = 10; byte to = 0; byte then = 0; byte s; byte n; byte d; byte first = NONE; byte most; \
                  bool made = false

/* add_worker(first, most), then on to `to`; try_terminate(), then on to `then` */
#define common \
    :: pc == TERM -> \
        /* in src/thread_pool_end.cpp, try_terminate() */ \
        d_step { s = state; n = workers };                       /* = auto seen = control_.load() */ \
        if \
        /* = if (seen.is_running() || seen.at_least(run_state::tidying)) return */ \
        /* = if (!seen.at_least(run_state::stop) && !is_nothing_queued()) return */ \
        :: s == RUNNING || s == TERMINATED || (s < STOP && length > 0) -> \
            d_step { pc = then; then = 0; s = 0; n = 0 } \
        :: else -> \
            if \
            /* = if (seen.workers() != 0) { nudge_an_idle_worker(); return; } */ \
            :: n != 0 -> nudge_one(); d_step { pc = then; then = 0; s = 0; n = 0 } \
            /* = if (control_.try_tidy(seen)) break */ \
            :: n == 0 -> d_step { \
                   if :: state == s && workers == n -> state = TERMINATED; pc = then; then = 0 :: else fi; \
                   s = 0; n = 0 } \
            fi \
        fi \
    :: pc == ADD -> \
        /* in src/thread_pool_core.cpp, count_worker() */ \
        d_step { s = state; n = workers; d = successions };      /* = auto seen = control_.load() */ \
        if \
        /* = if (seen.at_least(run_state::stop)) return false */ \
        /* = if (seen.at_least(run_state::shutdown) && (has_first || is_nothing_queued())) return false */ \
        /* = if (seen.workers() >= std::min(most_workers(within), control_word::most_workers)) return false */ \
        /* = has_first && within == limit::core && seen.awaits_successor() && core_size_.load() == 1 */ \
        :: s >= STOP || (s >= SHUTDOWN && (first != NONE || length == 0)) || n >= most || \
           (first != NONE && to == 11 && d > 0 && core == 1) -> \
            d_step { made = false; pc = to; to = 0; first = NONE; most = 0; s = 0; n = 0; d = 0 } \
        /* = if (control_.try_add_worker(seen)) return true */ \
        :: else -> d_step { if :: state == s && workers == n && successions == d -> workers++; pc = MAKE :: else fi; \
                            s = 0; n = 0; d = 0 } \
        fi \
    :: pc == MAKE -> \
        /* in src/thread_pool_core.cpp, add_worker(), enter_worker() */ \
        atomic { \
            if \
            :: refusals < FAIL -> refusals++; made = false; pc = BACK    /* = made = make_waiting_thread( */ \
            :: state >= STOP -> made = false; pc = BACK          /* = if (!enter_worker(w, made, first)) return false */ \
            :: state < STOP && (!hired[0] || !hired[1] || !hired[2]) ->  /* = made = make_waiting_thread( */ \
                n = (!hired[0] -> 0 : (!hired[1] -> 1 : 2));     /* - a thread */ \
                hired[n] = true;                                 /* = start->begin() */ \
                listed[n] = true;                                /* = workers_.push_back(w) */ \
                made = first == NONE || state == RUNNING;        /* = return !first || !*first */ \
                first_of[n] = (made -> first : NONE);            /* = if (first && seen.is_running()) w->first */ \
                pc = to; to = 0; first = NONE; most = 0; n = 0   /* - the end of it */ \
            fi \
        } \
    :: pc == BACK -> \
        roll_back;                                               /* = pool.control_.remove_worker() */ \
        d_step { then = to; pc = TERM; to = 0; first = NONE; most = 0 }  /* = pool.try_terminate() */

#define add(f, m, next) d_step { first = f; most = m; to = next; pc = ADD; s = 0; n = 0; made = false }
#define terminate(next) d_step { then = next; pc = TERM }
#ifdef NO_TERMINATE_AFTER_TAKE_BACK
#define taken_back pc = 0
#else
#define taken_back terminate(0)
#endif

/* in src/thread_pool_admission.cpp, admit(), execute() */
proctype submitter(byte t) {
    registers; byte looked; bool found;
next_task:
    do
    :: pc == 10 ->
        /* = if (control_.load().workers() < core_size_.load() && add_worker(&t, limit::core)) return true */
        if :: workers < core -> add(t, core, 11) :: else -> pc = 11 fi
    :: pc == 11 ->
        if
        :: made -> accepted[t] = true; pc = 0                    /* = return true */
        :: !made && state == RUNNING ->                          /* = if (control_.load().is_running()) */
            d_step { queued[t] = true; length++; pc = 12 }       /* = queue_->offer(std::move(t)) */
        :: !made && state != RUNNING -> add(t, MOST, 15)         /* = add_worker(&t, limit::maximum) */
        fi
    :: pc == 12 ->
        /* in src/thread_pool_admission.cpp, confirm_queued(), take_back() */
        d_step { s = state; looked = workers };                  /* = const auto seen = control_.load() */
        pc = 13;
#ifndef NO_SECOND_LOOK
        if
        :: s != RUNNING ->                                       /* = if (!seen.is_running() && take_back(identity, t)) */
            d_step { found = queued[t];                          /* = queue_->extract_first(is_wanted) */
                     if :: found -> queued[t] = false; length--; refused[t] = true :: else fi }; /* = return false */
            if :: found -> taken_back :: else fi                 /* = try_terminate() */
        :: else
        fi
#endif
    :: pc == 13 ->
#ifdef NO_WORKER_LOOK
        accepted[t] = true; pc = 0
#else
        /* = if (seen.workers() != 0) return true */
        /* = add_worker(nullptr, limit::maximum) */
        if :: looked != 0 -> accepted[t] = true; pc = 0 :: else -> add(NONE, MOST, 14) fi
#endif
    :: pc == 14 ->
        if
        :: !made && refusals > 0 ->                              /* = catch (...) { if (take_back(identity, t)) throw */
            d_step { found = queued[t];                          /* = queue_->extract_first(is_wanted) */
                     if :: found -> queued[t] = false; length--; refused[t] = true   /* = throw */
                        :: else -> accepted[t] = true fi };      /* = return true */
            if :: found -> taken_back :: else -> pc = 0 fi       /* = try_terminate() */
        :: accepted[t] = true; pc = 0                            /* = return true */
        fi
    :: pc == 15 ->
        /* in src/thread_pool_admission.cpp, admit(), execute() */
        /* = return add_worker(&t, limit::maximum) */
        /* = if (admit(t)) return */
        /* = reject(std::move(t), face) */
        if :: made -> accepted[t] = true :: else -> refused[t] = true fi; pc = 0
    :: pc == 0 -> break
    common
    od;
    /* - the caller: the next task */
    n = 0;
    d_step { made = false; looked = 0; found = false; s = 0; n = 0; pc = 10; ended++ };
#ifdef IN_A_ROW
    if :: t < TASKS - 1 -> t++; goto next_task :: else fi
#endif
}

/* in src/thread_pool_core.cpp, run_worker(), run_task(), end_task() */
proctype worker(byte me) {
    registers; byte next = NONE; bool abruptly = false; bool timed = false; bool timed_out = false;
    bool tried = false;
end:
    do
    :: pc == 10 && hired[me] ->                                  /* - the thread begins */
        d_step { started[me] = true;                             /* = w.started.store(&self) */
                 next = first_of[me];                            /* = next = std::move(w.first) */
                 pc = (next == NONE -> 12 : 11) }                /* = next || take_at_once(w, next) || take_next(w, next) */
    :: pc == 11 ->
        busy[me] = true;                                         /* = w.begin_task() */
        ran[next]++;                                             /* = call(self, t, stop) */
        atomic {
            busy[me] = false; next = NONE; pc = 12;              /* = w.end_task() */
            /* = abruptly = !run_task(w, next, w.stop) */
            if :: throws -> throws = false; abruptly = true; pc = 14 :: skip fi
        }
    :: pc == 12 ->
        /* in src/thread_pool_core.cpp, take_next() */
#ifndef NUDGE_AFTER
        nudged[me] = false;                                      /* = self.take_nudge(); self.take_interrupt() */
#endif
        d_step { s = state; n = workers };                       /* = auto seen = control_.load() */
        if
        /* = if (seen.at_least(run_state::stop) || (seen.at_least(run_state::shutdown) && is_nothing_queued() && */
        /* = !(looks_by_itself && is_any_task_running()))) */
        :: s >= STOP || (s >= SHUTDOWN && length == 0 && !(timed_out && is_any_task_running)) ->
            d_step { workers--; pc = 15; s = 0; n = 0 }          /* = control_.remove_worker(); return false */
        :: else ->
#ifdef NUDGE_AFTER
            nudged[me] = false;
#endif
            if
            /* = (timed && timed_out)) && (seen.workers() > 1 || is_nothing_queued()) */
            :: n > core && timed_out && may_leave(n) ->
                /* = control_.try_remove_worker(seen)) return false */
                d_step { if :: state == s && workers == n -> workers--; pc = 15 :: else fi; s = 0; n = 0 }
            :: else -> d_step { timed = n > core; s = 0; n = 0; pc = 13 }        /* = seen.workers() > core_size_.load() */
            fi
        fi
    :: pc == 13 ->
        atomic {
            if
            :: length > 0 ->                                     /* = queue_->poll_for(idle) */
                length--; timed_out = false; pc = 11;            /* = next = queue_->take() */
                /* - the queue: any of them */
                if
                :: queued[0] -> next = 0; queued[0] = false
                :: queued[1] -> next = 1; queued[1] = false
#if TASKS > 2
                :: queued[2] -> next = 2; queued[2] = false
#endif
                fi
            /* = catch (const interrupted&) { timed_out = false; looks_by_itself = false; waited = waited.zero(); } */
            :: nudged[me] -> nudged[me] = false; timed_out = false; pc = 12
            :: timed && length == 0 -> timed_out = true; pc = 12 /* = timed_out = timed && !polled && */
            fi
        }
    :: pc == 14 ->
        /* in src/thread_pool_core.cpp, leave(), strike_out(), come_back() */
        d_step { workers--; successions++; pc = 15 }             /* = control_.remove_dead_worker() */
    :: pc == 15 ->
        d_step { listed[me] = false;                             /* = workers_.pop_back() */
                 started[me] = false; nudged[me] = false; timed = false; timed_out = false;      /* - the model's */
                 then = 16; pc = TERM }                          /* = try_terminate() */
    :: pc == 16 ->
        d_step { s = state; n = workers };                       /* = const auto seen = control_.load() */
        if
#ifndef NO_REPLACEMENT
        /* = const bool has_successor = (abruptly || seen.workers() < needed) */
        /* = if (!add_worker(nullptr, limit::maximum) && failed_threads_.load() != failed_before) */
        :: s < STOP && (abruptly || n < core) -> tried = true; add(NONE, MOST, 17)
        :: else -> pc = 17
#else
        :: pc = 19
#endif
        fi
    :: pc == 17 ->
#ifdef IDLE_LEAVES
        pc = 19
#else
        if
        /* = if (!is_stranded() || !count_worker(false, limit::maximum)) return false */
        :: stranded -> d_step { if :: stranded -> workers++; pc = 18 :: else fi }
        :: !stranded -> pc = 19
        :: tried && !made -> pc = 19                             /* = refused = has_successor && !is_own_factory(factory()) */
        fi
#endif
    :: pc == 18 ->
        atomic {
            if
            :: state < STOP ->                                   /* = if (!control_.load().at_least(run_state::stop) */
               listed[me] = true;                                /* = workers_.push_back(std::move(again)) */
               successions = successions - abruptly;             /* = control_.end_succession() */
               started[me] = true; abruptly = false; tried = false; made = false; s = 0; n = 0;  /* - the model's */
               pc = 12                                           /* = return true */
            :: else -> pc = 20
            fi
        }
    :: pc == 20 -> workers--; terminate(19)                      /* = control_.remove_worker(); try_terminate() */
    :: pc == 19 ->
        successions = successions - abruptly;                    /* = control_.end_succession() */
        /* - the thread ends, and there may be another */
        d_step { s = 0; n = 0; made = false; abruptly = false; tried = false; timed_out = false; to = 0;
                 then = 0; first = NONE; most = 0; pc = 10; hired[me] = false }
    common
    od
}

#if NEW_CORE != CORE
/* in src/thread_pool_settings.cpp, set_core_pool_size(), start_for_queued() */
proctype resizer() {
    registers;
    core = NEW_CORE;                                             /* = more = core - core_size_.exchange(core) */
    do
    :: pc == 10 ->
        if
        :: workers > NEW_CORE -> nudge_all(); pc = 0             /* = if (control_.load().workers() > core) nudge_workers() */
        :: workers <= NEW_CORE && NEW_CORE > CORE && length > 0 ->       /* = else start_for_queued(more) */
            add(NONE, core, 0)                                   /* = add_worker(nullptr, limit::core) */
        :: else -> pc = 0                                        /* = if (more <= 0) return */
        fi
    :: pc == 0 -> break
    common
    od;
    ended++                                                      /* - counted */
}
#endif

/* in src/control_word.hpp, advance() */
/* = while (value(seen).state() < target) */
inline stop() { d_step { if :: state < STOP -> state = STOP :: else fi } }

/* in src/thread_pool_end.cpp, shutdown(), shutdown_now(), await_end(), drop_if_stranded(), drop_stranded() */
proctype closer() {
    registers; byte t; bool last = false;
    /* - the caller: at any time, or when all is run without our help */
    if :: skip :: last = true fi;
    if :: last -> ended == OTHERS && (refusals > 0 || all_settled) :: else fi;
    last = false;
    do
    :: pc == 10 ->
        if
        :: skip;
           /* = control_.advance(run_state::shutdown) */
           d_step { if :: state < SHUTDOWN -> state = SHUTDOWN :: else fi };
           nudge_all();                                          /* = nudge_workers() */
           terminate(11)                                         /* = try_terminate() */
        :: pc = 20
        fi
    :: pc == 11 -> if :: abandoned -> pc = 12 :: else -> pc = 14 fi      /* = if (is_abandoned()) ensure_worker_quietly() */
    /* in src/thread_pool_admission.cpp, ensure_worker(); src/thread_pool_core.hpp, lacks_worker() */
    :: pc == 12 -> n = workers; made = false;                    /* = if (lacks_worker()) or control_.load().workers() */
        /* = add_worker(nullptr, limit::core_or_one) or std::max(core_size_.load(), 1) */
        if :: n < core -> add(NONE, core, 13) :: else -> pc = 13 fi
    :: pc == 13 ->
        /* - for the one of core_or_one */
        if :: !made && workers == 0 -> add(NONE, MOST, 14) :: else -> pc = 14 fi
    :: pc == 14 && ended == OTHERS ->                            /* - the caller: the destructor, when nobody else calls */
        /* in src/thread_pool_end.cpp, await_end(), drop_if_stranded(), drop_stranded(), shutdown_now() */
        if
        :: abandoned && last -> pc = 20                          /* = const auto dropped = shutdown_now() */
        :: abandoned && !last -> last = true; pc = 12            /* = ensure_worker_quietly() */
        :: else -> last = true; pc = 15                          /* = while (is_abandoned()) */
        fi
    :: pc == 15 ->
        if
        :: state == TERMINATED && nobody_listed -> pc = 0        /* = state() == run_state::terminated && workers_.empty() */
#ifndef DROP_ONCE
        :: abandoned && nobody_listed -> last = false; pc = 14   /* - leave(), which drops them in its worker */
#endif
        fi
    :: pc == 20 ->
#ifndef DRAIN_FIRST
        stop();                                                  /* = control_.advance(run_state::stop) */
#endif
        nudge_all();                                             /* = interrupt_workers() */
        /* = queue_->extract_if([](const task&) { return true; }, never_ran) */
        t = 0;
        do
        :: t < TASKS -> d_step {
               if :: queued[t] -> queued[t] = false; length--; returned[t]++ :: else fi; t++ }
        :: else -> break
        od;
        t = 0;
#ifdef DRAIN_FIRST
        stop();
        nudge_all();
#endif
        terminate(14)                                            /* = pool.try_terminate() */
    :: pc == 0 -> break
    common
    od;
    assert(workers == 0 && length == 0);                         /* - checked */
    assert(all_settled)                                          /* - checked */
}

/* - who takes part */
init {
    atomic {
        run worker(0); run worker(1);
#if THREADS > 2
        run worker(2);
#else
        hired[2] = true;
#endif
        run submitter(0);
#ifndef IN_A_ROW
        run submitter(1);
#if TASKS > 2
        run submitter(2);
#endif
#endif
#if NEW_CORE != CORE
        run resizer();
#endif
        run closer()
    }
}
