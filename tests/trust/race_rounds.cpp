// SPDX-License-Identifier: Apache-2.0
//
// The races that executors have lost elsewhere, round after round, each by several pairs of threads
// at once. Meant to run under perturb.so, which makes the unlikely order likely, also at the points
// between two steps that make no call of the system.
//
//     race_rounds [--rounds N] [--seconds S] [--only NAME]
//
// N rounds of each, or fails if all of them take more than S seconds; without N, as many as an
// equal share of S seconds allows.
//
// One line a race: how many rounds, how long. Anything wrong, or no round for a minute: says what,
// and fails; the watchdog prints all stacks first.

#include <cadre/cadre.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/watchdog.hpp"

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;

/// Longer than any wait takes that is not for ever.
constexpr auto never = 10min;

[[noreturn]] void fail(const std::string& race, const std::string& what) {
    std::cout << "race " << race << ": " << what << std::endl;
    std::_Exit(1);
}

/// Waits until a number is another one, and returns that. For a few microseconds it is looked at,
/// so that two who run at once go on together; then the thread sleeps. One that yields instead
/// waits for a whole turn of whatever else the machine has to do, a compiler for example.
int next_after(int seen, const std::atomic<int>& number) {
    for (int looks = 0; looks < 1000; ++looks)
        if (const int now = number.load(); now != seen) return now;
    number.wait(seen);
    return number.load();
}
/// Says so to the one who waits for it.
void set(std::atomic<int>& number, int value) {
    number.store(value);
    number.notify_one();
}

/// Two threads that begin each round together: the driver, and one that is kept for it.
class pair_of_threads {
public:
    ~pair_of_threads() {
        side_ = nullptr;
        set(round_, round_ + 1);
        other_.join();
    }
    /// Both sides have returned when this does.
    void play(const std::function<void()>& mine, const std::function<void()>& other) {
        side_ = &other;
        const int before = round_;
        set(round_, before + 1);
        next_after(before, begun_);
        mine();
        next_after(before, finished_);
    }

private:
    void run() {
        for (int round = 0;;) {
            round = next_after(round, round_);
            if (side_ == nullptr) return;
            set(begun_, round);
            (*side_)();
            set(finished_, round);
        }
    }

    const std::function<void()>* side_ = nullptr;  // written before round_; null: it is over
    std::atomic<int> round_ = 0;                   // the driver's
    std::atomic<int> begun_ = 0;                   // the other's, as is the next
    std::atomic<int> finished_ = 0;
    std::thread other_{[this] { run(); }};  // the last member
};

/// What one driver needs to play its rounds of a race.
struct driver {
    const std::string& race;
    std::mt19937 random;
    std::optional<pair_of_threads> both = {};  ///< made when it is used: the other one spins

    void play(const std::function<void()>& mine, const std::function<void()>& other) {
        if (!both) both.emplace();
        both->play(mine, other);
    }
    void expect(bool holds, const char* what) const {
        if (!holds) fail(race, what);
    }
    std::chrono::microseconds moment(unsigned most) {
        return std::chrono::microseconds(random() % (most + 1));
    }
};

// SH-01: a worker that is just being made when shutdown_now() comes is interrupted as well.
void execute_against_shutdown_now(driver& d) {
    thread_pool_executor pool(
        {.core_pool_size = 2, .hooks = {.uncaught_exception = [](auto&&...) {}}});
    d.play([&] { pool.shutdown_now(); },
           [&] {
               for (int i = 0; i < 2; ++i) try {
                       // Until it is interrupted: else the pool does not end in time.
                       pool.execute([] { this_thread::sleep_for(2 * never); });
                   } catch (const rejected_execution&) {}
           });
    d.expect(pool.await_termination(never), "the pool did not end");
}

// SH-02: a task that is given away while the pool is shut down is run or refused. There is a worker
// that waits for it, or one that has to be made, or none in a pool that keeps none.
void execute_against_shutdown(driver& d) {
    std::atomic<int> ran = 0;
    bool accepted = false;
    {
        thread_pool_executor pool({.core_pool_size = d.random() % 3 == 0 ? 0 : 1});
        if (d.random() % 2 == 0) pool.prestart_all_core_threads();
        d.play([&] { pool.shutdown(); },
               [&] {
                   try {
                       pool.execute([&] { ++ran; });
                       accepted = true;
                   } catch (const rejected_execution&) {}
               });
        d.expect(pool.await_termination(never), "the pool did not end");
        d.expect(pool.queue().empty(), "a pool that has terminated has a task");
    }
    d.expect(ran == (accepted ? 1 : 0), "a task was lost, or ran though it was refused");
}

