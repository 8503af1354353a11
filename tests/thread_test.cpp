// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include "support/sleeps.hpp"
#include "support/waiting_call.hpp"
#include <cadre/errors.hpp>
#include <cadre/thread.hpp>

namespace cadre::testing {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

static_assert(!std::is_copy_constructible_v<cadre::thread>);
static_assert(std::is_nothrow_move_constructible_v<cadre::thread>);
static_assert(std::is_copy_constructible_v<thread_handle>);

TEST(thread, runs_its_body_and_is_joined) {
    bool ran = false;
    cadre::thread made([&] { ran = true; });
    EXPECT_TRUE(made.joinable());
    made.join();
    EXPECT_FALSE(made.joinable());
    EXPECT_TRUE(ran);
}

TEST(thread, made_of_nothing_stands_for_none) {
    cadre::thread none;
    EXPECT_FALSE(none.joinable());
    EXPECT_FALSE(none.is_interrupted());
    none.interrupt();
    EXPECT_THROW(none.join(), illegal_state);
    EXPECT_THROW(none.detach(), illegal_state);
    EXPECT_THROW(none.handle(), illegal_state);
}

TEST(thread, refuses_an_empty_body) {
    EXPECT_THROW(cadre::thread{std::function<void()>()}, std::invalid_argument);
}

TEST(thread, destroyed_is_interrupted_and_joined) {
    bool was_interrupted = false;
    {
        const cadre::thread made([&] {
            try {
                sleep_until_interrupted();
            } catch (const interrupted&) {
                was_interrupted = true;
            }
        });
    }
    EXPECT_TRUE(was_interrupted);
}

TEST(thread, replaced_by_another_is_interrupted_and_joined) {
    bool over = false;
    cadre::thread made([&] {
        try {
            sleep_until_interrupted();
        } catch (const interrupted&) {}
        over = true;
    });
    made = cadre::thread();
    EXPECT_TRUE(over);
    EXPECT_FALSE(made.joinable());
}

TEST(thread, ends_quietly_when_interrupted_leaves_its_body) {
    cadre::thread made([] { sleep_until_interrupted(); });
    made.interrupt();
    EXPECT_LT(time_of([&] { made.join(); }), guard);
}

TEST(thread, has_destroyed_its_body_when_join_returns) {
    auto resource = std::make_shared<int>(1);
    const std::weak_ptr<int> watch = resource;
    cadre::thread made([resource = std::move(resource)] {});
    made.join();
    EXPECT_TRUE(watch.expired());
}

TEST(thread, destroys_its_body_itself_however_that_ends) {
    for (const bool is_interrupted : {false, true}) {
        std::thread::id where;
        const auto note = [&](int* p) {
            where = std::this_thread::get_id();
            delete p;
        };
        auto resource = std::shared_ptr<int>(new int(1), note);
        cadre::thread made([is_interrupted, resource = std::move(resource)] {
            if (is_interrupted) sleep_until_interrupted();
        });
        const auto its_own = made.handle().id();
        if (is_interrupted) made.interrupt();
        made.join();
        EXPECT_EQ(where, its_own);
    }
}

TEST(thread, refuses_to_join_itself) {
    cadre::thread* self = nullptr;
    gate may_join;
    bool refused = false;
    cadre::thread made([&] {
        may_join.wait();
        try {
            self->join();
        } catch (const illegal_state&) {
            refused = true;
        }
    });
    self = &made;
    may_join.open();
    made.join();
    EXPECT_TRUE(refused);
}

TEST(thread, lets_an_interrupted_join_be_tried_again) {
    gate may_end;
    cadre::thread made([&] { may_end.wait(); });
    waiting_call joins([&] { made.join(); });
    joins.interrupt();
    EXPECT_TRUE(joins.was_interrupted());
    EXPECT_TRUE(made.joinable());
    may_end.open();
    made.join();
}

TEST(thread, runs_on_when_it_is_detached) {
    struct shared {
        gate may_end;
        gate over;
    };
    const auto state = std::make_shared<shared>();
    {
        cadre::thread made([state] {
            state->may_end.wait();
            state->over.open();
        });
        made.detach();
        EXPECT_FALSE(made.joinable());
    }
    state->may_end.open();
    EXPECT_TRUE(state->over.wait());
}

TEST(thread, keeps_its_interrupt_flag_until_it_is_taken) {
    bool first = false;
    bool second = false;
    bool taken = false;
    bool afterwards = true;
    gate flag_is_set;
    cadre::thread made([&] {
        flag_is_set.wait();
        first = this_thread::is_interrupted();
        second = this_thread::is_interrupted();
        taken = this_thread::interrupted();
        afterwards = this_thread::interrupted();
    });
    made.interrupt();
    EXPECT_TRUE(made.is_interrupted());
    flag_is_set.open();
    made.join();
    EXPECT_TRUE(first && second && taken);
    EXPECT_FALSE(afterwards);
}

TEST(thread, throws_and_clears_the_flag_at_an_interruption_point) {
    EXPECT_NO_THROW(this_thread::interruption_point());
    thread_handle::current().interrupt();
    EXPECT_THROW(this_thread::interruption_point(), interrupted);
    EXPECT_FALSE(this_thread::is_interrupted());
    EXPECT_NO_THROW(this_thread::interruption_point());
}

TEST(thread, has_no_signals_of_the_process_delivered_to_it) {
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    sigset_t inside;
    cadre::thread([&] { pthread_sigmask(SIG_SETMASK, nullptr, &inside); }).join();
    for (const int blocked : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD, SIGALRM})
        EXPECT_EQ(sigismember(&inside, blocked), 1) << blocked;
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
        EXPECT_EQ(sigismember(&inside, own), 0) << own;
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    EXPECT_EQ(sigismember(&after, SIGTERM), sigismember(&before, SIGTERM));
}

