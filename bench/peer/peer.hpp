// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

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

    /// Pool(int workers) with execute(f), and with submit(f), whose result has get(), for W2. Its
    /// destructor ends it.
    template <class Pool>
    peer& pool() {
        play("W1", play_execute<Pool>);
        play("W3", play_execute<Pool>);
        if constexpr (requires(Pool & p) { p.submit([] { return 1; }).get(); })
            play("W2", play_submit<Pool>);
        return *this;
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

    /// Answers until the end of the input; returns what main() returns.
    int serve();

private:
    using workload = std::function<answer(const request&)>;
    void play(const std::string& name, workload how) { workloads_[name] = std::move(how); }

    const std::string version_;
    std::map<std::string, workload> workloads_;
};

/// Defined by each adapter.
peer this_peer();

}  // namespace bench
