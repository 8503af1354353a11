// SPDX-License-Identifier: Apache-2.0
//
// main() returns while pools with queued and periodic work are global, local to a function and
// local to a thread: their destructors run what was accepted, and the process ends with status 0.

#include <cadre/cadre.hpp>

#include <array>
#include <atomic>
#include <cstdlib>
#include <iostream>

using namespace std::chrono_literals;

namespace {

constexpr int tasks = 200;
std::atomic<int> runs = 0;

/// What the last destructor finds: made first, so destroyed after every pool below.
struct books {
    ~books() {
        std::cout << runs << " tasks ran before 6 pools were gone at exit\n" << std::flush;
        if (runs == 3 * tasks) return;
        std::cerr << runs << " tasks ran at exit, not " << 3 * tasks << '\n';
        std::_Exit(1);
    }
} check_at_the_end;

struct pools {
    cadre::thread_pool_executor workers{{.core_pool_size = 2}};
    cadre::scheduled_thread_pool_executor timers{{.core_pool_size = 1}};
    std::array<int, 1000> used_by_tasks = {};

    void start() {
        for (int i = 0; i < tasks; ++i) workers.execute([] { ++runs; });
        timers.schedule_at_fixed_rate([this] { ++used_by_tasks[0]; }, 0ms, 1ms);
    }
    ~pools() {  // the members that tasks use go after the pools: these are closed here
        timers.close();
        workers.close();
    }
} global;

pools& of_a_function() {
    static pools local;
    return local;
}

thread_local pools of_a_thread;

}  // namespace

int main() {
    global.start();
    of_a_function().start();
    of_a_thread.start();
}
