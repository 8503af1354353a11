// SPDX-License-Identifier: Apache-2.0
//
// A storm: one allocation in a hundred fails, of workers and of those who give them tasks, and one
// thread in ten cannot be had. Pools of each kind are given tasks in it, which are cancelled, or
// throw. Then it is over: within a second the pool has all its threads again; and it ends, in one
// way or another, if by shutdown_now() in another storm. Each task that was accepted ran, or is
// accounted for; each future is done.
//
//     fault_storm [--seconds S] [--seed X]
//
// The last line has the figures. Anything wrong, or nothing moving for a minute: says what, and
// fails.

#include <cadre/cadre.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/ledger.hpp"
#include "support/watchdog.hpp"

namespace {

std::atomic<bool> storm = false;
std::atomic<long> failures = 0;
thread_local bool is_meant = false;  // by the storm: the calling thread
thread_local std::minstd_rand drawn;

bool is_hit() noexcept {
    if (!is_meant || !storm.load(std::memory_order_relaxed) || drawn() % 100 != 0) return false;
    failures.fetch_add(1, std::memory_order_relaxed);
    return true;
}

// Not inline: g++ would take them for a pair that does not belong together.
[[gnu::noinline]] void* allocate(std::size_t size) {
    void* const block = is_hit() ? nullptr : std::malloc(size > 0 ? size : 1);
    if (!block) throw std::bad_alloc();
    return block;
}
[[gnu::noinline]] void deallocate(void* block) noexcept { std::free(block); }

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
// As the library's, which AddressSanitizer replaces by one that free() is no match for.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    try {
        return allocate(size);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
void operator delete(void* block) noexcept { deallocate(block); }
void operator delete(void* block, std::size_t) noexcept { deallocate(block); }

namespace cadre::testing {
namespace {

using namespace std::chrono_literals;

/// While it lives, the calling thread is in the storm, or is not.
class exposed {
public:
    explicit exposed(bool is_now = true) : before_(std::exchange(is_meant, is_now)) {}
    ~exposed() { is_meant = before_; }
    exposed(const exposed&) = delete;
    exposed& operator=(const exposed&) = delete;

private:
    const bool before_;
};

/// Refuses one thread in ten; the others are in the storm as long as they run.
thread make_exposed_thread(std::function<void()> body) {
    static std::atomic<unsigned> asked = 0;
    static std::atomic<unsigned> made = 0;
    if (storm && ++asked % 10 == 0) return {};
    const exposed sheltered(false);
    return thread([body = std::move(body), seed = ++made] {
        drawn.seed(seed);
        const exposed now;
        body();
    });
}

struct sums {
    std::atomic<std::uint64_t> pools = 0;
    std::size_t accepted = 0;
    std::size_t ran = 0;
};

[[noreturn]] void fail(const std::string& what, unsigned seed) {
    std::cout << "storm: " << what << ", seed " << seed << std::endl;
    std::_Exit(1);
}

/// The life of one pool.
template <class Pool>
class life {
public:
    life(Pool& pool, unsigned seed) : pool_(pool), seed_(seed), random_(seed) {}