// SH-06: what shutdown_now() returns is not run as well.
void take_against_shutdown_now(driver& d) {
    std::atomic<int> ran = 0;
    int accepted = 0;
    std::size_t returned = 0;
    {
        thread_pool_executor pool({.core_pool_size = 1});
        pool.execute([&] { ++ran; });
        ++accepted;
        d.play([&] { returned = pool.shutdown_now().size(); },
               [&] {
                   try {
                       pool.execute([&] { ++ran; });
                       ++accepted;
                   } catch (const rejected_execution&) {}
               });
        d.expect(pool.await_termination(never), "the pool did not end");
    }
    d.expect(ran + static_cast<int>(returned) == accepted, "ran and was returned, or neither");
}

// SH-03: a worker about to sleep does not miss the end.
void destroy_with_or_without_a_task(driver& d) {
    std::atomic<unsigned> ran = 0;
    const unsigned tasks = d.random() % 2;
    {
        thread_pool_executor pool({.core_pool_size = 1});
        if (tasks == 0) pool.prestart_all_core_threads();
        for (unsigned i = 0; i < tasks; ++i) pool.execute([&] { ++ran; });
    }
    d.expect(ran == tasks, "a task was lost");
}

// SH-07: the pool may go as soon as await_termination() has returned.
void destroy_when_terminated(driver& d) {
    auto pool = std::make_unique<thread_pool_executor>(thread_pool_options{.core_pool_size = 1});
    pool->execute([] {});
    pool->shutdown();
    d.expect(pool->await_termination(never), "the pool did not end");
    pool.reset();
}

// WK-01: a worker that leaves for want of work does not leave a task behind.
void keep_alive_against_submit(driver& d) {
    thread_local std::unique_ptr<thread_pool_executor> pool;
    if (!pool || d.random() % 256 == 0)
        pool = std::make_unique<thread_pool_executor>(
            0, 2, 1us + d.moment(30), std::make_unique<linked_blocking_queue<task>>());
    auto result = pool->submit([] {});
    d.expect(result.wait_for(never), "a task is stranded");
    // Now and then as long as an idle worker stays: it leaves before the next one comes, or just
    // then.
    if (d.random() % 4 == 0) std::this_thread::sleep_for(d.moment(30));
}

// RE-03: a pool that goes with the captures of its own tasks runs what it has accepted, and ends.
void destroy_by_its_own_task(driver& d) {
    struct fate {
        std::atomic<int> ran = 0;
        std::atomic<int> over = 0;
    };
    const auto known = std::make_shared<fate>();
    {
        auto pool = std::make_shared<thread_pool_executor>(thread_pool_options{
            .core_pool_size = 2, .hooks = {.terminated = [known] { set(known->over, 1); }}});
        const auto tasks = 1 + d.random() % 3;
        for (auto left = tasks; left > 0; --left) pool->execute([pool, known] { ++known->ran; });
        pool.reset();
        next_after(0, known->over);
        d.expect(known->ran == static_cast<int>(tasks), "a task was lost");
    }
}

// RE-06: what a task captured is gone when its result is there.
void captures_against_get(driver& d) {
    thread_local thread_pool_executor pool({.core_pool_size = 2});
    auto capture = std::make_shared<int>(7);
    const std::weak_ptr<int> alive = capture;
    d.expect(pool.submit([own = std::move(capture)] { return *own; }).get() == 7, "a wrong result");
    d.expect(alive.expired(), "a capture has outlived its task");
}

// QU-05: both sides of a hand-over that may time out agree whether it took place.
void hand_over_against_time_out(driver& d) {
    thread_local synchronous_queue<int> queue;
    auto& between = queue;  // the driver's: a thread_local is not captured by its name
    const auto limit = d.moment(50);
    bool given = false;
    bool got = false;
    d.play([&] { given = between.offer_for(1, limit); },
           [&] { got = between.poll_for(limit).has_value(); });
    d.expect(given == got, "one side says yes and the other no");
}

