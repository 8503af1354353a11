// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "support/watched.hpp"

namespace cadre::testing {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int slowness = 10;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
inline constexpr int slowness = 10;
#else
inline constexpr int slowness = 1;
#endif
#else
inline constexpr int slowness = 1;
#endif

/// Counts the rounds of a stress test: so many, or fewer if they take more than two seconds on a
/// busy machine, but `least` in any case. CADRE_STRESS_SCALE multiplies both; a sanitizer plays a
/// tenth. A scale below one shrinks the least as well; one round is always played.
class rounds {
public:
    explicit rounds(int usual, int least = 1)
        : least_(std::max(static_cast<int>(least * std::min(scale(), 1.0)), 1)),
          left_(std::max(static_cast<int>(usual * scale() / slowness), least_)),
          optional_(left_ - least_),
          deadline_(std::chrono::steady_clock::now() + std::chrono::duration_cast<clock::duration>(
                                                           std::chrono::seconds(2) * scale())) {}
    bool another() {
        note_progress();
        return left_-- > 0 && (left_ >= optional_ || clock::now() < deadline_);
    }
    /// The number of the round: falls from the first to 0.
    int number() const { return left_; }

private:
    using clock = std::chrono::steady_clock;
    static double scale() {
        const char* given = std::getenv("CADRE_STRESS_SCALE");
        return given ? std::atof(given) : 1.0;
    }
    const int least_;
    int left_;
    const int optional_;  // the last so many are played only if there is time
    const clock::time_point deadline_;
};

/// A seed that differs from run to run, and is told.
inline unsigned new_seed() {
    const unsigned seed = std::random_device()();
    std::cout << "seed " << seed << '\n';
    return seed;
}

/// Busy for a random time, the same range on all sides of a race.
inline void dawdle(std::mt19937& random, std::chrono::nanoseconds most) {
    const auto until = std::chrono::steady_clock::now() + (random() % 1000) * most / 1000;
    while (std::chrono::steady_clock::now() < until) {}
}

/// Lets the sides of a race start together, round after round: the first on the calling thread,
/// each other on a thread of its own.
class race {
public:
    using side = std::function<void()>;

    explicit race(std::vector<side> sides) : first_(std::move(sides.front())) {
        const unsigned seed = new_seed();
        random_.seed(seed);
        for (unsigned i = 1; i < sides.size(); ++i)
            runners_.emplace_back(
                [this, each = std::move(sides[i]), random = std::mt19937(seed + i)]() mutable {
                    run(each, random);
                });
    }
    ~race() {
        over_ = true;
        ++round_;
        for (auto& runner : runners_) runner.join();
    }
    race(const race&) = delete;
    race& operator=(const race&) = delete;

    /// One round: returns when all sides have returned.
    void play() {
        finished_ = 0;
        ++round_;
        dawdle(random_);
        first_();
        while (finished_ < static_cast<int>(runners_.size())) std::this_thread::yield();
    }

private:
    void run(const side& each, std::mt19937& random) {
        for (int seen = 0;;) {
            while (round_ == seen) std::this_thread::yield();
            ++seen;
            if (over_) return;
            dawdle(random);
            each();
            ++finished_;
        }
    }
    /// Busy for a moment, so that each side is the first one now and then.
    static void dawdle(std::mt19937& random) {
        for (unsigned i = random() % 256; i > 0; --i) pause_.load(std::memory_order_relaxed);
    }

    inline static std::atomic<int> pause_ = 0;  // read to pass time, never written
    const side first_;
    std::mt19937 random_;
    std::atomic<bool> over_ = false;
    std::atomic<int> round_ = 0;
    std::atomic<int> finished_ = 0;
    std::vector<std::thread> runners_;
};

}  // namespace cadre::testing
