// SPDX-License-Identifier: Apache-2.0
//
// Pools where the system gives no more threads: by RLIMIT_NPROC, by a control group, by want of
// address space; and a pool of as many threads as the argument says. Whatever is refused, what was
// accepted runs, once, and the pool takes tasks again and ends. Tells what the system allowed.

#include <cadre/cadre.hpp>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <future>
#include <iostream>
#include <string>
#include <thread>

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/control_group.hpp"

namespace {

void expect(bool fact, const char* what) {
    if (fact) return;
    std::cerr << "failed: " << what << '\n';
    std::_Exit(1);
}

bool takes_a_task(cadre::executor_service& pool) {
    try {
        return pool.submit([] { return true; }).get();
    } catch (const cadre::rejected_execution&) {
        return false;  // no thread is idle yet, and none can be made
    }
}

/// Holds so many tasks at once, or as many as threads can be had; returns how many that were.
int hold_at_once(int wanted) {
    auto pool = cadre::executors::cached_thread_pool(
        cadre::named_thread_factory("held", {.stack_size = std::size_t{64} * 1024}));
    std::promise<void> gate;
    const std::shared_future<void> let_go = gate.get_future().share();
    std::atomic<int> runs = 0;
    int accepted = 0;
    try {
        for (; accepted < wanted; ++accepted)
            pool->execute([&, let_go] {
                let_go.wait();
                ++runs;
            });
    } catch (const cadre::rejected_execution&) {}
    gate.set_value();
    while (accepted > 0 && !takes_a_task(*pool)) std::this_thread::yield();
    pool->close();
    expect(runs == accepted, "what was accepted ran once");
    return accepted;
}

/// In a process of its own, whose status is the result. False if it says that it could not try.
bool in_child(const std::function<bool()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body() ? 0 : 77);
    int status = 0;
    while (waitpid(child, &status, 0) != child) {}
    expect(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77),
           "a process at its limit");
    return WEXITSTATUS(status) == 0;
}

bool at_the_limit_of_a_user() {
    constexpr uid_t nobody_else = 54321;
    rlimit limit{10, 10};
    if (setuid(nobody_else) != 0 || setrlimit(RLIMIT_NPROC, &limit) != 0) return false;
    const int held = hold_at_once(200);
    std::cout << "RLIMIT_NPROC 10: " << held << " threads" << std::endl;
    return held < 200;
}

bool at_the_limit_of(const cadre::testing::control_group& group) {
    if (!group.limit_threads("12") || !group.enter()) return false;
    const int held = hold_at_once(200);
    std::cout << "pids.max 12: " << held << " threads" << std::endl;
    expect(group.limit_threads("max"), "the limit is lifted");
    expect(hold_at_once(40) == 40, "it has threads again");
    return held < 200;
}

bool at_the_limit_of_a_control_group() {
    const cadre::testing::control_group group;
    return group.is_there() && in_child([&] { return at_the_limit_of(group); });
}

}  // namespace

int main(int, char** arguments) {
    const bool by_user = in_child(at_the_limit_of_a_user);
    const bool by_group = at_the_limit_of_a_control_group();
    const int wanted = std::atoi(arguments[1]);
    const int held = hold_at_once(wanted);
    std::cout << "of " << wanted << " threads at once: " << held << "; RLIMIT_NPROC "
              << (by_user ? "kept" : "not to be had here") << ", control group "
              << (by_group ? "kept" : "not to be had here") << std::endl;
    expect(held == wanted, "as many threads as were wanted");
}
