// SPDX-License-Identifier: Apache-2.0
//
// queue_fifo.hpp: try_insert, claim_head with claim_slowly, and the standstill of extract_at, which
// closes the gap towards either end, restated on the very locked_index.hpp (where Relacy yields
// instead of the sleep in lock_slowly of locked_index.cpp, which is timed). A putter, a taker and a
// thread that takes from the middle: each element goes to one, who sees what the putter wrote. And
// a putter that looks whether the pool has ended, while somebody ends it and looks whether the
// queue is empty: one sees the other.

#include "simulated.hpp"

#include <cadre/detail/locked_index.hpp>

namespace cadre::detail {

::std::uint64_t locked_index::lock_slowly() noexcept {
    for (;;) {
        ::std::uint64_t seen = word_.load();
        if ((seen & taken) == 0 && try_take(seen)) return seen >> flag_bits;
        rl::yield(1, RL_INFO);
    }
}
void locked_index::wake_one() noexcept {}

}  // namespace cadre::detail

namespace cadre::relacy {

namespace {

enum class fifo_bug {
    none,
    head_left_open,
    old_tail_believed,
    tail_told_late,
    number_believed_amid_put
};

template <fifo_bug bug>
class fifo {
public:
    static constexpr std::size_t capacity = 4;
    rl::var<int> slots[capacity];

    void insert(int x) {
        detail::index_scope tail(tail_);
        VAR(slots[tail.value]) = x;
        ++tail.value;
    }
    /// 0 if there is none.
    int take() {
        std::uint64_t index = 0;
        return claim_head(index) ? static_cast<int>(VAR(slots[index])) : 0;
    }
    bool empty() {
        for (;;) {
            const std::uint64_t head = head_.load();
            const std::uint64_t tail = tail_.load();
            if (tail != head >> head_shift) return false;
            if (bug == fifo_bug::number_believed_amid_put) return true;
            if (tail_.settled() == tail && head_.load() >> head_shift == tail) return true;
        }
    }
    /// The last one: with what is before it moved up, or by moving the tail back.
    int extract_last(bool by_tail) {
        detail::index_scope tail(tail_);
        std::uint64_t flags =
            bug == fifo_bug::head_left_open ? head_.load() : head_.fetch_or(closed);
        std::uint64_t head = flags >> head_shift;
        flags &= moved_back;
        int found = 0;
        if (head != tail.value) {
            auto at = tail.value - 1;
            found = VAR(slots[at]);
            if (by_tail && at != head) {
                if (bug == fifo_bug::tail_told_late)
                    --tail.value;
                else
                    tail.move_back();
                if (bug != fifo_bug::old_tail_believed) flags = moved_back;
            } else {
                for (; at != head; --at) VAR(slots[at]) = static_cast<int>(VAR(slots[at - 1]));
                ++head;
            }
        }
        head_.store(head << head_shift | flags);
        return found;
    }

private:
    static constexpr std::uint64_t closed = 1;
    static constexpr std::uint64_t moved_back = 2;
    static constexpr int head_shift = 2;
    static constexpr std::uint64_t one = std::uint64_t{1} << head_shift;

    bool claim_head(std::uint64_t& index) {
        std::uint64_t seen = head_.load();
        while (!(seen & (closed | moved_back)) &&
               static_cast<std::int64_t>(known_tail_.load(rl::mo_acquire) - (seen >> head_shift)) >
                   0) {
            if (!head_.compare_exchange_weak(seen, seen + one)) continue;
            index = seen >> head_shift;
            return true;
        }
        return claim_slowly(index);
    }
    bool claim_slowly(std::uint64_t& index) {
        std::uint64_t seen = head_.load();
        for (;;) {
            if (seen & closed) {
                { const detail::index_scope wait_until_open(tail_); }
                seen = head_.load();
                continue;
            }
            index = seen >> head_shift;
            const std::uint64_t tail = tail_.load();
            if (tail == index) return false;
            if (!(seen & moved_back)) known_tail_.store(tail, rl::mo_release);
            if (head_.compare_exchange_weak(seen, seen + one)) return true;
        }
    }

    detail::locked_index tail_;
    detail::std::atomic<std::uint64_t> head_ = 0;
    detail::std::atomic<std::uint64_t> known_tail_ = 0;
};

template <fifo_bug bug, bool by_tail>
struct fifo_suite : rl::test_suite<fifo_suite<bug, by_tail>, 3> {
    fifo<bug> queue;
    int got[3][2];  // each thread's own, read at the end

    void before() {
        for (auto& of_thread : got) of_thread[0] = of_thread[1] = 0;
    }
    void thread(unsigned index) {
        if (index == 0) {
            queue.insert(1);
            queue.insert(2);
            queue.insert(3);
        } else if (index == 1) {
            got[1][0] = queue.take();
            got[1][1] = queue.take();
        } else {
            got[2][0] = queue.extract_last(by_tail);
            got[2][1] = queue.extract_last(by_tail);
        }
    }
    void after() {
        int seen[4] = {0, 0, 0, 0};
        for (int x : {got[1][0], got[1][1], got[2][0], got[2][1]}) ++seen[x];
        while (const int x = queue.take()) ++seen[x];
        RL_ASSERT(seen[1] == 1);
        RL_ASSERT(seen[2] == 1);
        RL_ASSERT(seen[3] == 1);
    }
};

/// confirm_queued() and try_terminate() of a pool whose only worker is about to leave.
template <fifo_bug bug>
struct end_suite : rl::test_suite<end_suite<bug>, 2> {
    fifo<bug> queue;
    detail::std::atomic<bool> ended = false;
    rl::var<int> left_to_others;
    rl::var<int> found_empty;

    void before() {
        VAR(left_to_others) = 0;
        VAR(found_empty) = 0;
    }
    void thread(unsigned index) {
        if (index == 0) {
            queue.insert(1);
            if (!ended.load()) VAR(left_to_others) = 1;
        } else {
            ended.store(true);
            if (queue.empty()) VAR(found_empty) = 1;
        }
    }
    void after() { RL_ASSERT(!(VAR(left_to_others) == 1 && VAR(found_empty) == 1)); }
};

}  // namespace

void check_fifo(runner& r) {
    r.passes<fifo_suite<fifo_bug::none, false>>(
        "FIFO queue: a putter, a taker, one who takes from the middle");
    r.passes<fifo_suite<fifo_bug::none, true>>(
        "FIFO queue: a putter, a taker, one who moves the tail back");
    r.passes<end_suite<fifo_bug::none>>("FIFO queue: a put, and a look whether all is over");
    r.finds<end_suite<fifo_bug::number_believed_amid_put>>(
        "FIFO queue found empty amid a put, by its number alone");
    r.finds<end_suite<fifo_bug::none>>("FIFO queue taken without sequential consistency",
                                       given::no_sequential);
    r.finds<fifo_suite<fifo_bug::head_left_open, false>>("FIFO queue whose head is left open");
    r.finds<fifo_suite<fifo_bug::old_tail_believed, true>>(
        "FIFO queue whose takers believe an old tail");
    r.finds<fifo_suite<fifo_bug::tail_told_late, true>>(
        "FIFO queue whose tail is back after its head is open");
    r.finds<fifo_suite<fifo_bug::none, false>>("FIFO queue with relaxed orders", given::nothing);
}

}  // namespace cadre::relacy
