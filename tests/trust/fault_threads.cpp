// SPDX-License-Identifier: Apache-2.0
#include <cadre/cadre.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <dlfcn.h>
#include <pthread.h>

#include "support/ledger.hpp"
#include "support/watched.hpp"
#include "trust/faults.hpp"

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;

enum class refusal { again, empty, throws, no_memory };

/// Which thread is refused, and how.
struct thread_fault {
    const refusal how;
    const int index;
    const bool lasts;
    std::atomic<int> asked = 0;
    std::atomic<bool> fired = false;
    std::atomic<bool> healed = false;

    /// The system has no thread just now, and has one when it is asked again.
    bool is_in_passing() const { return how == refusal::again && !lasts && !CADRE_UNDER_SANITIZER; }
    /// Of the next thread that is asked for.
    bool refuses() {
        const int number = asked++;
        const bool is_meant = !healed && (number == index || (lasts && number > index));
        if (is_meant) fired = true;
        return is_meant;
    }
};

/// The fault that pthread_create plays.
std::atomic<thread_fault*> of_the_system = nullptr;

/// A factory that refuses as the fault says; where the system refuses, the usual one.
thread_factory factory_of(thread_fault& fault) {
    if (fault.how == refusal::again && !CADRE_UNDER_SANITIZER) return default_thread_factory();
    return [&fault](std::function<void()> body) -> thread {
        if (!fault.refuses()) return thread(std::move(body));
        switch (fault.how) {
            case refusal::again:
                throw std::system_error(EAGAIN, std::generic_category(), "cannot start a thread");
            case refusal::empty:
                return {};
            case refusal::throws:
                throw 42;
            case refusal::no_memory:
                throw std::bad_alloc();
        }
        return {};
    };
}

pool_hooks quiet_hooks() {
    return {.uncaught_exception = [](auto&&...) {}};
}

/// True if the pool runs a task, as soon as it has a place for one.
bool works(executor_service& pool) {
    std::optional<int> answer;
    await_fact([&] {
        try {
            answer = pool.submit([] { return 7; }).get();
        } catch (const rejected_execution&) {}
        return answer.has_value();
    });
    return answer == 7;
}

/// What a scenario is played with: tasks that keep their threads until all have been given away, so
/// that the next one needs a new thread.
struct stage {
    thread_fault& fault;
    const std::string name;
    ledger tasks = ledger(8);
    std::shared_ptr<std::atomic<bool>> let_go = std::make_shared<std::atomic<bool>>(false);

    void give(executor& pool, std::size_t number, ledger::entry next) {
        try {
            pool.execute([own = std::move(next), go = let_go]() mutable {
                while (!*go) std::this_thread::yield();
                own();
            });
            tasks.accept(number);
        } catch (...) {}  // the submitter is told
    }
    void give_all(executor& pool) {
        for (std::size_t i = 0; i < tasks.size(); ++i) give(pool, i, tasks.task(i));
    }
    /// After the fault: each task that was accepted has run, the pool works, counts and ends.
    template <class Pool>
    void recover(Pool& pool) {
        fault.healed = true;
        *let_go = true;
        expect(works(pool), name, fault.index, "the pool works no more");
        pool.close();
        expect(pool.pool_size() == 0, name, fault.index, "a worker is left");
        expect(pool.task_count() == pool.completed_task_count(), name, fault.index,
               "the counts are wrong");
        const auto books = tasks.close();
        expect(books.error.empty(), name, fault.index, books.error.c_str());
        expect(books.ran == books.accepted, name, fault.index, "an accepted task did not run");
    }
};

void play_pool(stage& on, thread_pool_options options) {
    options.thread_factory = factory_of(on.fault);
    options.hooks = quiet_hooks();
    thread_pool_executor pool(std::move(options));
    on.give_all(pool);
    on.recover(pool);
}

void core_threads(stage& on) { play_pool(on, {.core_pool_size = 4}); }
void threads_beyond_the_core(stage& on) {
    play_pool(on, {.core_pool_size = 1,
                   .maximum_pool_size = 4,
                   .queue = std::make_unique<array_blocking_queue<task>>(1)});
}
void threads_of_a_hand_over(stage& on) {
    play_pool(on, {.core_pool_size = 0,
                   .maximum_pool_size = 4,
                   .queue = std::make_unique<synchronous_queue<task>>()});
}
void the_thread_of_no_core(stage& on) { play_pool(on, {.core_pool_size = 0}); }

void prestarted_threads(stage& on) {
    thread_pool_executor pool(
        {.core_pool_size = 4, .thread_factory = factory_of(on.fault), .hooks = quiet_hooks()});
    int started = 0;
    try {
        started += pool.prestart_core_thread() ? 1 : 0;
        started += pool.prestart_all_core_threads();
    } catch (...) {}  // the caller is told
    if (on.fault.is_in_passing())
        expect(started == 4, on.name, on.fault.index, "the system was not asked again");
    on.give_all(pool);
    on.recover(pool);
}

