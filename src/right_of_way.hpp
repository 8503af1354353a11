// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "pause.hpp"

namespace cadre::detail {

/// Keeps workers with tiny tasks out of each other's way. Two that take from a queue in turns pass
/// its head, its slots and what the tasks touch to and fro between their processors. That may take
/// longer than the tasks themselves, and then two are slower together than one of them alone.
///
/// So they measure it, by the running numbers of what they take: a worker that sees others take
/// between its own tasks knows how long all of them together need for one task, and one that has
/// had a run of tasks without another's between knows how long it needs alone, and tells the
/// others. Where alone is no slower, a worker leaves the queue to the others for some microseconds.
/// No longer, for their next task may be a slow one. Who has just had a run goes on, lest all give
/// way at once.
///
/// Tasks change. What a worker alone needs is forgotten little by little unless somebody measures
/// it again, and now and then one gives way only to have it measured.
///
/// Of one worker.
class right_of_way {
public:
    using clock = std::chrono::steady_clock;

    /// What one worker needs alone, as far as is known: shared by the workers of a queue. A hint,
    /// so all of it is relaxed. On a line of its own, for it changes often.
    class alignas(64) pace {
    public:
        /// For `sample` tasks; zero: not known.
        std::chrono::nanoseconds load() const noexcept {
            return std::chrono::nanoseconds(ns_.load(std::memory_order_relaxed));
        }
        void store(std::chrono::nanoseconds took) noexcept {
            ns_.store(std::min(took, most).count(), std::memory_order_relaxed);
        }
        void forget_an_eighth() noexcept { store(load() + load() / 8); }

    private:
        static constexpr std::chrono::nanoseconds most = std::chrono::milliseconds(1);

        std::atomic<std::int64_t> ns_ = 0;
    };
    static constexpr int sample = 32;

    /// The worker has taken the element with this number. The clock is read seldom: not at all by
    /// one that has the queue to itself for a few tasks only, nor by one whose tasks are not tiny.
    template <class Now>
    void took(std::uint64_t index, pace& alone, Now now) noexcept {
        if (index == std::exchange(last_, index) + 1) {
            const std::uint32_t place = run_++ % measure_every;
            if (place == before_sample) run_since_ = now();
            if (place == before_sample + sample) alone.store(now() - run_since_);
            return;
        }
        if (std::exchange(run_, 0) > before_sample)
            crowded_ = -3 * patience;  // others shall give way
        if (++crowded_ == 0) {
            since_ = now();
            since_index_ = index;
        } else if (crowded_ == patience) {
            look(index, alone, now() - since_);
        }
    }
    void took(std::uint64_t index, pace& alone) noexcept { took(index, alone, clock::now); }

    bool is_owed() const noexcept { return owed_; }
    /// What is_owed() asks for. Before the worker takes its next task. First it offers its
    /// processor to others, among whom may be whoever brings the tasks.
    void give(pace& alone) noexcept {
        owed_ = false;
        alone.forget_an_eighth();
        std::this_thread::yield();
        for (std::uint64_t pauses = 64 + last_ % 128; pauses > 0; --pauses) pause();
    }

private:
    static constexpr std::uint32_t before_sample = 8;
    static constexpr std::uint32_t measure_every = 1024;
    static constexpr int patience = 4;
    static constexpr int rest = 64;  // before the next look, if this one was for nothing
    static constexpr std::uint32_t explore_every = 32;
    static constexpr std::chrono::nanoseconds tiny{1000};

    /// So many elements have been taken since since_, `patience` of them by this worker.
    void look(std::uint64_t index, const pace& alone, std::chrono::nanoseconds took) noexcept {
        const bool explores = ++looks_ % explore_every == 0;
        const auto known = alone.load();
        owed_ =
            took < patience * tiny &&
            (explores || (known.count() != 0 &&
                          took * sample > known * static_cast<std::int64_t>(index - since_index_)));
        crowded_ = owed_ ? -1 : -rest;
    }

    std::uint64_t last_ = 0;
    std::uint32_t run_ = 0;  // tasks without another's between
    clock::time_point run_since_ = {};
    // Tasks with another's before them, since since_. Below zero: until the clock is read.
    int crowded_ = -1;
    std::uint32_t looks_ = 0;
    clock::time_point since_ = {};
    std::uint64_t since_index_ = 0;
    bool owed_ = false;
};

}  // namespace cadre::detail
