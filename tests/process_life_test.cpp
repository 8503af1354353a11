// SPDX-License-Identifier: Apache-2.0
//
// Pools in a process that forks, is stopped and is sent signals. Not under ThreadSanitizer, whose
// runtime ends a forked child that makes threads.

#include <cadre/cadre.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/held_task.hpp"
#include "support/pools.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"

#if !defined(__SANITIZE_THREAD__)

namespace cadre::testing {
namespace {

/// CADRE_STRESS_SCALE times as many, if that is set.
[[maybe_unused]] int scaled(int rounds) {
    const char* scale = std::getenv("CADRE_STRESS_SCALE");
    return scale ? static_cast<int>(rounds * std::atof(scale)) : rounds;
}

/// Runs `child` in a forked process, which ends with what that returns. A child that hangs is ended
/// by the alarm. -1 if it ended by a signal.
int in_child(const std::function<int()>& child) {
    const pid_t id = fork();
    if (id == 0) {
        alarm(60);
        _exit(child());
    }
    int status = 0;
    while (waitpid(id, &status, 0) != id) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <class Call>
bool is_illegal(Call call) {
    try {
        call();
    } catch (const illegal_state&) {
        return true;
    }
    return false;
}

// RE-12
TEST(process_life, a_forked_child_that_uses_the_pool_of_its_parent_is_told) {
    thread_pool_executor pool({.core_pool_size = 2});
    scheduled_thread_pool_executor timers({.core_pool_size = 1});
    pool.submit([] {}).get();
    EXPECT_EQ(in_child([&] {
                  if (!is_illegal([&] { pool.execute([] {}); })) return 1;
                  if (!is_illegal([&] { (void)pool.submit([] { return 1; }); })) return 2;
                  if (!is_illegal([&] { (void)timers.schedule([] {}, 1s); })) return 3;
                  if (!is_illegal([&] { pool.close(); })) return 4;
                  if (!is_illegal([&] { (void)pool.await_termination(1h); })) return 5;
                  return 0;
              }),
              0);
    EXPECT_EQ(pool.submit([] { return 7; }).get(), 7) << "the parent is unharmed";
    EXPECT_EQ(timers.schedule([] { return 7; }, 1ms).get(), 7);
}

// RE-12
TEST(process_life, a_forked_child_makes_no_threads_for_the_pool_of_its_parent) {
    thread_pool_executor pool({.core_pool_size = 1, .maximum_pool_size = 4});
    scheduled_thread_pool_executor timers({.core_pool_size = 1});
    auto timer = timers.schedule([] {}, 1h);
    held_tasks held(pool, 1);
    ASSERT_TRUE(held.have_started(1));
    int runs = 0;
    auto queued = pool.submit([&] { return ++runs; });
    EXPECT_EQ(in_child([&] {
                  if (!is_illegal([&] { pool.set_core_pool_size(2); })) return 1;
                  if (!is_illegal([&] { pool.resize(2, 2); })) return 2;
                  if (!is_illegal([&] { pool.set_maximum_pool_size(2); })) return 3;
                  if (!is_illegal([&] { (void)pool.prestart_core_thread(); })) return 4;
                  if (!is_illegal([&] { (void)pool.prestart_all_core_threads(); })) return 5;
                  if (!is_illegal([&] { pool.set_keep_alive(1s); })) return 6;
                  if (!is_illegal([&] { pool.purge(); })) return 7;
                  if (!is_illegal([&] { (void)pool.remove(queued); })) return 8;
                  if (!is_illegal([&] { (void)pool.snapshot(); })) return 9;
                  if (!is_illegal([&] { (void)timers.prestart_core_thread(); })) return 10;
                  if (!is_illegal([&] { (void)timers.remove(timer); })) return 11;
                  return pool.core_pool_size() == 1 && pool.maximum_pool_size() == 4 ? 0 : 12;
              }),
              0);
    held.let_go();
    EXPECT_EQ(queued.get(), 1) << "the parent is unharmed";
    timers.shutdown_now();
}

// RE-12
TEST(process_life, a_forked_child_that_waits_for_a_task_of_its_parent_is_told) {
    thread_pool_executor pool({.core_pool_size = 1});
    scheduled_thread_pool_executor timers({.core_pool_size = 1});
    auto done = pool.submit([] { return 7; });
    done.wait();
    held_task held(pool);
    auto pending = pool.submit([] { return 1; });
    auto next = pool.submit([] { return 1; }).then([](int n) { return n; });
    auto later = timers.schedule([] {}, 1h);
    future_task own([] { return 8; });
    EXPECT_EQ(in_child([&] {
                  if (done.get() != 7) return 1;
                  if (!is_illegal([&] { (void)pending.get(); })) return 2;
                  if (!is_illegal([&] { (void)pending.wait_for(1h); })) return 3;
                  if (!is_illegal([&] { (void)next.get(); })) return 4;
                  if (!is_illegal([&] { later.get(); })) return 5;
                  auto result = own.get_future();
                  own();
                  return result.get() == 8 ? 0 : 6;
              }),
              0);
    later.cancel();
}

// RE-13
TEST(process_life, a_child_forked_while_a_scheduler_is_locked_can_ask_for_the_times_of_its_tasks) {
    scheduled_thread_pool_executor timers({.core_pool_size = 1});
    auto later = timers.schedule([] {}, 1h);
    std::promise<void> locked;
    std::promise<void> let_go;
    std::thread looks([&] {
        timers.queue().for_each([&](const task&) {  // under the lock
            locked.set_value();
            let_go.get_future().wait();
        });
    });
    locked.get_future().wait();
    EXPECT_EQ(in_child([&] {
                  alarm(5);
                  return !later.next_run() && later.delay() == 0s ? 0 : 1;
              }),
              0);
    let_go.set_value();
    looks.join();
    later.cancel();
}

TEST(process_life, a_forked_child_may_destroy_the_pool_of_its_parent) {
    auto pool = std::make_unique<thread_pool_executor>(thread_pool_options{.core_pool_size = 2});
    auto timers = executors::scheduled_thread_pool(1);
    held_tasks held(*pool, 2);
    ASSERT_TRUE(held.have_started(2));
    EXPECT_EQ(in_child([&] {
                  pool.reset();
                  timers.reset();
                  return 0;
              }),
              0);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CADRE_ASAN_LOCKS_AT_FORK
#endif
#endif
#ifndef CADRE_ASAN_LOCKS_AT_FORK  // its allocator's locks stay locked in the child

// RE-13
TEST(process_life, a_child_forked_from_busy_pools_can_make_and_use_its_own) {
    std::atomic<bool> over = false;
    thread_pool_executor busy({.core_pool_size = 2, .keep_alive = 1us});
    busy.allow_core_thread_time_out(true);
    std::thread churn([&] {
        while (!over) busy.submit([] {}).get();
    });
    for (int round = scaled(30); round > 0; --round)
        EXPECT_EQ(in_child([] {
                      thread_pool_executor own({.core_pool_size = 2});
                      return own.submit([] { return 7; }).get() == 7 ? 0 : 1;
                  }),
                  0);
    over = true;
    churn.join();
}

// RE-13
TEST(process_life, a_child_forked_while_contexts_are_captured_can_submit_tasks) {
    const auto carried = carry_context([] { return 1; }, [](int) {});
    std::atomic<bool> over = false;
    std::thread churn([&] {
        while (!over) detail::with_context([] {});
    });
    for (int round = scaled(100); round > 0 && !HasFailure(); --round)
        EXPECT_EQ(in_child([] {
                      alarm(5);
                      detail::with_context([] {});
                      return 0;
                  }),
                  0);
    over = true;
    churn.join();
}

// RE-13
TEST(process_life, a_child_forked_while_others_hold_its_thread_or_its_task_can_have_a_stop_token) {
    std::thread([] {
        auto& self = detail::thread_control::current();
        const auto handle = thread_handle::current();
        detail::stop_slot task;
        const detail::running_scope running(self, task);
        std::atomic<bool> over = false;
        std::thread asks([&] {
            while (!over) (void)handle.name();
        });
        std::thread stops([&] {
            while (!over) task.request_stop();
        });
        for (int round = scaled(100); round > 0 && !HasFailure(); --round)
            EXPECT_EQ(in_child([] {
                          alarm(5);
                          return this_thread::stop_token().stop_possible() ? 0 : 1;
                      }),
                      0);
        over = true;
        asks.join();
        stops.join();
        task.reset(self);
    }).join();
}

#endif

// RE-14
TEST(process_life, a_process_forked_by_a_task_has_the_signal_mask_of_who_made_the_thread) {
    thread_pool_executor pool({.core_pool_size = 1});
    const auto blocks = [] {
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        return sigismember(&mask, SIGTERM);
    };
    EXPECT_EQ(pool.submit(blocks).get(), 1) << "signals of the process go elsewhere";
    EXPECT_EQ(pool.submit([&] { return in_child(blocks); }).get(), 0);
}

// RE-14
TEST(process_life, the_successor_of_a_worker_hands_on_the_same_signal_mask) {
    thread_pool_executor pool(
        {.core_pool_size = 1, .hooks = {.uncaught_exception = [](auto&&...) {}}});
    pool.execute([] { throw 42; });  // the worker makes its successor, with signals blocked
    const auto ends_by_sigterm = [] {
        return in_child([] {
            raise(SIGTERM);
            return 0;
        });
    };
    EXPECT_EQ(pool.submit(ends_by_sigterm).get(), -1);
}

// RE-14
TEST(process_life, a_command_started_by_a_task_can_be_ended_by_a_signal_if_the_task_says_so) {
    thread_pool_executor pool({.core_pool_size = 1});
    const char* const command = "kill -TERM $$; exit 7";
    const int plain = pool.submit([&] { return std::system(command); }).get();
    const int with_scope = pool.submit([&] {
                                   const this_thread::original_signals_scope scope;
                                   return std::system(command);
                               })
                               .get();
    EXPECT_TRUE(WIFEXITED(plain) && WEXITSTATUS(plain) == 7) << "SIGTERM is blocked: " << plain;
    EXPECT_TRUE(WIFSIGNALED(with_scope) && WTERMSIG(with_scope) == SIGTERM) << with_scope;
    EXPECT_EQ(pool.submit([] {
                      sigset_t mask;
                      pthread_sigmask(SIG_SETMASK, nullptr, &mask);
                      return sigismember(&mask, SIGTERM);
                  })
                  .get(),
              1)
        << "the worker has its own mask again";
}

// The kernel gives a signal of the process to the main thread whenever that takes it, so as long as
// it does, no worker is ever chosen. It must not.
std::atomic<int> signals_received = 0;
std::atomic<int> signals_elsewhere = 0;

// RE-14
TEST(process_life, a_flood_of_signals_never_lands_on_a_worker) {
    signals_received = 0;
    signals_elsewhere = 0;
    struct sigaction act = {};
    struct sigaction before = {};
    act.sa_handler = [](int) {
        ++signals_received;
        if (gettid() != getpid()) ++signals_elsewhere;
    };
    sigaction(SIGUSR1, &act, &before);
    thread_pool_executor pool({.core_pool_size = 2});
    pool.prestart_all_core_threads();  // with the signal free, as the main thread still has it
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
    std::atomic<int> runs = 0;
    for (int i = 0; i < 10'000; ++i) {
        pool.execute([&] { ++runs; });
        kill(getpid(), SIGUSR1);
    }
    pool.close();
    EXPECT_EQ(signals_received, 0) << "there was nobody to take them";
    pthread_sigmask(SIG_UNBLOCK, &usr1, nullptr);  // now there is
    EXPECT_EQ(runs, 10'000);
    EXPECT_GT(signals_received, 0);
    EXPECT_EQ(signals_elsewhere, 0);
    sigaction(SIGUSR1, &before, nullptr);
}

// RE-16
TEST(process_life, a_thread_that_waits_for_signals_may_shut_pools_down) {
    EXPECT_EQ(in_child([] {
                  sigset_t wanted;
                  sigemptyset(&wanted);
                  sigaddset(&wanted, SIGTERM);
                  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
                  thread_pool_executor pool({.core_pool_size = 2});
                  pool.submit([] {}).get();
                  std::thread ender([&] {
                      int received = 0;
                      sigwait(&wanted, &received);
                      pool.shutdown();
                  });
                  kill(getpid(), SIGTERM);
                  ender.join();
                  return pool.await_termination(guard) ? 0 : 1;
              }),
              0);
}

// RE-15
TEST(process_life, a_process_that_is_stopped_again_and_again_loses_nothing) {
    constexpr int tasks = 200;
    constexpr int stops = 20;
    struct in_both_processes {
        std::atomic<int> runs = 0;
        std::atomic<bool> all_stops_made = false;
    };
    void* const memory = mmap(nullptr, sizeof(in_both_processes), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    auto& shared = *new (memory) in_both_processes;
    const pid_t id = fork();
    if (id == 0) {
        alarm(60);
        scheduled_thread_pool_executor timers({.core_pool_size = 2});
        std::vector<scheduled_future<void>> all;
        for (int i = 0; i < tasks; ++i)
            all.push_back(timers.schedule([&] { ++shared.runs; }, std::chrono::milliseconds(i)));
        for (auto& each : all) each.wait();
        const bool is_over = eventually([&] { return shared.all_stops_made.load(); });
        _exit(is_over && shared.runs == tasks ? 0 : 1);
    }
    int status = 0;
    for (int i = 0; i < stops; ++i) {
        EXPECT_TRUE(eventually([&] { return shared.runs >= i * tasks / stops; }));
        kill(id, SIGSTOP);
        ASSERT_EQ(waitpid(id, &status, WUNTRACED), id);
        ASSERT_TRUE(WIFSTOPPED(status)) << status;
        take_at_least(2ms);  // two tasks become due while nobody is there
        kill(id, SIGCONT);
    }
    shared.all_stops_made = true;
    while (waitpid(id, &status, 0) != id) {}
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    munmap(memory, sizeof(in_both_processes));
}

// Of the tests themselves: many rest on seeing whether a thread waits.
TEST(process_life, a_wait_with_a_time_limit_is_seen_as_one_also_after_a_stop) {
    const pid_t id = fork();
    if (id == 0) {
        alarm(60);
        linked_blocking_queue<int> queue;
        const waiting_call waits([&] { queue.poll_for(1h); });
        kill(getpid(), SIGSTOP);
        waits.settle();
        _exit(waits.is_over() || HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(id, &status, WUNTRACED), id);
    ASSERT_TRUE(WIFSTOPPED(status)) << status;
    kill(id, SIGCONT);
    while (waitpid(id, &status, 0) != id) {}
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)

// WK-13, WK-18
TEST(process_life, a_pool_at_the_limit_of_threads_refuses_or_queues_and_recovers) {
    EXPECT_EQ(in_child([] {
                  std::size_t pages = 0;
                  std::ifstream("/proc/self/statm") >> pages;
                  rlimit limit{};  // address space: room for some 40 stacks
                  limit.rlim_cur = limit.rlim_max =
                      pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (400UL << 20);
                  setrlimit(RLIMIT_AS, &limit);
                  auto cached = executors::cached_thread_pool();
                  int accepted = 0;
                  int refused = 0;
                  std::atomic<int> runs = 0;
                  gate let_go;
                  for (int i = 0; i < 60 && refused == 0; ++i) try {
                          cached->execute([&] {
                              let_go.wait();
                              ++runs;
                          });
                          ++accepted;
                      } catch (const rejected_execution&) {
                          ++refused;
                      }
                  let_go.open();
                  if (refused == 0) return 1;
                  const bool all_ran = eventually([&] { return runs == accepted; });
                  const bool recovered = eventually([&] {
                      try {
                          return cached->submit([] { return true; }).get();
                      } catch (const rejected_execution&) {
                          return false;  // no worker is waiting at the queue again yet
                      }
                  });
                  cached->close();
                  return recovered && all_ran && runs == accepted ? 0 : 2;
              }),
              0);
}

#endif

}  // namespace
}  // namespace cadre::testing

#endif
