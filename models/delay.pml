/* SPDX-License-Identifier: Apache-2.0

Leader and followers: takers wait for the head of a queue of times; one of them, the leader, sleeps
until the head is due, the others without a time. Elements come in any order, are removed, takers are
interrupted or run out of time; a due element never has only sleepers.

  here                     in the code: timer_queue.cpp, and the same in delay_queue.hpp
  atomic blocks            mutex_ held
  in_heap                  timers_; heap_
  taker                    poll_until(), wait_for_head()
  appoint_leader()         appoint_leader()
  putter                   put_in() -> wake_leader(); offer(). In the code also for the first by the
                           wall clock, and when a clock was set: time_changed()
  remover                  remove(), take_out(); extract_if(): the head may go while the leader sleeps for it
  listed, leader, woken    waiters_, leader_, waiter::woken
  now                      the steady clock

Checked: whenever nothing moves but the clock, nobody sleeps beside an element that is due; each element
left once.
Mutants, each of which must be rejected:
  NO_APPOINT    whoever leaves with an element appoints nobody
  NO_APPOINT_ON_THROW  whoever leaves interrupted or out of time appoints nobody
  KEEP_LEADER   a leader that leaves stays the leader
  NO_WAKE_LEADER   an earlier head does not wake the leader
  NOBODY_LEADS     whoever goes to sleep first does not lead
Configurations:
  -DTAKERS=2 -DPUTS=2
  wide -DTAKERS=3 -DPUTS=2
  wide -DTAKERS=3 -DPUTS=3
*/

#define nobody 9
#define never 99
#define LAST 3                    /* the clock stops here at the latest */

bool in_heap[PUTS + 1] = false;   /* the element due at this time, 1 .. PUTS */
byte left[PUTS + 1] = 0;
byte now = 0;
bool listed[TAKERS] = false;
bool woken[TAKERS] = false;
bool interrupted[TAKERS] = false;
byte leader = nobody;
byte ended = 0;
bool asleep_for_good = false;    /* judged: who sleeps now may go */

/* - the heap: the earliest, or never */
inline head(h) {
    h = 1;
    do
    :: h > PUTS -> h = never; break
    :: h <= PUTS && in_heap[h] -> break
    :: h <= PUTS && !in_heap[h] -> h++
    od
}

/* in src/timer_queue.cpp, appoint_leader(); include/cadre/queue/delay_queue.hpp, appoint_leader() */
/* = *waiters_.front() */
inline wake_any() {               /* whoever has waited longest, here: any */
    if
    :: listed[0] -> listed[0] = false; woken[0] = true
    :: listed[1] -> listed[1] = false; woken[1] = true
#if TAKERS > 2
    :: listed[2] -> listed[2] = false; woken[2] = true
#endif
    :: else
    fi
}

/* in src/timer_queue.cpp, appoint_leader(); include/cadre/queue/delay_queue.hpp, appoint_leader() */
inline appoint_leader(h) {
    /* = if (leader_ || timers_.empty() || waiters_.empty()) return
      or if (leader_ || heap_.empty() || waiters_.empty()) return */
    head(h);
    if :: leader == nobody && h != never -> wake_any() :: else fi
}

/* in src/timer_queue.cpp, poll_until(), wait_for_head(), take_head();
      include/cadre/queue/delay_queue.hpp, poll_for(), wait_for_head() */
proctype taker(byte me) {
    byte h; byte until; bool timed; bool asleep;
    if :: timed = true :: timed = false fi;                /* - the caller: poll_until() at 1, or take() */
    if :: interrupted[me] -> goto out :: else fi;          /* = current().throw_if_interrupted() */
    do
    :: atomic {
           asleep = false;                                 /* - the model's */
           listed[me] = false;                             /* - park(), see synchronous.pml */
#ifndef KEEP_LEADER
           /* = if (leader_ == &self) leader_ = nullptr */
           if :: leader == me -> leader = nobody :: else fi;
#endif
           head(h);                                        /* = is_due() */
           if
           :: h <= now ->                                  /* = return take_head() or while (!is_due()) */
               in_heap[h] = false; left[h]++;              /* = take_out(*timers_.front().timer) or heap_.pop() */
#ifndef NO_APPOINT
               appoint_leader(h)                           /* = appoint_leader(wake); return */
#endif
           :: h > now && (interrupted[me]                  /* = self.thread->throw_if_interrupted() */
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
               /* = if (!leader_ && !timers_.empty()) or if (!leader_ && !heap_.empty()) */
               if :: leader == nobody && h != never ->
                      leader = me;                         /* = leader_ = &self */
                      /* = until = std::min(until, clock_.real_time_of(timers_.front().due))
                        or until = std::min<detail::steady_time>(until, heap_.front().time_point()) */
                      if :: h < until -> until = h :: else fi
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
out:
    ended++                                                /* - counted */
}

/* in src/timer_queue.cpp, put_in(), wake_leader(); include/cadre/queue/delay_queue.hpp, offer(), release() */
proctype putter(byte due) {
    byte h;
    atomic {
        head(h);                                           /* = timers_.front().timer or heap_.front() */
        in_heap[due] = true;                               /* = timers_.insert( or heap_.push(std::move(x)) */
        if
        :: h > due && leader != nobody ->                  /* = if (!leader_) or if (leader_) */
#ifndef NO_WAKE_LEADER
            listed[leader] = false; woken[leader] = true;  /* = waiters_.remove(old); wake.wake(old)
                                                             or waiters_.remove(w); wake.wake(w) */
            leader = nobody                                /* = *std::exchange(leader_, nullptr) */
#else
            skip
#endif
        :: h > due && leader == nobody -> appoint_leader(h)         /* = appoint_leader(wake) */
        :: else                                            /* - not the head */
        fi
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
        assert(ended == TAKERS || h > now);
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