// IN-05: a taker that is interrupted does not swallow the wake-up of another. There is one element
// for two takers; only if the one that is interrupted got it is there another.
void interrupt_against_put(driver& d) {
    thread_local pair_of_threads more;  // the driver's pair has one taker, this the other
    thread_local linked_blocking_queue<int> queue;
    auto& shared = queue;  // the driver's: a thread_local is not captured by its name
    std::optional<thread_handle> victim;
    std::atomic<int> known = 0;
    std::atomic<int> taken = 0;
    int expected = 1;
    const auto take = [&] {
        shared.take();
        ++taken;
    };
    const auto disturb = [&] {
        next_after(0, known);
        shared.put(1);
        victim->interrupt();
    };
    d.play([&] { more.play(disturb, take); },
           [&] {
               victim.emplace(thread_handle::current());
               set(known, 1);
               try {
                   take();
               } catch (const interrupted&) {
                   return;
               }
               expected = 2;
               (void)shared.offer(2);  // which no interrupt disturbs
               try {
                   this_thread::sleep_for(never);  // until it is interrupted
               } catch (const interrupted&) {}
           });
    d.expect(taken == expected && shared.empty(), "an element is lost");
}

// QU-01: two elements wake two takers, though the second comes while the first is being called.
void two_puts_for_two_takers(driver& d) {
    thread_local pair_of_threads more;
    thread_local linked_blocking_queue<int> queue;
    auto& shared = queue;  // the driver's: a thread_local is not captured by its name
    std::atomic<int> sum = 0;
    const auto put = [&] {
        shared.put(1);
        shared.put(2);
    };
    const auto take = [&] { sum += shared.take(); };
    d.play([&] { more.play(put, take); }, take);
    d.expect(sum == 3 && shared.empty(), "an element is lost");
}

// IN-06: run, cancel and get of one task have one outcome.
void cancel_against_run(driver& d) {
    std::atomic<int> calls = 0;
    future_task<int> task([&] { return ++calls; });
    auto result = task.get_future();
    bool won = false;
    d.play([&] { won = result.cancel(d.random() % 2 == 0); },
           [&] {
               task();
               (void)this_thread::interrupted();
           });
    bool cancelled = false;
    try {
        d.expect(result.get_for(never) == 1, "a wrong result");
    } catch (const cancellation&) {
        cancelled = true;
    }
    d.expect(cancelled == won, "cancel() and get() differ");
    d.expect(calls <= 1 && (won || calls == 1), "it ran twice, or not at all");
}

// FU-04: a continuation that is attached while the task completes runs once.
void then_against_complete(driver& d) {
    std::atomic<int> calls = 0;
    future_task<int> task([] { return 1; });
    auto result = task.get_future();
    future<int> after;
    d.play([&] { after = std::move(result).then([&](int i) { return calls += i; }); },
           [&] { task(); });
    d.expect(after.get_for(never) == 1 && calls == 1, "the continuation did not run once");
}

// IN-01: an interrupt between "not interrupted" and "asleep" ends the wait.
template <class Wait>
void interrupt_against_wait(driver& d, Wait wait) {
    std::optional<thread_handle> waiter;
    std::atomic<int> known = 0;
    bool was_interrupted = false;
    d.play(
        [&] {
            next_after(0, known);
            if (d.random() % 2 == 0) std::this_thread::yield();
            waiter->interrupt();
        },
        [&] {
            waiter.emplace(thread_handle::current());
            set(known, 1);
            try {
                wait();
            } catch (const interrupted&) {
                was_interrupted = true;
            }
        });
    d.expect(was_interrupted, "the interrupt was lost");
}
void interrupt_against_take(driver& d) {
    thread_local linked_blocking_queue<int> queue;
    interrupt_against_wait(d, [&q = queue] { q.take(); });
}
void interrupt_against_blocked_put(driver& d) {
    thread_local array_blocking_queue<int> queue(1);
    (void)queue.offer(1);
    interrupt_against_wait(d, [&q = queue] { q.put(2); });
}
void interrupt_against_poll_for(driver& d) {
    thread_local priority_blocking_queue<int> queue;
    interrupt_against_wait(d, [&q = queue] { q.poll_for(never); });
}
void interrupt_against_offer_for(driver& d) {
    thread_local synchronous_queue<int> queue;
    interrupt_against_wait(d, [&q = queue] { q.offer_for(1, never); });
}
void interrupt_against_get(driver& d) {
    thread_local future_task<int> task([] { return 1; });
    thread_local shared_future<int> result = task.get_future().share();
    interrupt_against_wait(d, [r = result] { r.get(); });
}
void interrupt_against_await_termination(driver& d) {
    thread_local thread_pool_executor pool({.core_pool_size = 1});
    interrupt_against_wait(d, [&p = pool] { p.await_termination(never); });
}
void interrupt_against_sleep(driver& d) {
    interrupt_against_wait(d, [] { this_thread::sleep_for(never); });  // as for the other waits
}

