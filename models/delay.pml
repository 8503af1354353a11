/* SPDX-License-Identifier: Apache-2.0

Leader and followers: takers wait for the head of a queue of times; one of them, the leader, sleeps
until the head is due, the others without a time. Elements come in any order, are removed, takers are
interrupted or run out of time; a due element never has only sleepers.

With SCHEDULER, one is called to lead at a time, and elements may be quick: whoever takes one or puts it
back then calls nobody, if a deputy is asleep until soon after. Here such a taker never comes back. The deputy
sleeps on when it finds a quick one that has not been due for long. A worker that takes the next one
in the hold in which it puts one back is, to the others, one that comes back before anybody moves.

  here                     in the code: timer_queue.cpp with SCHEDULER, delay_queue.hpp without
  atomic blocks            mutex_ held
  in_heap                  timers_; heap_
  taker                    poll_until(), wait_for_head()
  appoint_leader()         appoint_leader()
  putter                   put_in() -> wake_leader(); in the code also for the first by the wall clock
  remover                  remove(), take_out(): the head may go while the leader sleeps for it
  listed, leader, woken    waiters_, leader_, waiter::woken
  called, deputy, until2   called_, deputy_, deputy_until_
  covered()                is_covered(); GRACE is `grace`
  put_back()               requeue()
  now                      the steady clock

Checked: whenever nothing moves but the clock, nobody sleeps beside an element that is due, unless less than
GRACE has passed since a call was left out; each element left once.
Mutants, each of which must be rejected:
  NO_APPOINT    whoever leaves with an element appoints nobody
  NO_APPOINT_ON_THROW  whoever leaves interrupted or out of time appoints nobody
  KEEP_LEADER   a leader that leaves stays the leader
  NO_WAKE_LEADER   an earlier head does not wake the leader
  NOBODY_LEADS     whoever goes to sleep first does not lead
  KEEP_CALLED   whoever was called to lead counts as called for ever
  KEEP_DEPUTY   a deputy that leaves stays the deputy
  ALWAYS_COVERED   a quick element is taken without a call, deputy or not
  ANY_DEPUTY    the same, however long the deputy sleeps
Configurations:
  -DTAKERS=2 -DPUTS=2
  -DTAKERS=2 -DPUTS=2 -DSCHEDULER
  wide -DTAKERS=3 -DPUTS=2 -DSCHEDULER
  wide -DTAKERS=3 -DPUTS=3 -DSCHEDULER
  wide -DTAKERS=3 -DPUTS=2
  wide -DTAKERS=3 -DPUTS=3
*/

#define nobody 9
#define never 99
#ifdef SCHEDULER
#define GRACE 1
#else
#define GRACE 0
#endif
#define BACK (PUTS + 1)           /* the time of what is put back */
#define LAST (BACK + GRACE)       /* the clock stops here at the latest */

bool in_heap[BACK + 1] = false;   /* the element due at this time, 1 .. BACK */
byte left[BACK + 1] = 0;
bool was_put_back = false;
byte now = 0;
bool listed[TAKERS] = false;
bool woken[TAKERS] = false;
bool interrupted[TAKERS] = false;
byte leader = nobody;
byte called = nobody;
byte deputy = nobody;
byte until2 = 0;
byte relied = 0;                  /* the deputy is relied on to look by then */
byte ended = 0;
bool asleep_for_good = false;    /* judged: who sleeps now may go */

/* - the heap: the earliest, or never */
inline head(h) {
    h = 1;
    do
    :: h > BACK -> h = never; break
    :: h <= BACK && in_heap[h] -> break
    :: h <= BACK && !in_heap[h] -> h++
    od
}

/* in src/timer_queue.cpp, call(); include/cadre/queue/delay_queue.hpp, release() */
inline wake(who) {
    listed[who] = false; woken[who] = true;                /* = waiters_.remove(w) */
#ifdef SCHEDULER
    /* in src/timer_queue.cpp, call() */
    called = who                                           /* = called_ = &w */
#endif
}