TEST(thread_handle, stands_for_the_thread_that_asks) {
    const thread_handle here = thread_handle::current();
    EXPECT_EQ(here, thread_handle::current());
    EXPECT_EQ(here.id(), std::this_thread::get_id());
    thread_handle seen = here;
    cadre::thread made([&] { seen = thread_handle::current(); });
    const thread_handle given = made.handle();
    made.join();
    EXPECT_EQ(seen, given);
    EXPECT_NE(seen, here);
}

TEST(thread_handle, knows_the_id_of_a_thread_that_was_only_just_made) {
    for (int i = 0; i < 100; ++i) {
        std::thread::id own;
        cadre::thread made([&] { own = std::this_thread::get_id(); });
        const auto seen = made.handle().id();
        made.join();
        ASSERT_EQ(seen, own);
    }
}

TEST(thread_handle, interrupts_a_thread_of_the_standard_library) {
    std::atomic<bool> was_interrupted = false;
    std::optional<thread_handle> handle;
    gate has_handle;
    std::thread made([&] {
        handle = thread_handle::current();
        has_handle.open();
        try {
            sleep_until_interrupted();
        } catch (const interrupted&) {
            was_interrupted = true;
        }
    });
    EXPECT_TRUE(has_handle.wait());
    handle->interrupt();
    made.join();
    EXPECT_TRUE(was_interrupted);
}

TEST(thread_handle, interrupts_the_main_thread) {
    const thread_handle main = thread_handle::current();
    cadre::thread other([main] { main.interrupt(); });
    EXPECT_THROW(sleep_until_interrupted(), interrupted);
    EXPECT_FALSE(main.is_interrupted());
    other.join();
}

TEST(thread_handle, outlives_its_thread_and_then_interrupts_nothing) {
    cadre::thread made({.name = "short-lived"}, [] {});
    const thread_handle handle = made.handle();
    made.join();
    handle.interrupt();
    EXPECT_FALSE(handle.is_interrupted());
    EXPECT_EQ(handle.name(), "short-lived");
}

TEST(thread_attributes, give_the_thread_its_name_of_which_the_system_shows_a_part) {
    const std::string name = "a-name-that-is-longer-than-fifteen-bytes";
    char shown[32] = {};
    cadre::thread made({.name = name},
                       [&] { pthread_getname_np(pthread_self(), shown, sizeof shown); });
    EXPECT_EQ(made.handle().name(), name);
    made.join();
    EXPECT_EQ(std::string(shown), name.substr(0, 15));
}

std::size_t stack_size_here() {
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    void* base = nullptr;
    std::size_t size = 0;
    pthread_attr_getstack(&attributes, &base, &size);
    pthread_attr_destroy(&attributes);
    return size;
}

TEST(thread_attributes, give_the_thread_a_stack_of_at_least_that_size) {
    for (const std::size_t wanted :
         {std::size_t{1}, std::size_t{1'000'001}, std::size_t{3} << 20}) {
        std::size_t size = 0;
        cadre::thread({.stack_size = wanted}, [&] { size = stack_size_here(); }).join();
        EXPECT_GE(size, wanted);
    }
}