struct named_race {
    const char* name;
    void (*round)(driver&);
};
constexpr named_race races[] = {
    {"SH-01 execute, shutdown_now", execute_against_shutdown_now},
    {"SH-02 execute, shutdown", execute_against_shutdown},
    {"SH-03 worker falls asleep, end", destroy_with_or_without_a_task},
    {"SH-06 take, shutdown_now", take_against_shutdown_now},
    {"SH-07 terminated, destroyed", destroy_when_terminated},
    {"WK-01 keep-alive, submit", keep_alive_against_submit},
    {"RE-03 its own task, destroyed", destroy_by_its_own_task},
    {"RE-06 captures, get", captures_against_get},
    {"QU-01 two puts, two takers", two_puts_for_two_takers},
    {"QU-05 hand-over, time-out", hand_over_against_time_out},
    {"IN-01 interrupt, take", interrupt_against_take},
    {"IN-01 interrupt, put", interrupt_against_blocked_put},
    {"IN-01 interrupt, poll_for", interrupt_against_poll_for},
    {"IN-01 interrupt, offer_for", interrupt_against_offer_for},
    {"IN-01 interrupt, get", interrupt_against_get},
    {"IN-01 interrupt, await_termination", interrupt_against_await_termination},
    {"IN-01 interrupt, sleep", interrupt_against_sleep},
    {"IN-05 interrupt, put, two takers", interrupt_against_put},
    {"IN-06 cancel, run, get", cancel_against_run},
    {"FU-04 then, complete", then_against_complete},
};

int play_all(std::optional<long> wanted, std::chrono::seconds limit, const char* only) {
    constexpr long drivers =
        8;  // they wait more than they work: for each other, and for perturb.so
    const unsigned seed = std::random_device()();
    std::cout << "seed " << seed << std::endl;
    std::atomic<std::uint64_t> played = 0;
    std::atomic<const char*> doing = "nothing";
    const watchdog dog(
        60s, [&] { return played.load(); },
        [&] { return std::string(doing) + ", round " + std::to_string(played); });
    const auto began = std::chrono::steady_clock::now();
    const auto is_chosen = [&](const named_race& race) {
        return only == nullptr || std::string_view(race.name).find(only) != std::string_view::npos;
    };
    const auto chosen = std::count_if(std::begin(races), std::end(races), is_chosen);
    if (chosen == 0) {
        std::cout << "races: there is no race " << only << '\n';
        return 1;
    }
    const long rounds = wanted.value_or(std::numeric_limits<long>::max());
    int count = 0;
    long fewest = rounds;
    for (const auto& race : races) {
        if (!is_chosen(race)) continue;
        const auto& [name, round] = race;
        ++count;
        doing = name;
        const auto race_began = std::chrono::steady_clock::now();
        const auto deadline = wanted ? began + limit : race_began + limit / chosen;
        std::atomic<long> done = 0;
        std::vector<std::thread> threads;
        for (long i = 0; i < drivers; ++i)
            threads.emplace_back([&, i, play = round, told = std::string(name)] {
                driver d{told, std::mt19937(seed + static_cast<unsigned>(i))};
                for (long left = rounds / drivers + rounds % drivers; left > 0; --left) {
                    play(d);
                    played.fetch_add(1, std::memory_order_relaxed);
                    ++done;
                    if (std::chrono::steady_clock::now() > deadline) break;
                }
            });
        for (auto& each : threads) each.join();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - race_began;
        fewest = std::min(fewest, done.load());
        std::cout << "race " << name << ": " << done << " rounds, " << took.count() << " s"
                  << std::endl;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::cout << "races: " << count << " races, " << played << " rounds, at least " << fewest
              << " each; 0 lost, 0 stalls, " << took.count() << " s\n";
    if (!wanted || fewest >= *wanted) return 0;
    std::cout << "races: SHORT: " << fewest << " of " << *wanted << " rounds in " << limit.count()
              << " s\n";
    return 1;
}

}  // namespace
}  // namespace cadre::testing

int main(int argc, char** argv) {
    std::optional<long> rounds;
    long seconds = 60;
    const char* only = nullptr;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::stol(argv[i + 1]);
        if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::stol(argv[i + 1]);
        if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    }
    return cadre::testing::play_all(rounds, std::chrono::seconds(seconds), only);
}
