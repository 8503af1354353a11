/* SPDX-License-Identifier: Apache-2.0

Leader and followers: takers wait for the head of a queue of times; one of them, the leader, sleeps
until the head is due, the others without a time. Elements come in any order, are removed, takers are
interrupted or run out of time; a due element never has only sleepers.

  here                     in the code: timer_queue.cpp, and the same in delay_queue.hpp
  atomic blocks            timer_queue::mutex_ held
  in_heap                  timer_queue::timers_
  taker                    poll_until(), wait_for_head()
  appoint_leader()         appoint_leader()
  putter                   put_in() -> wake_leader(); in the code also for the first by the wall clock
  remover                  remove(), take_out(): the head may go while the leader sleeps for it
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

inline head(h) {                  /* the earliest, or never */
    h = 1;
    do
    :: h > PUTS -> h = never; break
    :: h <= PUTS && in_heap[h] -> break
    :: h <= PUTS && !in_heap[h] -> h++
    od
}
/* whoever has waited longest, here: any */
inline wake_any() {
    if
    :: listed[0] -> listed[0] = false; woken[0] = true
    :: listed[1] -> listed[1] = false; woken[1] = true
#if TAKERS > 2
    :: listed[2] -> listed[2] = false; woken[2] = true
#endif
    :: else
    fi
}
inline appoint_leader(h) {
    head(h);
    if :: leader == nobody && h != never -> wake_any() :: else fi
}

proctype taker(byte me) {
    byte h; byte until; bool timed; bool asleep;
    if :: timed = true :: timed = false fi;
    do
    :: atomic {
           asleep = false;
           listed[me] = false;
#ifndef KEEP_LEADER
           if :: leader == me -> leader = nobody :: else fi;
#endif
           head(h);
           if
           :: h <= now -> in_heap[h] = false; left[h]++;
#ifndef NO_APPOINT
               appoint_leader(h)
#endif
           :: h > now && (interrupted[me] || (timed && now >= 1)) ->
#ifndef NO_APPOINT_ON_THROW
               appoint_leader(h)
#else
               skip
#endif
           :: else ->
               asleep = true;
               until = (timed -> 1 : never);
#ifndef NOBODY_LEADS
               if :: leader == nobody && h != never ->
                      leader = me; if :: h < until -> until = h :: else fi
                  :: else
               fi;
#endif
               listed[me] = true; woken[me] = false
           fi
       };
       if
       :: asleep ->
               if
               :: woken[me]
               :: interrupted[me]
               :: now >= until
               :: asleep_for_good -> break
               fi
       :: else -> break
       fi
    od;
    ended++
}

proctype putter(byte due) {
    byte h;
    atomic {
        head(h);
        in_heap[due] = true;
        if
        :: h > due && leader != nobody ->
#ifndef NO_WAKE_LEADER
            listed[leader] = false; woken[leader] = true;
            leader = nobody
#else
            skip
#endif
        :: h > due && leader == nobody -> appoint_leader(h)
        :: else
        fi
    }
}

/* Takes out an element, whether it is the head or not. */
proctype remover() {
    atomic {
        if :: in_heap[1] -> in_heap[1] = false; left[1]++
           :: in_heap[2] -> in_heap[2] = false; left[2]++
           :: skip
        fi
    }
}

proctype interrupter() {
    if :: interrupted[0] = true :: interrupted[1] = true :: skip fi
}

proctype clock() { do :: now < LAST -> now++ :: break od }    /* it may stand still any time */

/* When nothing moves any more, whoever sleeps sleeps beside nothing that is due. */
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
