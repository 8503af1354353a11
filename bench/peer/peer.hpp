// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "footprint_work.hpp"
#include "latency_work.hpp"
#include "pool_work.hpp"
#include "timer_work.hpp"
#include "wire.hpp"

namespace bench {

/// A program that plays workloads when the harness asks it to; the protocol is told in
/// bench/README.md. An adapter says what it can play by giving its pool, its timers, or both:
///
///     bench::peer bench::this_peer() {
///         return bench::peer("Frob 1.2").pool<frob_pool>().timers<frob_timers>();
///     }
class peer {
public:
    explicit peer(std::string version) : version_(std::move(version)) {}

    /// Pool(int workers), or Pool(int workers, bench::room) if it must know how many tasks
    /// will be queued at most, with
    ///   execute(f)            runs f: all workloads but W2, W5b and W7
    ///   submit(f)             the same, with a result that has get(): W2, W5b
    ///   execute_bulk(f, n)    runs n copies of f: W1 and W3 then give 32 at a time
    ///   cannot_queue_all      if it is there: runs tasks in the caller when many are queued
    ///   most_submits          if it is there: so many tasks are enough for W2
    /// Its destructor ends it, with or without waiting for tasks.
    template <class Pool>
    peer& pool() {
        if constexpr (requires(Pool & p) { p.execute([] {}); }) {
            play("W1", play_execute<Pool>);
            play("W3", play_execute<Pool>);
            play("W4", play_nested<Pool>);
            play("W5a", play_start<Pool>);
            play("W6", play_work<Pool>);
            if constexpr (!requires { Pool::cannot_queue_all; }) play("W9a", play_queued<Pool>);
            play("W9b", play_idle<Pool>);
            play("W10", play_life<Pool>);
        }
        if constexpr (requires(Pool & p) { p.submit([] { return 1; }).get(); }) {
            play("W2", play_submit<Pool>);
            play("W5b", play_round_trip<Pool>);
        }
        return *this;
    }
    /// Pool(int workers, int capacity), whose execute(f) runs f itself when the queue is full.
    template <class Pool>
    peer& caller_runs() {
        return play("W7a", play_bounded<Pool>);
    }
    /// Pool(int workers, int capacity), whose execute(f) waits for a place in the queue.
    template <class Pool>
    peer& blocking() {
        return play("W7b", play_bounded<Pool>);
    }
    /// Timers(int workers) with
    ///   handle                a type that can be moved
    ///   after(delay, f)       runs f once, returns a handle
    ///   every(period, f)      runs f after one period and at each next, returns a handle
    ///   cancel(handle&)
    ///   settle()              waits until nothing is left of timers that ran or were cancelled
    ///   stop()                cancels all; nothing runs any more when it returns
    template <class Timers>
    peer& timers() {
        play("W8a", play_churn<Timers>);
        play("W8b", play_lateness<Timers>);
        play("W8c", play_periodic<Timers>);
        return *this;
    }

    using workload = std::function<answer(const request&)>;
    /// Anything else.
    peer& play(const std::string& name, workload how) {
        workloads_[name] = std::move(how);
        return *this;
    }

    /// Answers until the end of the input; returns what main() returns.
    int serve();

private:
    const std::string version_;
    std::map<std::string, workload> workloads_;
};

/// Defined by each adapter.
peer this_peer();

}  // namespace bench