/* in src/timer_queue.cpp, appoint_leader(); include/cadre/queue/delay_queue.hpp, appoint_leader() */
/* = *waiters_.front() */
inline wake_any() {               /* whoever has waited longest, here: any */
    if
    :: listed[0] -> wake(0)
    :: listed[1] -> wake(1)
#if TAKERS > 2
    :: listed[2] -> wake(2)
#endif
    :: else
    fi
}

/* in src/timer_queue.cpp, appoint_leader(); include/cadre/queue/delay_queue.hpp, appoint_leader() */
inline appoint_leader(h) {
    /* = if (leader_ || called_ || timers_.empty() || waiters_.empty()) return
      or if (leader_ || heap_.empty() || waiters_.empty()) return */
    head(h);
    if :: leader == nobody && called == nobody && h != never -> wake_any() :: else fi
}

/* in src/timer_queue.cpp, wake_leader(); include/cadre/queue/delay_queue.hpp, offer() */
inline wake_leader(h) {
    if
    :: leader != nobody ->                                 /* = if (leader_) */
#ifndef NO_WAKE_LEADER
        wake(leader);                                      /* = *std::exchange(leader_, nullptr), wake) */
        leader = nobody                                    /* = std::exchange(leader_, nullptr) */
#else
        skip
#endif
    :: leader == nobody -> appoint_leader(h)               /* = appoint_leader(wake) */
    fi
}

#if defined ALWAYS_COVERED
#define covered(from) true
#elif defined ANY_DEPUTY
#define covered(from) (deputy != nobody)
#else
#define covered(from) (deputy != nobody && until2 <= (from) + GRACE)
#endif

/* By whoever took an element that is quick. */
/* in src/timer_queue.cpp, requeue() */
inline put_back(h, due) {
    head(h);                                               /* - whether it is the head */
    due = (now > BACK -> now : BACK);                      /* = std::max(due, seen_now_) */
    was_put_back = true;                                   /* - the model's */
    in_heap[BACK] = true;                                  /* = put_in(timer, due) */
    if
    /* = if (must_look && (leader_ || !is_quick(timer) || !is_covered(needed_at))) */
    :: h > BACK && (leader != nobody || !covered(due)) -> wake_leader(h)
    :: h > BACK && leader == nobody && covered(due) ->
        /* - the test */
        relied = (relied > due + GRACE -> relied : due + GRACE)
    :: else
    fi
}

/* in src/timer_queue.cpp, poll_until(), wait_for_head(), take_head();
      include/cadre/queue/delay_queue.hpp, poll_for(), wait_for_head() */
