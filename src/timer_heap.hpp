// SPDX-License-Identifier: Apache-2.0
//
// Timers by their time, then by the order in which they were first inserted. There may be millions,
// most of them far off and cancelled long before their time; so only those that are due soon are
// kept in order.
//
// The near are in near_, a heap of four children a node, or in run_, if they came nearly in order.
// What is far off lies in blocks of 256, in the order in which it came: to put it there is to
// append, to take it out is to strike out its slot. Two keys tell near from far, bound_ <= target_.
// Whenever a member function returns:
//   all in the blocks is after bound_;
//   if there is anything at all, the near have a first, and that is not after bound_: so it is the
//   first of all;
//   what was put into the blocks since target_ was set is after target_.
// Timers that are after bound_ may be near too; they do no harm there.
//
// When the near are running out, a sweep begins: target_ is set so that about a sixteenth of what
// is far is not after it. Each removal of a near one then goes through one block and moves what is
// not after target_ into near_; at the end bound_ = target_. A block whose earliest is after
// target_ is passed over. So each removal does a bounded piece of work, unless the cancelling of
// what is near has outrun the sweep: then it is finished at once. When near_ grows too long, both
// keys are lowered, so that more of what comes is far.
//
// A slot is struck out, not written to, for it is likely to be in no cache, and is not filled
// again. A block is given back when its last timer has left. When but an eighth of the slots is in
// use, each removal also goes through one block, and if few are left in it, appends them to the
// last block. A sweep does the same.
//
// Only insert() and retime() may fail for want of memory. If a sweep finds none, the first of the
// blocks alone is moved to near_, which has a place for it: something was just removed, or the
// place was made before.

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <cadre/detail/duration.hpp>

#include "timer_run.hpp"

namespace cadre::detail {

/// See above. A Timer has the members place_ (std::uint32_t), which belongs to the heap while it is
/// in there, and sequence_ (std::uint64_t): zero at first, then its number, which it keeps when it
/// is inserted again. The heap owns none of them.
template <class Timer>
class timer_heap {
public:
    struct entry {
        steady_time due;
        Timer* timer;
    };
    enum class region { any, near };
    /// The place of a timer that is in no heap.
    static constexpr std::uint32_t nowhere = ~std::uint32_t{0};
    static constexpr std::size_t block_size = 256;

    timer_heap() = default;
    timer_heap(const timer_heap&) = delete;
    timer_heap& operator=(const timer_heap&) = delete;

    static bool before(const entry& a, const entry& b) noexcept {
        if (a.due != b.due) return a.due < b.due;
        return a.timer->sequence_ < b.timer->sequence_;
    }

    bool empty() const noexcept { return near_.empty() && run_.empty(); }
    std::size_t size() const noexcept { return near_.size() + run_.size() + far_; }
    /// The first of all; there is one.
    const entry& front() const noexcept {
        if (run_.empty()) return near_.front();
        if (near_.empty()) return run_.front();
        return before(near_.front(), run_.front()) ? near_.front() : run_.front();
    }
    steady_time due_of(const Timer& timer) const noexcept { return at(timer.place_).due; }

    /// True if it is the first now. Strong guarantee. Those that retime() is to see must be near.
    bool insert(Timer& timer, steady_time due, region where = region::any) {
        const entry added{due, &timer};
        if (timer.sequence_ == 0) timer.sequence_ = ++last_sequence_;
        if (where == region::any && after(added, target_) && append(added)) return false;
        insert_near(added, where);
        return front().timer == &timer;
    }

    void remove(Timer& timer) noexcept {
        const std::uint32_t place = std::exchange(timer.place_, nowhere);
        if (!(place & is_far)) {
            take_from_near(place);
            return;
        }
        --far_;
        strike_out(block_of(place), slot_of(place));
        if (blocks_in_use_ * (block_size / 8) > far_ + block_size) tidy();
    }

    /// In no order.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const entry& e : near_) visit(e);
        run_.for_each(visit);
        for (const block& b : blocks_)
            for (std::size_t i = b.next(0); i < block_size; i = b.next(i + 1)) visit(b.slots[i]);
    }

