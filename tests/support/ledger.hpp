// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cadre::testing {

/// What became of every task: each has a number, and tells the ledger when it is called and when it
/// is destroyed without having been called. Whoever gives it to a pool tells whether it was
/// accepted and why it may not run. At the end the books must balance:
///
///     accepted = ran + returned + removed + cancelled before start + discarded
///
/// none twice, none missing, and what was refused did not run. Cheap enough for 10^8 tasks: an
/// atomic byte for what the pool did, far from that of the next number, which another worker may
/// be writing just now; and a plain one for what the giver knows.
class ledger {
public:
    explicit ledger(std::size_t tasks)
        : size_(tasks),
          given_(tasks, 0),
          fates_(std::make_unique<std::atomic<std::uint8_t>[]>(rows() * columns)) {}

    /// What a failing task throws.
    struct failure {};

    /// The task of this number. It knows when it goes without having run; and tells of every run,
    /// also of one that should not be: a second one, or one of what was moved away.
    class entry {
    public:
        entry(ledger& books, std::uint32_t number, bool fails)
            : books_(&books), number_(number), fails_(fails) {}
        entry(entry&& other) noexcept
            : books_(other.books_),
              number_(other.number_),
              fails_(other.fails_),
              waits_(std::exchange(other.waits_, false)) {}
        entry& operator=(entry&&) = delete;
        ~entry() {
            if (!waits_) return;
            books_->note(number_, dropped);
            ++dropped_here_;
        }
        void operator()() {
            waits_ = false;
            books_->note(number_, ran);
            if (fails_) throw failure();
        }

    private:
        ledger* books_;
        std::uint32_t number_;
        bool fails_;
        bool waits_ = true;
    };
    /// How many tasks, of whatever ledger, were dropped by the calling thread.
    static std::size_t dropped_here() noexcept { return dropped_here_; }
    entry task(std::size_t number) { return {*this, static_cast<std::uint32_t>(number), false}; }
    /// One that throws, when it has run.
    entry failing_task(std::size_t number) {
        given_[number] |= failing;
        return {*this, static_cast<std::uint32_t>(number), true};
    }

    // By the thread that gave the task of this number away, and no other.

    void accept(std::size_t number) { given_[number] |= accepted; }
    /// cancel() or remove() of its future said true: it may have been dropped for that.
    void call_off(std::size_t number) { given_[number] |= called_off; }

    std::size_t size() const { return size_; }
    /// How many have met their fate. Only grows, so it serves to see progress.
    std::size_t settled() const { return settled_.load(std::memory_order_relaxed); }

    // When nobody uses the tasks any more.

    bool has_run(std::size_t number) const { return fate(number) & ran; }
    bool was_called_off(std::size_t number) const { return given_[number] & called_off; }
    bool has_failed(std::size_t number) const {
        return has_run(number) && given_[number] & failing;
    }

    struct balance {
        std::size_t accepted = 0;
        std::size_t refused = 0;
        std::size_t ran = 0;
        std::size_t failed = 0;      // ran, and threw
        std::size_t called_off = 0;  // accepted, and dropped because it was cancelled or removed
        std::size_t dropped = 0;     // accepted, and dropped otherwise: returned or discarded
        std::string error;           // the first thing that is wrong, or empty
    };
    balance close() const {
        balance b;
        for (std::size_t i = 0; i < size_; ++i) {
            const unsigned met = fate(i);
            const bool was_accepted = given_[i] & accepted;
            const bool was_ran = met & ran;
            const bool was_dropped = met & dropped;
            const char* wrong = nullptr;
            if (met & twice) wrong = " met its fate twice";
            if (was_ran && was_dropped) wrong = " ran and was dropped";
            if (!was_ran && !was_dropped) wrong = " is missing";
            if (was_ran && !was_accepted) wrong = " ran, though refused";
            if (wrong && b.error.empty()) b.error = "task " + std::to_string(i) + wrong;
            if (!was_accepted) ++b.refused;
            if (was_accepted) ++b.accepted;
            if (was_ran) ++b.ran;
            if (has_failed(i)) ++b.failed;
            if (was_accepted && was_dropped) ++(was_called_off(i) ? b.called_off : b.dropped);
        }
        if (b.error.empty() && b.accepted != b.ran + b.called_off + b.dropped)
            b.error = "the books do not balance";
        return b;
    }

private:
    static constexpr std::uint8_t accepted = 1;
    static constexpr std::uint8_t called_off = 2;
    static constexpr std::uint8_t failing = 4;
    static constexpr std::uint8_t ran = 1;
    static constexpr std::uint8_t dropped = 2;
    static constexpr std::uint8_t twice = 4;
    static constexpr std::size_t columns = 256;  // numbers that have nobody beside them

    /// A whole number of cache lines, and one more: else all columns share a few sets of the cache.
    std::size_t rows() const { return ((size_ + columns - 1) / columns + 63) / 64 * 64 + 64; }
    std::size_t place(std::size_t number) const {
        return number % columns * rows() + number / columns;
    }
    std::uint8_t fate(std::size_t number) const { return fates_[place(number)].load(); }

    void note(std::size_t number, std::uint8_t what) noexcept {
        auto& met = fates_[place(number)];
        if (met.fetch_or(what, std::memory_order_relaxed) & what) met.fetch_or(twice);
        if (number % 64 == 0)
            settled_.fetch_add(64, std::memory_order_relaxed);  // a sample: to see progress
    }

    inline static thread_local std::size_t dropped_here_ = 0;

    const std::size_t size_;
    std::vector<std::uint8_t> given_;
    const std::unique_ptr<std::atomic<std::uint8_t>[]> fates_;
    std::atomic<std::size_t> settled_ = 0;
};

}  // namespace cadre::testing