proctype taker(byte me) {
    byte h; byte until; bool timed; bool asleep; bool quick = false; bool was_deputy = false; bool leaves;
    if :: timed = true :: timed = false fi;                /* - the caller: poll_until() at 1, or take() */
    if :: interrupted[me] -> goto out :: else fi;          /* = throw_if_interrupted() */
    do
    :: atomic {
           asleep = false;                                 /* - the model's */
           listed[me] = false;                             /* - park(), see synchronous.pml */
           /* - the scheduler: was_deputy = deputy_ == &self && !was_woken */
           was_deputy = (deputy == me && !woken[me]);
#ifndef KEEP_LEADER
           /* = if (leader_ == &self) leader_ = nullptr */
           if :: leader == me -> leader = nobody :: else fi;
#endif
#ifndef KEEP_DEPUTY
           /* - the scheduler: if (deputy_ == &self) deputy_ = nullptr */
           if :: deputy == me -> deputy = nobody :: else fi;
#endif
#ifndef KEEP_CALLED
           /* - the scheduler: if (called_ == &self) called_ = nullptr */
           if :: called == me -> called = nobody :: else fi;
#endif
           head(h);                                        /* = is_due() */
           leaves = false;                                 /* - the model's */
#ifdef SCHEDULER
           /* - the scheduler: is_in_good_hands(); a quick one */
           if
           :: h != never && was_deputy && now < h + GRACE ->
               leaves = true; relied = (relied > h + GRACE -> relied : h + GRACE)
           :: true
           fi;
#endif
           if
           :: h <= now && !leaves ->                       /* = return take_head() or while (!is_due()) */
               in_heap[h] = false; left[h]++;              /* = take_out(*timers_.front().timer) or heap_.pop() */
               if
#ifdef SCHEDULER
               /* - the scheduler: if (!is_quick(*head.timer) || !is_covered(seen_now_)) appoint_leader(wake) */
               :: covered(now) -> quick = true; relied = now + GRACE
#endif
               :: true ->
#ifndef NO_APPOINT
                   appoint_leader(h)                       /* = appoint_leader(wake); return */
#endif
               fi
           :: (h > now || leaves) && (interrupted[me]      /* = self.thread->throw_if_interrupted() */
                          || (timed && now >= 1)) ->       /* = real_now >= deadline) return {}
                                                               or now() >= deadline) return std::nullopt */
#ifndef NO_APPOINT_ON_THROW
               appoint_leader(h)                           /* = appoint_leader(wake); throw */
#else
               skip
#endif
           :: else ->
               asleep = true;                              /* - the model's */
               until = (timed -> 1 : never);               /* = auto until = deadline */
#ifndef NOBODY_LEADS
               /* = else if (!leader_ && !stays_deputy) or if (!leader_ && !heap_.empty()) */
               if :: leader == nobody && h != never && !leaves ->
                      leader = me;                         /* = leader_ = &self */
                      /* = until = std::min(until, leads_until(real_now))
                        or until = std::min<detail::steady_time>(until, heap_.front().time_point()) */
                      if :: h < until -> until = h :: else fi
#ifdef SCHEDULER
                  /* - the scheduler: if (!deputy_ && is_quick(*timers_.front().timer)) */
                  :: (leader != nobody || leaves) && deputy == nobody && h != never ->
                      deputy = me; if :: h + GRACE < until -> until = h + GRACE :: else fi;
                      until2 = until
                  :: leader != nobody                   /* the head is not quick */
#endif
                  :: else
               fi;
#endif
               listed[me] = true; woken[me] = false        /* = waiters_.push_back(self) */
           fi
       };
       if
       :: asleep ->                                        /* - the model's */
               if                                          /* = waiters_.park(self, lock, until) */
               :: woken[me]                                /* - see parker.pml */
               :: interrupted[me]                          /* - the same */
               :: now >= until                             /* - the same */
               :: asleep_for_good -> break                 /* - the test */
               fi
       :: else -> break
       fi
    od;
    /* - the worker, when it has run a periodic task */
    atomic { if :: quick && !was_put_back -> put_back(h, until) :: true fi };
out:
    ended++                                                /* - counted */
}

/* in src/timer_queue.cpp, put_in(), insert(); include/cadre/queue/delay_queue.hpp, offer() */
proctype putter(byte due) {
    byte h;
    atomic {
        head(h);                                           /* = is_first or heap_.front() */
        in_heap[due] = true;                               /* = timers_.insert( or heap_.push(std::move(x)) */
        /* = if (must_look) wake_leader(wake) or if (leader_) */
        if :: h > due -> wake_leader(h) :: else fi
    }
}

/* Takes out an element, whether it is the head or not. */
/* in src/timer_queue.cpp, remove(), take_out(); include/cadre/queue/delay_queue.hpp, extract_if() */
proctype remover() {
    atomic {
        /* = timers_.remove(timer) or heap_.extract_if(wanted, out, max) */
        if :: in_heap[1] -> in_heap[1] = false; left[1]++
           :: in_heap[2] -> in_heap[2] = false; left[2]++
           :: skip
        fi
    }
}

/* - others */
proctype interrupter() {
    if :: interrupted[0] = true :: interrupted[1] = true :: skip fi
}

/* - it may stand still any time */
proctype clock() { do :: now < LAST -> now++ :: break od }

/* When nothing moves any more, whoever sleeps sleeps beside nothing that is due. */
/* - the test */
proctype judge() {
    byte h;
    timeout ->
    atomic {
        head(h);
        assert(ended == TAKERS || h > now || relied > now);
        assert(left[1] <= 1 && left[2] <= 1)
    };
    asleep_for_good = true
}

/* - who takes part */
init {
    atomic {
        run taker(0); run taker(1);
#if TAKERS > 2
        run taker(2);
#endif
        run putter(1); run putter(2);
#if PUTS > 2
        run putter(3);
#endif
        run remover(); run interrupter(); run clock(); run judge()
    }
}