    /// Gives those that were inserted as near, among others, another time. Strong guarantee.
    template <class TimeOf>
    void retime(TimeOf time_of) {
        make_room(1);
        for (entry& e : near_) e.due = time_of(e);
        for (std::size_t place = near_.size(); place-- > 0;) sift_down(place, near_[place]);
        keep_first_near();
    }

    void swap(timer_heap& other) noexcept {
        std::swap(near_, other.near_);
        run_.swap(other.run_);
        std::swap(blocks_, other.blocks_);
        std::swap(unused_, other.unused_);
        std::swap(blocks_in_use_, other.blocks_in_use_);
        std::swap(far_, other.far_);
        std::swap(last_, other.last_);
        std::swap(bound_, other.bound_);
        std::swap(target_, other.target_);
        std::swap(sweeping_, other.sweeping_);
        std::swap(next_swept_, other.next_swept_);
        std::swap(next_tidied_, other.next_tidied_);
        std::swap(most_near_, other.most_near_);
        std::swap(last_sequence_, other.last_sequence_);
    }

private:
    static constexpr std::size_t arity = 4;
    static constexpr std::size_t few_near = 4096;  // with no more, nothing need be far
    static constexpr std::size_t sparse = block_size / 4;
    static constexpr std::uint32_t is_far = std::uint32_t{1} << 31;
    static constexpr std::uint32_t is_in_run = std::uint32_t{1} << 30;  // if it is not far
    static_assert(is_in_run == timer_run<entry>::positions);
    static constexpr std::size_t no_block = (std::size_t{1} << 23) - 1;  // nor any beyond

    struct key {
        steady_time due;
        std::uint64_t sequence;
    };
    static constexpr key end{steady_time::max(), std::numeric_limits<std::uint64_t>::max()};

    struct alignas(64) block {
        std::unique_ptr<entry[]> slots;             // null: not in use
        steady_time earliest = steady_time::max();  // none in it is before this
        std::uint32_t used = 0;                     // slots that were ever filled
        std::uint32_t live = 0;                     // of those, not struck out
        std::array<std::uint64_t, block_size / 64> live_slots = {};

        /// The first that is live, from this one on; block_size if there is none.
        std::size_t next(std::size_t slot) const noexcept {
            for (; slot < block_size; slot = (slot / 64 + 1) * 64)
                if (const auto bits = live_slots[slot / 64] >> slot % 64)
                    return slot + static_cast<std::size_t>(std::countr_zero(bits));
            return block_size;
        }
    };
    static_assert(sizeof(block) == 64);  // a line of cache

    static std::size_t block_of(std::uint32_t place) noexcept {
        return (place & ~is_far) / block_size;
    }
    static std::size_t slot_of(std::uint32_t place) noexcept { return place % block_size; }

    const entry& at(std::uint32_t place) const noexcept {
        if (place & is_far) return blocks_[block_of(place)].slots[slot_of(place)];
        return place & is_in_run ? run_.at(place & ~is_in_run) : near_[place];
    }
    static bool after(const entry& e, const key& k) noexcept {
        if (e.due != k.due) return e.due > k.due;
        return e.timer->sequence_ > k.sequence;
    }

    // ---- the near

    std::size_t near_count() const noexcept { return near_.size() + run_.size(); }
    void insert_near(const entry& added, region where) {
        if (where == region::any && !after(added, target_) && join_run(added)) return;
        near_.push_back(added);
        sift_up(near_.size() - 1, added);
        if (near_.size() >= most_near_) lower_bound();
    }
    [[gnu::noinline]] void take_from_near(std::uint32_t place) noexcept {
        if (place & is_in_run)
            run_.remove(place & ~is_in_run);
        else
            remove_near(place);
        keep_first_near();
    }
    /// False if it is not in order. Strong guarantee.
    bool join_run(const entry& added) {
        if (!run_.accepts(added, before)) return false;
        run_.insert(added, before, [](const entry& e, std::uint32_t position) {
            e.timer->place_ = is_in_run | position;
        });
        return true;
    }