TEST(thread_attributes, give_the_thread_a_larger_stack_than_usual) {
    std::size_t usual = 0;
    cadre::thread([&] { usual = stack_size_here(); }).join();
    std::size_t larger = 0;
    cadre::thread({.stack_size = 2 * usual}, [&] { larger = stack_size_here(); }).join();
    EXPECT_GE(larger, 2 * usual);
}

TEST(thread_attributes, refuse_a_stack_that_cannot_be) {
    EXPECT_THROW(cadre::thread({.stack_size = std::numeric_limits<std::size_t>::max()}, [] {}),
                 std::invalid_argument);
}

TEST(thread_attributes, make_the_thread_nicer) {
    int nice = 0;
    cadre::thread({.nice = 19}, [&] {
        nice = getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)));
    }).join();
    EXPECT_EQ(nice, 19);
}

TEST(thread_attributes, refuse_a_niceness_that_cannot_be) {
    for (const int nice : {-21, 20, std::numeric_limits<int>::min(), 1'000'000})
        EXPECT_THROW(cadre::thread({.nice = nice}, [] {}), std::invalid_argument) << nice;
}

TEST(thread_attributes, that_the_system_does_not_grant_are_passed_over) {
    bool ran = false;
    cadre::thread({.nice = -20, .cpus = {CPU_SETSIZE - 1}}, [&] { ran = true; }).join();
    EXPECT_TRUE(ran);
}

TEST(thread_attributes, bind_the_thread_to_processors) {
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    int first = 0;
    while (!CPU_ISSET(first, &allowed)) ++first;
    cpu_set_t inside;
    cadre::thread({.cpus = {first}}, [&] { sched_getaffinity(0, sizeof inside, &inside); }).join();
    EXPECT_EQ(CPU_COUNT(&inside), 1);
    EXPECT_TRUE(CPU_ISSET(first, &inside));
}

TEST(thread_attributes, refuse_processors_that_cannot_be) {
    for (const int cpu : {-1, CPU_SETSIZE, std::numeric_limits<int>::max()})
        EXPECT_THROW(cadre::thread({.cpus = {0, cpu}}, [] {}), std::invalid_argument) << cpu;
}

TEST(sleep, is_not_short) {
    EXPECT_GE(time_of([] { this_thread::sleep_for(short_delay); }), short_delay);
    const auto deadline = steady_clock::now() + short_delay;
    this_thread::sleep_until(deadline);
    EXPECT_GE(steady_clock::now(), deadline);
}

TEST(sleep, for_no_time_or_less_returns_at_once) {
    const auto waited = time_of([] {
        this_thread::sleep_for(0ns);
        this_thread::sleep_for(-1ns);
        this_thread::sleep_for(nanoseconds::min());
        this_thread::sleep_for(hours::min());
        this_thread::sleep_until(steady_clock::time_point::min());
        this_thread::sleep_until(system_clock::time_point::min());
        this_thread::sleep_until(system_clock::now() - 1h);
    });
    EXPECT_LT(waited, long_delay);
}

TEST(sleep, of_extreme_length_goes_on_until_it_is_interrupted) {
    expect_interruptible([] { this_thread::sleep_for(nanoseconds::max()); });
    expect_interruptible([] { this_thread::sleep_for(hours::max()); });
    expect_interruptible([] { this_thread::sleep_for(std::chrono::duration<double>::max()); });
    expect_interruptible([] { this_thread::sleep_until(steady_clock::time_point::max()); });
    expect_interruptible([] { this_thread::sleep_until(system_clock::time_point::max()); });
}

TEST(sleep, reports_interruption_rather_than_that_its_time_is_over) {
    for (const nanoseconds d : {nanoseconds::min(), -1ns, 0ns}) {
        thread_handle::current().interrupt();
        EXPECT_THROW(this_thread::sleep_for(d), interrupted);
        EXPECT_FALSE(this_thread::is_interrupted());
    }
    thread_handle::current().interrupt();
    EXPECT_THROW(this_thread::sleep_until(steady_clock::time_point::min()), interrupted);
}

TEST(stop_token, outside_any_task_is_never_stopped) {
    EXPECT_FALSE(this_thread::stop_token().stop_possible());
    bool possible = true;
    cadre::thread([&] { possible = this_thread::stop_token().stop_possible(); }).join();
    EXPECT_FALSE(possible);
}

}  // namespace
}  // namespace cadre::testing