    void play(int threads, sums& sum) {
        storm = true;
        for (std::size_t i = 0; i < tasks_.size(); ++i) give(i);
        storm = false;
        regain(threads);
        const std::size_t returned = end();
        for (const auto& [number, result] : results_)
            if (!result.is_done()) fail("a future is pending", seed_);
        const auto books = tasks_.close();
        if (!books.error.empty()) fail(books.error, seed_);
        if (const auto untold = books.dropped - told(); untold > returned)
            fail(std::to_string(untold) + " tasks did not run, and " + std::to_string(returned) +
                     " were returned",
                 seed_);
        ++sum.pools;
        sum.accepted += books.accepted;
        sum.ran += books.ran;
    }

private:
    void give(std::size_t number) {
        auto next = number % 16 == 5 ? tasks_.failing_task(number) : tasks_.task(number);
        try {
            future<void> result;
            {
                const exposed now;
                if (number % 3 == 0)
                    result = pool_.submit(std::move(next));
                else
                    pool_.execute(std::move(next));
            }
            tasks_.accept(number);
            if (result.valid()) results_.emplace_back(number, std::move(result));
        } catch (const rejected_execution&) {  // they are told
        } catch (const std::bad_alloc&) {
        } catch (const ledger::failure&) {  // it ran here
            tasks_.accept(number);
        }
        if (results_.empty() || number % 8 != 0) return;
        auto& [other, result] = results_[random_() % results_.size()];
        const exposed now;
        if (result.cancel(true)) tasks_.call_off(other);
    }
    /// The storm is over: the pool has a second for it.
    void regain(int threads) {
        (void)pool_.submit([] {}).get();
        if (threads == 0) return;
        // Of a step that takes longer, the rest is the machine's: it stood still, or did other
        // things.
        constexpr std::chrono::nanoseconds longest_step = 10ms;
        std::chrono::nanoseconds patience = 1s;
        while (pool_.pool_size() < threads) {
            if (patience <= 0s) fail("not all threads are back: " + pool_.to_string(), seed_);
            const auto began = std::chrono::steady_clock::now();
            (void)pool_.submit([] {}).get();
            patience -= std::min<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - began,
                                                           longest_step);
        }
    }
    std::size_t end() {
        std::size_t returned = 0;
        switch (random_() % 3) {
            case 0:
                pool_.close();
                return 0;
            case 1:
                pool_.shutdown();
                break;
            default:
                storm = true;
                returned = stop().size();
                storm = false;
        }
        if (!pool_.await_termination(10min)) fail("no end", seed_);
        return returned;
    }
    std::vector<task> stop() {
        for (;;) try {
                const exposed now;
                return pool_.shutdown_now();
            } catch (const std::bad_alloc&) {}
    }
    /// What a worker has taken from a scheduler that is stopped is cancelled, if a future tells.
    std::size_t told() const {
        std::size_t count = 0;
        if constexpr (std::is_same_v<Pool, scheduled_thread_pool_executor>)
            for (const auto& [number, result] : results_)
                if (!tasks_.was_called_off(number) && result.is_cancelled()) ++count;
        return count;
    }

    Pool& pool_;
    const unsigned seed_;
    std::minstd_rand random_;
    ledger tasks_{4000};
    std::vector<std::pair<std::size_t, future<void>>> results_;
};

pool_hooks quiet_hooks() {
    return {.uncaught_exception = [](auto&&...) {}};
}

void play_pool(unsigned seed, sums& sum) {
    const bool is_bounded = seed % 2 == 0;
    thread_pool_options options{.core_pool_size = 3,
                                .maximum_pool_size = 4,
                                .keep_alive = 200us,
                                .thread_factory = make_exposed_thread,
                                .hooks = quiet_hooks(),
                                .remove_on_cancel = seed % 3 == 0};
    if (is_bounded) {
        options.queue = std::make_unique<array_blocking_queue<task>>(32);
        options.rejection = caller_runs_policy{};
    }
    thread_pool_executor pool(std::move(options));
    life(pool, seed).play(3, sum);
}
void play_scheduler(unsigned seed, sums& sum) {
    scheduled_thread_pool_executor pool({.core_pool_size = 2,
                                         .thread_factory = make_exposed_thread,
                                         .hooks = quiet_hooks(),
                                         .remove_on_cancel = seed % 2 == 0});
    life(pool, seed).play(2, sum);
}
void play_stealing(unsigned seed, sums& sum) {
    work_stealing_pool pool(
        {.parallelism = 3, .thread_factory = make_exposed_thread, .hooks = quiet_hooks()});
    life(pool, seed).play(3, sum);
}

int play_all(std::chrono::seconds time, unsigned seed) {
    std::cout << "seed " << seed << std::endl;
    sums sum;
    const watchdog dog(
        60s, [&] { return sum.pools.load(); },
        [&] { return std::to_string(sum.pools) + " pools, seed " + std::to_string(seed); });
    const auto began = std::chrono::steady_clock::now();
    do {
        const auto number = static_cast<unsigned>(sum.pools);
        constexpr void (*kinds[])(unsigned, sums&) = {play_pool, play_scheduler, play_pool,
                                                      play_stealing};
        kinds[number % 4](seed + number, sum);
    } while (std::chrono::steady_clock::now() - began < time);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::cout << "storm: " << failures << " allocations failed, in " << sum.pools << " pools; "
              << sum.accepted << " tasks accepted, " << sum.ran
              << " ran; 0 lost, 0 doubled, 0 pending, all threads back, " << took.count() << " s\n";
    return failures > 0 ? 0 : 1;
}

}  // namespace
}  // namespace cadre::testing

int main(int argc, char** argv) {
    long seconds = 10;
    unsigned seed = std::random_device()();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::stol(argv[i + 1]);
        if (std::strcmp(argv[i], "--seed") == 0)
            seed = static_cast<unsigned>(std::stoul(argv[i + 1]));
    }
    return cadre::testing::play_all(std::chrono::seconds(seconds), seed);
}
