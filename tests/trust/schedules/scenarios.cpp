// SPDX-License-Identifier: Apache-2.0
//
// schedules [--seeds N] [--first SEED] [--only NAME] [--seed SEED] [--trace] [--twice]
//
// Small races, each played by N seeds (200); a seed that fails is printed and can be played
// again. --twice plays each seed twice, and the two plays must be the same.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <cadre/cadre.hpp>

#include "scheduler.hpp"

namespace {

using cadre::schedules::expect;

/// What became of one task.
struct fate {
    int ran = 0;
    int destroyed = 0;
};

/// A task that tells its fate; each thread of a scenario runs alone, so plain numbers do.
struct told {
    explicit told(fate& f) : of(&f) {}
    told(told&& other) noexcept : of(std::exchange(other.of, nullptr)) {}
    told& operator=(told&&) = delete;
    ~told() {
        if (of) ++of->destroyed;
    }
    void operator()() const { ++of->ran; }
    fate* of;
};

cadre::thread_pool_options one_thread() {
    cadre::thread_pool_options options;
    options.core_pool_size = 1;
    options.hooks.uncaught_exception = [](const cadre::task&, const std::exception_ptr&) {};
    return options;
}

/// True if it was accepted.
bool execute(cadre::executor& pool, fate& f) {
    try {
        pool.execute(told(f));
        return true;
    } catch (const cadre::rejected_execution&) {
        return false;
    }
}

void execute_against_shutdown_now() {
    fate f;
    bool accepted = false;
    std::size_t returned = 0;
    {
        cadre::thread_pool_executor pool(one_thread());
        cadre::thread submitter([&] { accepted = execute(pool, f); });
        returned = pool.shutdown_now().size();
        submitter.join();
    }
    expect(f.ran + static_cast<int>(returned) == (accepted ? 1 : 0),
           "ran or returned if accepted, once");
    expect(f.destroyed == 1, "the task is gone, once");
}

/// The submitter is a task of the pool, so its second look is at its own deque. What is returned is
/// run here: the submitter, if it is among that, is refused.
void nested_execute_against_shutdown_now() {
    fate f;
    bool accepted = false;
    {
        cadre::work_stealing_pool pool({.parallelism = 1});
        pool.execute([&] { accepted = execute(pool, f); });
        for (auto& returned : pool.shutdown_now()) returned();
        pool.await_termination(std::chrono::nanoseconds::max());
    }
    expect(f.ran == (accepted ? 1 : 0), "ran or returned if accepted, once");
    expect(f.destroyed == 1, "the task is gone, once");
}

void shutdown_now_against_a_task_that_waits() {
    cadre::linked_blocking_queue<int> empty;
    cadre::thread_pool_executor pool(one_thread());
    cadre::thread submitter([&] {
        try {
            pool.execute([&] { empty.take(); });
        } catch (const cadre::rejected_execution&) {}
    });
    pool.shutdown_now();
    submitter.join();
    pool.await_termination(std::chrono::nanoseconds::max());
}

void execute_against_shutdown() {
    fate first;
    fate second;
    bool accepted = false;
    {
        cadre::thread_pool_executor pool(one_thread());
        pool.execute(told(first));
        cadre::thread submitter([&] { accepted = execute(pool, second); });
        pool.shutdown();
        submitter.join();
    }
    expect(first.ran == 1, "what was accepted before the shutdown ran");
    expect(second.ran == (accepted ? 1 : 0), "what was accepted during it ran, and nothing else");
}

void schedule_against_shutdown() {
    int ran = 0;
    cadre::scheduled_future<void> result;
    {
        cadre::scheduled_thread_pool_executor pool(1);
        cadre::thread submitter([&] {
            try {
                result = pool.schedule([&] { ++ran; }, std::chrono::seconds(0));
            } catch (const cadre::rejected_execution&) {}
        });
        pool.shutdown();
        submitter.join();
        pool.await_termination(std::chrono::nanoseconds::max());
        expect(!result.valid() || result.is_done(), "what was accepted is over when the pool is");
        expect(pool.queue().empty(), "a pool that has terminated has no tasks");
    }
    expect(ran == (result.valid() && !result.is_cancelled() ? 1 : 0), "ran unless cancelled");
}

/// A task without a future: nobody but its submitter can be told that it will not run.
void execute_against_shutdown_of_a_scheduler() {
    fate f;
    bool accepted = false;
    {
        cadre::scheduled_thread_pool_executor pool(1);
        cadre::thread submitter([&] { accepted = execute(pool, f); });
        pool.shutdown();
        submitter.join();
    }
    expect(f.ran == (accepted ? 1 : 0), "ran if accepted, and only then");
    expect(f.destroyed == 1, "the task is gone, once");
}

void use_and_destroy() {
    fate f;
    { cadre::thread_pool_executor(one_thread()).execute(told(f)); }
    expect(f.ran == 1 && f.destroyed == 1, "an accepted task runs before its pool is gone");
}

void take_against_drain() {
    std::array<fate, 3> f;
    std::size_t returned = 0;
    {
        cadre::thread_pool_executor pool(one_thread());
        for (fate& each : f) pool.execute(told(each));
        returned = pool.shutdown_now().size();
    }
    int ran = 0;
    for (const fate& each : f) {
        ran += each.ran;
        expect(each.destroyed == 1, "each task is gone, once");
    }
    expect(ran + static_cast<int>(returned) == 3, "each task ran or was returned");
}

/// Without a core and a keep-alive the worker leaves when its task is over: the next task meets it
/// on its way. Nobody shuts the pool down before that has run.
void submit_against_the_last_worker_leaving() {
    auto options = one_thread();
    options.core_pool_size = 0;
    options.maximum_pool_size = 1;
    options.keep_alive = std::chrono::nanoseconds(0);
    cadre::thread_pool_executor pool(std::move(options));
    int ran = 0;
    for (int i = 0; i < 2; ++i) pool.submit([&] { ++ran; }).wait();
    expect(ran == 2, "a task that comes while the last worker leaves is run");
}

void throwing_task_against_submit() {
    fate f;
    {
        cadre::thread_pool_executor pool(one_thread());
        pool.execute([] { throw std::runtime_error("as planned"); });
        pool.execute(told(f));
    }
    expect(f.ran == 1, "the worker that died was replaced");
}

/// There is no thread for its successor, nor for whoever ends the pool meanwhile: the worker goes
/// on.
void throwing_task_against_the_end() {
    std::array<fate, 2> f;
    cadre::linked_blocking_queue<int> may_throw;
    {
        cadre::thread_pool_executor pool(one_thread());
        pool.execute([&] {
            may_throw.take();
            throw std::runtime_error("as planned");
        });
        for (fate& each : f) pool.execute(told(each));
        pool.set_thread_factory([](auto) -> cadre::thread { throw std::bad_alloc(); });
        may_throw.put(1);
    }
    for (const fate& each : f)
        expect(each.ran == 1, "what was accepted ran, for there was a thread");
}

/// The queue is not full before the policy is another, so nothing is run by its caller.
void policy_change_against_a_task_for_the_caller() {
    cadre::linked_blocking_queue<int> end;
    bool ran_here = false;
    auto options = one_thread();
    options.queue = std::make_unique<cadre::array_blocking_queue<cadre::task>>(1);
    options.rejection = cadre::caller_runs_policy();
    cadre::thread_pool_executor pool(std::move(options));
    pool.execute([&] { end.take(); });
    cadre::thread submitter([&] {
        const auto here = std::this_thread::get_id();
        try {
            pool.execute([&, here] { ran_here |= std::this_thread::get_id() == here; });
        } catch (const cadre::rejected_execution&) {}
    });
    pool.set_rejected_execution_handler(cadre::abort_policy());
    fate other;
    execute(pool, other);
    submitter.join();
    expect(!ran_here, "no policy is applied that was replaced before it was needed");
    end.put(1);
    pool.close();
}

void resize_against_submit() {
    std::array<fate, 2> f;
    {
        auto options = one_thread();
        options.core_pool_size = 2;
        cadre::thread_pool_executor pool(std::move(options));
        pool.execute(told(f[0]));
        cadre::thread resizer([&] { pool.resize(1, 1); });
        pool.execute(told(f[1]));
        resizer.join();
    }
    expect(f[0].ran == 1 && f[1].ran == 1, "a resize loses no task");
}

void interrupt_against_take() {
    cadre::linked_blocking_queue<int> queue;
    bool ended = false;
    cadre::thread taker([&] {
        try {
            queue.take();
        } catch (const cadre::interrupted&) {
            ended = true;
        }
    });
    taker.interrupt();
    taker.join();
    expect(ended, "the interrupt ended the wait");
}

void interrupt_against_put() {
    cadre::linked_blocking_queue<int> queue;
    int got = 0;
    cadre::thread one([&] {
        try {
            got += queue.take();
        } catch (const cadre::interrupted&) {
            got += 10;
        }
    });
    cadre::thread other([&] { got += queue.take(); });
    cadre::thread putter([&] { queue.put(1); });
    one.interrupt();
    one.join();
    putter.join();
    const bool was_interrupted = got >= 10;
    if (!was_interrupted) queue.put(1);  // the first one was faster than its interrupt
    other.join();
    expect(got == (was_interrupted ? 11 : 2), "an interrupt swallows no element");
}

/// The taker that was called for an element finds that a third one has it, and is interrupted while
/// the next element comes: the other taker gets that.
void interrupt_of_a_taker_called_in_vain() {
    cadre::linked_blocking_queue<int> queue;
    bool one_got = false;
    cadre::thread one([&] {
        try {
            queue.take();
            one_got = true;
        } catch (const cadre::interrupted&) {}
    });
    cadre::thread other([&] { queue.take(); });
    cadre::thread putter([&] {
        queue.put(1);
        queue.put(2);
    });
    const bool third_got = queue.poll().has_value();
    one.interrupt();
    one.join();
    putter.join();
    if (one_got && third_got) queue.put(3);
    other.join();
    expect(queue.size() == (one_got || third_got ? 0u : 1u), "each element was taken once");
}

void two_takes_for_two_blocked_puts() {
    cadre::linked_blocking_queue<int> queue(2);
    queue.put(0);
    queue.put(0);
    cadre::thread one([&] { queue.put(1); });
    cadre::thread other([&] { queue.put(2); });
    queue.take();
    queue.take();
    one.join();
    other.join();
    expect(queue.size() == 2, "both got in");
}

/// As with takers: the room for which it was called is taken, and comes again when it is
/// interrupted.
void interrupt_of_a_putter_called_in_vain() {
    cadre::linked_blocking_queue<int> queue(1);
    queue.put(0);
    cadre::thread one([&] {
        try {
            queue.put(1);
        } catch (const cadre::interrupted&) {}
    });
    cadre::thread other([&] { queue.put(2); });
    queue.poll();
    queue.offer(9);
    one.interrupt();
    queue.poll();
    one.join();
    if (!queue.empty()) queue.poll();  // else the other one has its room
    other.join();
}

void cancel_against_run() {
    cadre::thread_pool_executor pool(one_thread());
    int ran = 0;
    auto result = pool.submit([&] { return ++ran; });
    bool cancelled = false;
    cadre::thread canceller([&] { cancelled = result.cancel(true); });
    bool threw = false;
    try {
        result.wait();
        threw = result.is_cancelled();
    } catch (const cadre::cancellation&) {
        threw = true;
    }
    canceller.join();
    expect(threw == cancelled, "cancelled for who waits if cancelled for who cancels");
    expect(ran <= 1, "run at most once");
}

/// The interrupt is for the task, which may be over; what its thread does next must not feel it.
void cancel_against_the_end_of_the_run() {
    cadre::linked_blocking_queue<int> queue;  // its calls give the canceller its chance
    bool felt = false;
    cadre::future_task<void> task([&] { queue.offer(1); });
    cadre::thread runner([&] {
        task();
        queue.offer(1);
        felt = cadre::this_thread::is_interrupted();
    });
    task.cancel(true);
    runner.join();
    expect(!felt, "an interrupt ends with its task");
}

/// Cancelled before its run, amid it, or just when it is put back for the next.
void cancel_against_a_periodic_task() {
    cadre::scheduled_pool_options options;
    options.core_pool_size = 1;
    options.remove_on_cancel = true;
    cadre::scheduled_thread_pool_executor pool(std::move(options));
    auto periodic =
        pool.schedule_at_fixed_rate([] {}, std::chrono::seconds(0), std::chrono::hours::max());
    cadre::thread canceller([&] { periodic.cancel(); });
    canceller.join();
    pool.submit([] {}).wait();  // by the same worker, which has done with the other
    expect(pool.queue().empty(), "what was cancelled has left the queue");
}

void two_puts_and_two_takes() {
    cadre::linked_blocking_queue<int> queue;
    int sum = 0;
    cadre::thread one([&] { sum += queue.take(); });
    cadre::thread other([&] { sum += queue.take(); });
    queue.put(1);
    queue.put(2);
    one.join();
    other.join();
    expect(sum == 3, "each taker got its element");
}

void hand_over() {
    cadre::synchronous_queue<int> queue;
    int got = 0;
    cadre::thread taker([&] { got = queue.take(); });
    queue.put(7);
    taker.join();
    expect(got == 7, "what was given was received");
}

void attach_against_complete() {
    int continued = 0;
    {
        cadre::thread_pool_executor pool(one_thread());
        auto next = pool.submit([] { return 1; }).then([&](int x) { continued += x; });
        next.wait();
    }
    expect(continued == 1, "the continuation ran once");
}

struct scenario {
    const char* name;
    std::uint64_t steps;  // about as many as it takes
    void (*play)();
};
constexpr scenario scenarios[] = {
    {"SH-01", 60, execute_against_shutdown_now},
    {"SH-01, a task that waits", 60, shutdown_now_against_a_task_that_waits},
    {"SH-02, of a task's own", 60, nested_execute_against_shutdown_now},
    {"SH-02", 80, execute_against_shutdown},
    {"SH-03", 50, use_and_destroy},
    {"SH-06", 90, take_against_drain},
    {"SH-13", 90, schedule_against_shutdown},
    {"SH-13, no future", 80, execute_against_shutdown_of_a_scheduler},
    {"WK-01", 100, submit_against_the_last_worker_leaving},
    {"WK-05", 90, throwing_task_against_submit},
    {"WK-06", 110, throwing_task_against_the_end},
    {"WK-09", 100, resize_against_submit},
    {"RE-09, another policy", 105, policy_change_against_a_task_for_the_caller},
    {"IN-01", 20, interrupt_against_take},
    {"IN-03", 20, cancel_against_the_end_of_the_run},
    {"IN-05", 50, interrupt_against_put},
    {"IN-05, called in vain", 50, interrupt_of_a_taker_called_in_vain},
    {"IN-05, a putter called in vain", 50, interrupt_of_a_putter_called_in_vain},
    {"IN-06", 80, cancel_against_run},
    {"IN-06, periodic", 140, cancel_against_a_periodic_task},
    {"QU-01", 40, two_puts_and_two_takes},
    {"QU-01, of putters", 40, two_takes_for_two_blocked_puts},
    {"QU-05", 20, hand_over},
    {"FU-04", 80, attach_against_complete},
};

}  // namespace