    void put(std::size_t place, const entry& e) noexcept {
        near_[place] = e;
        e.timer->place_ = static_cast<std::uint32_t>(place);
    }
    void sift_up(std::size_t place, entry e) noexcept {
        while (place > 0) {
            const std::size_t parent = (place - 1) / arity;
            if (!before(e, near_[parent])) break;
            put(place, near_[parent]);
            place = parent;
        }
        put(place, e);
    }
    void sift_down(std::size_t place, entry e) noexcept {
        for (;;) {
            const std::size_t first = place * arity + 1;
            if (first >= near_.size()) break;
            std::size_t least = first;
            const std::size_t end_of_children = std::min(first + arity, near_.size());
            for (std::size_t child = first + 1; child < end_of_children; ++child)
                if (before(near_[child], near_[least])) least = child;
            if (!before(near_[least], e)) break;
            put(place, near_[least]);
            place = least;
        }
        put(place, e);
    }
    void remove_near(std::size_t place) noexcept {
        const entry moved = near_.back();
        near_.pop_back();
        if (place == near_.size()) return;
        if (place > 0 && before(moved, near_[(place - 1) / arity]))
            sift_up(place, moved);
        else
            sift_down(place, moved);
    }

    // ---- the blocks of the far

    /// False, with nothing changed, if there can be no more blocks. Strong guarantee.
    bool append(const entry& e) {
        if (last_ == no_block || blocks_[last_].used == block_size) {
            if (!add_block()) return false;
        }
        block& b = blocks_[last_];
        e.timer->place_ = static_cast<std::uint32_t>(is_far | (last_ * block_size + b.used));
        b.slots[b.used] = e;
        b.live_slots[b.used / 64] |= std::uint64_t{1} << b.used % 64;
        ++b.used;
        ++b.live;
        b.earliest = std::min(b.earliest, e.due);
        ++far_;
        return true;
    }
    [[gnu::noinline]] bool add_block() {
        if (unused_.empty() && blocks_.size() == no_block) return false;
        std::unique_ptr<entry[]> slots(new entry[block_size]);
        if (unused_.empty()) {
            unused_.reserve(blocks_.size() + 1);  // so that giving it back needs no memory
            blocks_.emplace_back();
            unused_.push_back(static_cast<std::uint32_t>(blocks_.size() - 1));
        }
        last_ = unused_.back();
        unused_.pop_back();
        blocks_[last_].slots = std::move(slots);
        ++blocks_in_use_;
        return true;
    }
    [[gnu::always_inline]] void strike_out(std::size_t which, std::size_t slot) noexcept {
        block& b = blocks_[which];
        b.live_slots[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
        if (--b.live == 0) give_back(which);
    }
    [[gnu::noinline]] void give_back(std::size_t which) noexcept {
        block& b = blocks_[which];
        if (which != last_) {
            b.slots.reset();
            --blocks_in_use_;
            unused_.push_back(static_cast<std::uint32_t>(which));  // reserved by add_block()
        }
        b.used = 0;
        b.earliest = steady_time::max();
    }

    // ---- from far to near

    /// Goes through one block: what is not after target_ becomes near; if few are left, they move
    /// to the last block. False if there was no memory for the former.
    bool go_through(std::size_t which) noexcept {
        if (blocks_[which].live == 0) return true;
        bool moves = blocks_[which].live <= sparse && which != last_;
        if (blocks_[which].earliest > target_.due && !moves) return true;
        try {
            make_room(blocks_[which].live + 1);  // one is always left for take_first_of_far()
        } catch (const std::bad_alloc&) {
            return false;
        }
        auto earliest = steady_time::max();
        for (auto i = blocks_[which].next(0); i < block_size; i = blocks_[which].next(i + 1)) {
            const entry e = blocks_[which].slots[i];
            if (!after(e, target_)) {
                near_.push_back(e);
                sift_up(near_.size() - 1, e);
                --far_;
            } else if (!moves || !(moves = moves_to_last(e))) {
                earliest = std::min(earliest, e.due);
                continue;
            }
            strike_out(which, i);
        }
        if (blocks_[which].live > 0) blocks_[which].earliest = earliest;
        return true;
    }
    bool moves_to_last(const entry& e) noexcept {
        try {
            if (!append(e)) return false;
            --far_;  // it was among them
            return true;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }
    /// In near_, growing it by half at least.
    void make_room(std::size_t more) {
        const std::size_t needed = near_.size() + more;
        if (needed > near_.capacity())
            near_.reserve(std::max(needed, near_.capacity() + near_.capacity() / 2));
    }

    [[gnu::noinline]] void tidy() noexcept {
        if (++next_tidied_ >= blocks_.size()) next_tidied_ = 0;
        go_through(next_tidied_);
    }

    /// After a removal from near_.
    void keep_first_near() noexcept {
        if (far_ > 0 && !sweeping_ && near_count() > blocks_in_use_ && !after(front(), bound_))
            return;
        if (far_ == 0) {
            bound_ = target_ = end;
            sweeping_ = false;
            most_near_ = std::max(few_near, 2 * near_.size());
            return;
        }
        if (sweeping_)
            sweep_one();
        else if (near_count() <= blocks_in_use_)
            begin_sweep();
        while (far_ > 0 && (empty() || after(front(), bound_))) {
            if (!sweeping_) begin_sweep();
            if (!sweep_one()) take_first_of_far();
        }
    }
    void begin_sweep() noexcept {
        target_ = far_ <= block_size ? end : key{early_among_far(), end.sequence};
        sweeping_ = true;
        next_swept_ = 0;
    }
    /// False if there was no memory.
    bool sweep_one() noexcept {
        if (next_swept_ < blocks_.size()) {
            if (!go_through(next_swept_)) return false;
            ++next_swept_;
            return true;
        }
        sweeping_ = false;
        bound_ = target_;
        most_near_ = std::max(few_near, 2 * near_.size());
        return true;
    }
    void take_first_of_far() noexcept {
        const entry* first = nullptr;
        for (const block& b : blocks_)
            for (std::size_t i = b.next(0); i < block_size; i = b.next(i + 1))
                if (!first || before(b.slots[i], *first)) first = &b.slots[i];
        const entry e = *first;
        strike_out(block_of(e.timer->place_), slot_of(e.timer->place_));
        --far_;
        if (near_.size() < near_.capacity()) {
            near_.push_back(e);
            sift_up(near_.size() - 1, e);
        } else {
            e.timer->place_ = is_in_run | run_.put_first(e);
        }
        bound_ = target_ = {e.due, e.timer->sequence_};
        sweeping_ = false;
    }

    /// A time that about a sixteenth of the far are not after: of 64 that are spread evenly over
    /// them, the fourth.
    steady_time early_among_far() const noexcept {
        std::array<steady_time, 64> seen;
        std::size_t n = 0;
        std::size_t passed = 0;
        for (const block& b : blocks_) {
            passed += b.live;
            for (; n < seen.size() && n * far_ / seen.size() < passed; ++n) {
                std::size_t slot = b.next(n * 37 % b.used);
                if (slot == block_size) slot = b.next(0);
                seen[n] = b.slots[slot].due;
            }
        }
        std::nth_element(seen.begin(), seen.begin() + 3, seen.end());
        return seen[3];
    }
    /// near_ is long: of what comes, less is to be near. The new bound is one that about an eighth
    /// of the near are not after.
    void lower_bound() noexcept {
        most_near_ = 2 * near_.size();
        if (sweeping_) return;
        std::array<steady_time, 32> seen;
        for (std::size_t n = 0; n < seen.size(); ++n)
            seen[n] = near_[n * near_.size() / seen.size()].due;
        std::nth_element(seen.begin(), seen.begin() + 3, seen.end());
        const key lower{seen[3], end.sequence};
        if (lower.due < bound_.due) bound_ = target_ = lower;
    }

    std::vector<entry> near_;
    timer_run<entry> run_;
    std::vector<block> blocks_;          // those not in use are named in unused_
    std::vector<std::uint32_t> unused_;  // has room for all of them
    std::size_t blocks_in_use_ = 0;
    std::size_t far_ = 0;          // how many timers are in the blocks
    std::size_t last_ = no_block;  // the block that is being filled
    key bound_ = end;
    key target_ = end;
    bool sweeping_ = false;
    std::size_t next_swept_ = 0;
    std::size_t next_tidied_ = 0;
    std::size_t most_near_ = few_near;
    std::uint64_t last_sequence_ = 0;
};

}  // namespace cadre::detail
