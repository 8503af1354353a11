// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cadre/cadre.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/ledger.hpp"

namespace cadre::testing {

/// A pool with something to do, and the ledger of what it was given.
struct subject {
    ledger tasks{64};
    std::size_t next = 0;
    std::atomic<bool> held = false;  // true: those who hold() wait
    thread_pool_executor pool{{.core_pool_size = 1,
                               .maximum_pool_size = 2,
                               .queue = std::make_unique<linked_blocking_queue<task>>(8),
                               .hooks = {.uncaught_exception = [](auto&&...) {}},
                               .remove_on_cancel = true,
                               .name = "a name that is longer than what fits into a string"}};
    scheduled_thread_pool_executor timers{1};
    work_stealing_pool stealing{{.parallelism = 1}};
    strand line{pool};
    keyed_strands<std::string> lines{pool};
    future<int> ready = pool.submit([] { return 1; });

    /// Number of a task that is about to be given away; accepted if the call returns.
    template <class Give>
    void give(Give away) {
        const std::size_t number = next++;
        away(tasks.task(number));
        tasks.accept(number);
    }
    /// The same with one that the call, or the end, may drop.
    template <class Give>
    void give_to_be_dropped(Give away) {
        tasks.call_off(next);
        give(away);
    }
    /// Occupies a worker, whatever interrupts come, until check(): what is given now waits.
    void hold(executor& where) {
        held = true;
        std::atomic<bool> started = false;
        where.execute([this, &started] {
            started = true;
            while (held) std::this_thread::yield();
        });
        while (!started) std::this_thread::yield();
    }
};

struct entry_point {
    std::string name;
    std::function<void(subject&)> call;
    std::function<void(subject&)> prepare = [](subject&) {};  ///< before, without faults
};
/// One that needs no pool.
struct plain_entry_point {
    std::string name;
    std::function<void()> call;
};

// All of the public API that may allocate, or might one day.

/// Pools and what they are told.
std::vector<entry_point> pool_entry_points();
/// What looks at, returns or drops tasks that wait.
std::vector<entry_point> queued_entry_points();
/// What is built on pools and futures, and what changes them.
std::vector<entry_point> other_entry_points();
/// Senders, Asio, coroutines.
std::vector<entry_point> bridge_entry_points();
/// Queues, tasks, futures and times by themselves.
std::vector<plain_entry_point> plain_entry_points();

}  // namespace cadre::testing