int main(int count, char** arguments) {
    std::uint64_t seeds = 200;
    std::uint64_t first = 1;
    std::string_view only;
    bool trace = false;
    bool twice = false;
    for (int i = 1; i < count; ++i) {
        const std::string_view option = arguments[i];
        const char* value = i + 1 < count ? arguments[i + 1] : "";
        if (option == "--trace" || option == "--twice") {
            (option == "--trace" ? trace : twice) = true;
            continue;
        }
        ++i;
        if (option == "--seeds")
            seeds = std::strtoull(value, nullptr, 10);
        else if (option == "--first")
            first = std::strtoull(value, nullptr, 10);
        else if (option == "--only")
            only = value;
        else if (option == "--seed")
            first = std::strtoull(value, nullptr, 10), seeds = 1;
    }
    std::uint64_t all = 0;
    std::size_t played = 0;
    for (const auto& [name, usual, play] : scenarios) {
        if (!only.empty() && only != name) continue;
        cadre::schedules::play(name, play, usual, 0, false);  // whatever is made on first use
        std::uint64_t steps = 0;
        for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
            steps += cadre::schedules::play(name, play, usual, seed, trace).steps;
            if (!twice) continue;
            cadre::schedules::play(name, play, usual, seed, false);
            cadre::schedules::expect_same_play();
        }
        all += seeds;
        ++played;
        std::printf("schedules: %s | %llu seeds, %llu steps each | passed\n", name,
                    static_cast<unsigned long long>(seeds),
                    static_cast<unsigned long long>(steps / (seeds ? seeds : 1)));
    }
    if (played == 0) {
        std::fprintf(stderr, "schedules: there is no scenario %s\n", std::string(only).c_str());
        return 1;
    }
    std::printf("%llu schedules of %zu scenarios%s\n", static_cast<unsigned long long>(all), played,
                twice ? ", each played again in the same way" : "");
    return 0;
}
