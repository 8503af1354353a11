// SPDX-License-Identifier: Apache-2.0
//
// What the machine allows, no pool: a ring, a futex, a thread. Goals are measured by the last two.

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "peer.hpp"

namespace {

/// A bounded queue of 48-byte items for many producers and consumers: each slot has a number that
/// says whose turn it is.
class ring {
public:
    struct item {
        std::array<long, 6> words;
    };

    ring() {
        for (std::size_t i = 0; i < size; ++i) slots_[i].turn.store(i);
    }
    bool push(const item& x) {
        std::size_t at = tail_.load(std::memory_order_relaxed);
        for (;;) {
            slot& own = slots_[at % size];
            const std::size_t turn = own.turn.load(std::memory_order_acquire);
            if (turn == at) {
                if (!tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
                own.value = x;
                own.turn.store(at + 1, std::memory_order_release);
                return true;
            }
            if (turn < at) return false;
            at = tail_.load(std::memory_order_relaxed);
        }
    }
    bool pop(item& x) {
        std::size_t at = head_.load(std::memory_order_relaxed);
        for (;;) {
            slot& own = slots_[at % size];
            const std::size_t turn = own.turn.load(std::memory_order_acquire);
            if (turn == at + 1) {
                if (!head_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) continue;
                x = own.value;
                own.turn.store(at + size, std::memory_order_release);
                return true;
            }
            if (turn < at + 1) return false;
            at = head_.load(std::memory_order_relaxed);
        }
    }

private:
    static constexpr std::size_t size = 1 << 16;
    struct alignas(64) slot {
        std::atomic<std::size_t> turn;
        item value;
    };
    alignas(64) std::atomic<std::size_t> tail_ = 0;
    alignas(64) std::atomic<std::size_t> head_ = 0;
    alignas(64) std::array<slot, size> slots_;
};

/// W1 and W3 on the ring: items instead of tasks, and yielding instead of sleeping.
bench::answer play_ring(const bench::request& asked) {
    const long producers = asked.number("producers", 1);
    const long each = asked.number("tasks", 1'000'000) / producers;
    const auto queue = std::make_unique<ring>();
    std::atomic<long> left = each * producers;
    const auto produce = [&] {
        for (long i = 0; i < each; ++i)
            while (!queue->push({{i, 1, 2, 3, 4, 5}})) std::this_thread::yield();
    };
    const auto consume = [&] {
        long taken = 0;
        ring::item x = {};
        while (left.load(std::memory_order_relaxed) > 0) {
            while (queue->pop(x)) taken += x.words[1];
            left.fetch_sub(std::exchange(taken, 0));
            std::this_thread::yield();
        }
    };
    std::vector<std::thread> consumers;
    for (long i = asked.number("workers", 2); i > 0; --i) consumers.emplace_back(consume);
    const auto begin = bench::clock::now();
    std::vector<std::thread> others;
    for (long i = 1; i < producers; ++i) others.emplace_back(produce);
    produce();
    for (auto& other : others) other.join();
    for (auto& consumer : consumers) consumer.join();
    return bench::answer().add("seconds", bench::seconds(bench::clock::now() - begin));
}

/// A number that a thread sleeps on.
class futex_word {
public:
    void post() {
        value_.store(1, std::memory_order_release);
        syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
    void wait() {
        while (value_.exchange(0, std::memory_order_acquire) == 0)
            syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }

private:
    std::atomic<int> value_ = 0;
};

/// Runs `body()` each time it is called on; ends with its last.
template <class Body>
class called_thread {
public:
    explicit called_thread(Body body)
        : thread_([this, body] {
              for (called_.wait(); !ended_.load(); called_.wait()) body();
          }) {}
    ~called_thread() {
        ended_.store(true);
        called_.post();
        thread_.join();
    }
    void call() { called_.post(); }

private:
    futex_word called_;
    std::atomic<bool> ended_ = false;
    std::thread thread_;
};

/// W5a: a futex wakes a thread.
bench::answer play_wake(const bench::request& asked) {
    const std::chrono::microseconds half(asked.number("interval_us", 1000) / 2);
    bench::clock::time_point started;
    std::atomic<bool> over = false;
    called_thread sleeper([&] {
        started = bench::clock::now();
        over.store(true, std::memory_order_release);
    });
    return bench::sampled(asked, half, [&] {
        over.store(false);
        const auto begin = bench::clock::now();
        sleeper.call();
        bench::await([&] { return over.load(std::memory_order_acquire); }, half);
        return bench::seconds(started - begin);
    });
}

/// W5b: and is woken in turn.
bench::answer play_wake_and_back(const bench::request& asked) {
    const std::chrono::microseconds between(asked.number("interval_us", 1000));
    futex_word answered;
    called_thread sleeper([&] { answered.post(); });
    return bench::sampled(asked, between, [&] {
        const auto begin = bench::clock::now();
        sleeper.call();
        answered.wait();
        return bench::seconds(bench::clock::now() - begin);
    });
}

/// W10: one thread made and joined.
bench::answer play_thread(const bench::request& asked) {
    return bench::repeated(asked, [] {
        pthread_t thread = {};
        if (pthread_create(
                &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr) != 0)
            throw std::runtime_error("no thread");
        pthread_join(thread, nullptr);
    });
}

}  // namespace

bench::peer bench::this_peer() {
    return bench::peer("ring with sequence numbers, futex, pthread_create")
        .play("W1", play_ring)
        .play("W3", play_ring)
        .play("W5a", play_wake)
        .play("W5b", play_wake_and_back)
        .play("W10", play_thread);
}