void threads_of_a_raised_core(stage& on) {
    thread_pool_executor pool({.core_pool_size = 1,
                               .maximum_pool_size = 4,
                               .thread_factory = factory_of(on.fault),
                               .hooks = quiet_hooks()});
    on.give_all(pool);
    try {
        pool.set_core_pool_size(4);
    } catch (...) {}  // the caller is told
    on.recover(pool);
}

// Each task that throws costs its worker, and the worker that goes asks for the next.
void threads_in_place_of_others(stage& on) {
    thread_pool_executor pool(
        {.core_pool_size = 2, .thread_factory = factory_of(on.fault), .hooks = quiet_hooks()});
    *on.let_go = true;
    for (std::size_t i = 0; i < on.tasks.size(); ++i) {
        on.give(pool, i, on.tasks.failing_task(i));
        while (pool.pool_size() > 0 && pool.task_count() != pool.completed_task_count())
            std::this_thread::yield();
    }
    on.recover(pool);
}

void threads_of_a_scheduler(stage& on) {
    scheduled_thread_pool_executor pool(
        {.core_pool_size = 3, .thread_factory = factory_of(on.fault), .hooks = quiet_hooks()});
    on.give_all(pool);
    on.recover(pool);
}

void threads_of_thieves(stage& on) {
    work_stealing_pool pool(
        {.parallelism = 3, .thread_factory = factory_of(on.fault), .hooks = quiet_hooks()});
    on.give_all(pool);
    on.recover(pool);
}

// What is built on a pool gives its result, or says that it has none.
void threads_of_a_loop(stage& on) {
    thread_pool_executor pool(
        {.core_pool_size = 3, .thread_factory = factory_of(on.fault), .hooks = quiet_hooks()});
    try {
        std::atomic<int> sum = 0;
        parallel_for(pool, 0, 64, [&](int i) { sum += i; });
        expect(sum == 64 * 63 / 2, on.name, on.fault.index, "a wrong sum");
    } catch (...) {}
    try {
        int sum = 0;
        const auto number = [](int i) { return [i] { return i; }; };
        // With a limit: what no thread was had for waits for the next task, as in the JDK.
        for (auto& each : pool.invoke_all({number(1), number(1)}, 20ms)) sum += each.get();
        expect(sum == 2, on.name, on.fault.index, "a wrong sum");
    } catch (...) {}
    on.give_all(pool);
    on.recover(pool);
}

struct thread_scenario {
    const char* name;
    void (*play)(stage&);
};
constexpr thread_scenario scenarios[] = {
    {"core threads", core_threads},
    {"threads beyond the core", threads_beyond_the_core},
    {"threads of a hand-over", threads_of_a_hand_over},
    {"the thread of a pool without a core", the_thread_of_no_core},
    {"prestarted threads", prestarted_threads},
    {"threads of a raised core", threads_of_a_raised_core},
    {"threads in place of those whose task threw", threads_in_place_of_others},
    {"threads of a scheduler", threads_of_a_scheduler},
    {"threads of a work-stealing pool", threads_of_thieves},
    {"threads of loops and invoke_all", threads_of_a_loop},
};

/// No scenario needs more.
constexpr int most_threads = 12;

/// True if the fault took place.
bool played(const thread_scenario& scenario, refusal how, int index, bool lasts) {
    thread_fault fault{how, index, lasts};
    stage on{fault, scenario.name};
    if (how == refusal::again) of_the_system = &fault;
    scenario.play(on);
    of_the_system = nullptr;
    return fault.fired;
}

}  // namespace

int sweep_threads(const std::function<void(const char*)>& told) {
    int all = 0;
    for (const auto& scenario : scenarios) {
        int points = 0;
        for (const auto how : {refusal::again, refusal::empty, refusal::throws, refusal::no_memory})
            for (const bool lasts : {false, true})
                for (int index = 0; index < most_threads; ++index)
                    if (played(scenario, how, index, lasts)) {
                        ++points;
                        told(scenario.name);
                    }
        if (points < 8) fail(std::string(scenario.name) + ": nobody asked for a thread");
        std::cout << scenario.name << ": " << points << std::endl;
        all += points;
    }
    return all;
}

}  // namespace cadre::testing

#if !CADRE_UNDER_SANITIZER
extern "C" int pthread_create(pthread_t* made, const pthread_attr_t* attributes,
                              void* (*body)(void*), void* argument) noexcept {
    using function = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static auto* const real = reinterpret_cast<function*>(dlsym(RTLD_NEXT, "pthread_create"));
    // std::thread, which those who test use, has no attributes
    auto* const fault = attributes ? cadre::testing::of_the_system.load() : nullptr;
    if (fault && fault->refuses()) return EAGAIN;
    return real(made, attributes, body, argument);
}
#endif
