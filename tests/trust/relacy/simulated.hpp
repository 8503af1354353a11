// SPDX-License-Identifier: Apache-2.0
#pragma once

// Runs lock-free code of the library in Relacy, which plays threads in random interleavings and
// lets an atomic load return any value that the memory model allows, also ones that x86-64 never
// shows.
//
// What is included behind this file and lies in cadre::detail finds the namespace std below before
// the real one, and so gets simulated atomics: the very header of the library can be checked. What
// cannot be included so, because it needs threads or the kernel, is restated; each file here says
// what it mirrors.

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include <relacy/relacy.hpp>
// Relacy's names for what the library means as it is.
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno

namespace cadre::relacy {

/// How much of the order that the code asks for it is given: less is a mutant.
enum class given { all, no_sequential, nothing };
inline given orders = given::all;

inline rl::memory_order weakened(rl::memory_order wanted, rl::memory_order instead) {
    if (orders == given::nothing) return rl::mo_relaxed;
    return orders == given::no_sequential && wanted == rl::mo_seq_cst ? instead : wanted;
}

}  // namespace cadre::relacy

namespace cadre::detail::std {

using namespace ::std;
using rl::memory_order;
using rl::mo_acq_rel;
using rl::mo_acquire;
using rl::mo_relaxed;
using rl::mo_release;
using rl::mo_seq_cst;

/// As much of std::atomic as the library uses. Relacy makes of std::memory_order_x an order and a
/// place.
template <class T>
class atomic {
public:
    using place = rl::debug_info_param;

    atomic() : value_(T()) {}
    atomic(T value) : value_(value) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(memory_order order = mo_seq_cst, place at = RL_INFO) const {
        return value_.load(relacy::weakened(order, mo_acquire), at);
    }
    void store(T value, memory_order order = mo_seq_cst, place at = RL_INFO) {
        value_.store(value, relacy::weakened(order, mo_release), at);
    }
    T exchange(T value, memory_order order = mo_seq_cst, place at = RL_INFO) {
        return value_.exchange(value, relacy::weakened(order, mo_acq_rel), at);
    }
    T fetch_or(T value, memory_order order = mo_seq_cst, place at = RL_INFO) {
        return value_.fetch_or(value, relacy::weakened(order, mo_acq_rel), at);
    }
    T fetch_sub(T value, memory_order order = mo_seq_cst, place at = RL_INFO) {
        return value_.fetch_sub(value, relacy::weakened(order, mo_acq_rel), at);
    }
    bool compare_exchange_strong(T& seen, T value, memory_order order = mo_seq_cst,
                                 place at = RL_INFO) {
        return value_.compare_exchange_strong(seen, value, relacy::weakened(order, mo_acq_rel), at);
    }
    bool compare_exchange_weak(T& seen, T value, memory_order order = mo_seq_cst,
                               place at = RL_INFO) {
        return value_.compare_exchange_weak(seen, value, relacy::weakened(order, mo_acq_rel), at);
    }

    rl::atomic<T>& simulated() { return value_; }

private:
    rl::atomic<T> value_;
};

}  // namespace cadre::detail::std

namespace cadre::detail {

/// futex.hpp: the kernel compares the word and puts the thread to sleep in one step.
template <class T>
void futex_wait(std::atomic<T>& word, T expected) {
    rl::context& c = rl::ctx();
    c.sched();
    c.atomic_thread_fence_seq_cst();
    T seen;
    {
        rl::preemption_disabler in_one_step(c);
        seen = word.simulated().load(rl::mo_acquire, RL_INFO);
    }
    if (seen == expected) word.simulated().wait(c, false, true, RL_INFO);
}
template <class T>
void futex_wake_one(std::atomic<T>& word) {
    rl::context& c = rl::ctx();
    c.sched();
    c.atomic_thread_fence_seq_cst();
    word.simulated().wake(c, 1, RL_INFO);
}

/// thread_control.cpp: park_until() without a deadline, unpark().
class parker {
public:
    void park() {
        ::std::uint32_t seen = none;
        if (permit_.compare_exchange_strong(seen, asleep)) futex_wait(permit_, asleep);
        permit_.exchange(none);
    }
    void unpark() {
        if (permit_.exchange(granted) == asleep) futex_wake_one(permit_);
    }
    /// A mutant: remembers nothing.
    void unpark_if_asleep() {
        ::std::uint32_t seen = asleep;
        if (permit_.compare_exchange_strong(seen, granted)) futex_wake_one(permit_);
    }

private:
    static constexpr ::std::uint32_t none = 0;
    static constexpr ::std::uint32_t granted = 1;
    static constexpr ::std::uint32_t asleep = 2;
    std::atomic<::std::uint32_t> permit_ = 0;
};

}  // namespace cadre::detail

namespace cadre::relacy {

/// Plays a suite; prints one line. False if the outcome is not the expected one.
class runner {
public:
    explicit runner(unsigned iterations) : iterations_(iterations) {}

    template <class Suite>
    void passes(const char* what) {
        orders = given::all;
        const auto result = play<Suite>(iterations_, nowhere_);
        total_ += result.stop_iteration;
        ::std::cout << "relacy: " << what << " | " << result.stop_iteration << " interleavings | "
                    << (result.test_result == rl::test_result_success ? "passed" : "FAILED")
                    << ::std::endl;
        if (result.test_result == rl::test_result_success) return;
        failed_ = true;
        play<Suite>(iterations_, ::std::cerr);  // the same again, with what led to it
    }
    /// Relacy finds something wrong with it; else the suite shows nothing.
    template <class Suite>
    void finds(const char* what, given how_much = given::all) {
        orders = how_much;
        const auto result = play<Suite>(iterations_ * 10, nowhere_);
        orders = given::all;
        const bool found = result.test_result != rl::test_result_success;
        ++mutants_;
        ::std::cout << "relacy: mutant: " << what << " | "
                    << rl::test_result_str(result.test_result) << " at " << result.stop_iteration
                    << " | " << (found ? "rejected" : "NOT SEEN") << ::std::endl;
        if (!found) failed_ = true;
    }
    int report() const {
        ::std::cout << total_ << " interleavings, " << mutants_ << " mutants rejected"
                    << ::std::endl;
        return failed_ ? 1 : 0;
    }

private:
    template <class Suite>
    rl::test_params play(unsigned iterations, ::std::ostream& output) {
        rl::test_params params;
        params.iteration_count = iterations;
        params.output_stream = &output;
        params.progress_stream = &output;
        rl::simulate<Suite>(params);
        return params;
    }

    const unsigned iterations_;
    unsigned long total_ = 0;
    int mutants_ = 0;
    bool failed_ = false;
    ::std::ostream nowhere_{nullptr};  // one that needs no memory, which is Relacy's while it plays
};

void check_deque(runner& r);
void check_fifo(runner& r);
void check_future(runner& r);
void check_handover(runner& r);
void check_memory(runner& r);
void check_parker(runner& r);

}  // namespace cadre::relacy
