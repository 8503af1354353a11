// SPDX-License-Identifier: Apache-2.0
//
// future_core.cpp: the word with its phases (start, begin_completion, cancel_this, conclude) and
// the mark `watched`, under the very small_mutex.hpp (whose sleep, of small_mutex.cpp, is
// restated). A runner, a canceller and one who waits: one outcome, a value that is seen whole,
// nobody left waiting, and the callable in one hand.

#include "simulated.hpp"

#include <cadre/detail/small_mutex.hpp>

namespace cadre::detail {

void small_mutex::lock_slowly() noexcept {
    while (word_.exchange(contended, std::memory_order_acquire) != free)
        futex_wait(word_, contended);
}
void small_mutex::wake_one() noexcept { futex_wake_one(word_); }

}  // namespace cadre::detail

namespace cadre::relacy {

namespace {

enum class future_bug { none, completes_without_a_look, watches_without_a_look };

template <future_bug bug>
struct future_suite : rl::test_suite<future_suite<bug>, 3> {
    using word = std::uint32_t;
    static constexpr word pending = 0;
    static constexpr word running = 1;
    static constexpr word completing = 2;
    static constexpr word success = 3;
    static constexpr word cancelled = 5;
    static constexpr word phase_mask = 7;
    static constexpr word watched = 8;

    detail::std::atomic<word> word_ = pending;
    detail::small_mutex mutex_;
    detail::parker waiter;   // of the one who waits
    rl::var<int> is_listed;  // guarded by mutex_
    detail::std::atomic<bool> woken = false;
    rl::var<int> value;          // written before the final phase, read after it
    rl::var<int> callable;       // of whoever owns it
    bool was_cancelled = false;  // the canceller's

    void before() {
        VAR(is_listed) = 0;
        VAR(callable) = 1;
    }
    word phase() { return word_.load() & phase_mask; }
    bool move(word from, word to) {
        word seen = word_.load();
        while ((seen & phase_mask) == from)
            if (word_.compare_exchange_weak(seen, (seen & watched) | to)) return true;
        return false;
    }
    void wake_waiters(bool somebody_watches) {
        if (!somebody_watches && bug != future_bug::completes_without_a_look) return;
        if (bug == future_bug::completes_without_a_look) return;
        mutex_.lock();
        const bool listed = VAR(is_listed) == 1;
        if (listed) {
            VAR(is_listed) = 0;
            woken.store(true, rl::mo_release);
        }
        mutex_.unlock();
        if (listed) waiter.unpark();
    }
    void run() {
        if (!move(pending, running)) return;
        VAR(callable) = 0;
        if (!move(running, completing)) return;
        VAR(value) = 7;
        wake_waiters(word_.exchange(success) & watched);
    }
    bool cancel() {
        for (auto seen = phase(); seen <= running; seen = phase()) {
            if (!move(seen, cancelled)) continue;
            if (seen == pending) VAR(callable) = 0;
            wake_waiters(word_.load() & watched);
            return true;
        }
        return false;
    }
    bool watch() {
        word seen = word_.load();
        while ((seen & phase_mask) < success) {
            if (seen & watched) return true;
            if (word_.compare_exchange_weak(seen, seen | watched)) return true;
        }
        return bug == future_bug::watches_without_a_look;
    }
    void wait() {
        if (phase() >= success) return;
        mutex_.lock();
        const bool listed = watch();
        if (listed) VAR(is_listed) = 1;
        mutex_.unlock();
        if (!listed) return;
        while (!woken.load(rl::mo_acquire)) waiter.park();
    }
    void thread(unsigned index) {
        if (index == 0) {
            run();
        } else if (index == 1) {
            was_cancelled = cancel();
        } else {
            wait();
            RL_ASSERT(phase() == success || phase() == cancelled);
            if (phase() == success) RL_ASSERT(VAR(value) == 7);
        }
    }
    void after() { RL_ASSERT((phase() == cancelled) == was_cancelled); }
};

}  // namespace

void check_future(runner& r) {
    r.passes<future_suite<future_bug::none>>("future: a runner, a canceller, one who waits");
    r.finds<future_suite<future_bug::completes_without_a_look>>(
        "future that does not look for who waits");
    r.finds<future_suite<future_bug::watches_without_a_look>>(
        "future that is watched when it is done");
    r.finds<future_suite<future_bug::none>>("future with relaxed orders", given::nothing);
}

}  // namespace cadre::relacy
