// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/detail/queue_extract.hpp>
#include <cadre/function_ref.hpp>

namespace cadre::detail {

/// A sequence with two ends in one block of memory, whose slots are used in turn. Memory is
/// touched only where elements are. Made with a number of slots it keeps them and must not be
/// given more elements; else it grows by doubling, and gives large memory back when empty.
template <class T>
class CADRE_API ring {
public:
    ring() = default;
    explicit ring(std::size_t slots)
        : fixed_(true), slots_(std::allocator<T>().allocate(slots)), count_(slots) {}
    ring(ring&& other) noexcept { swap(other); }
    ring& operator=(ring&&) = delete;
    ~ring() {
        for (T& x : *this) std::destroy_at(&x);
        release();
    }

    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }
    const T& front() const noexcept { return at(0); }
    const T& back() const noexcept { return at(size_ - 1); }

    void push(T&& x) {
        if (size_ == count_) grow();
        std::construct_at(slot(size_), std::move(x));
        ++size_;
    }
    void push_front(T&& x) {
        if (size_ == count_) grow();
        const std::size_t first = (first_ == 0 ? count_ : first_) - 1;
        std::construct_at(slots_ + first, std::move(x));
        first_ = first;
        ++size_;
    }
    T pop() {
        T& head = at(0);
        T x(std::move(head));
        std::destroy_at(&head);
        first_ = first_ + 1 == count_ ? 0 : first_ + 1;
        --size_;
        if (count_ > kept_slots && empty()) trim();
        return x;
    }
    T pop_back() {
        T& tail = at(size_ - 1);
        T x(std::move(tail));
        std::destroy_at(&tail);
        --size_;
        if (count_ > kept_slots && empty()) trim();
        return x;
    }

    /// All elements, in a ring of their own; this one keeps its slots.
    ring detach() {
        ring all(size_);
        while (!empty()) all.push(pop());
        return all;
    }
    template <class Visit>
    void for_each(Visit visit) const {
        for (std::size_t i = 0; i < size_; ++i) visit(at(i));
    }
    template <class Visit>
    void for_each_descending(Visit visit) const {
        for (std::size_t i = size_; i > 0; --i) visit(at(i - 1));
    }
    std::size_t extract_if(function_ref<bool(const T&)> wanted, std::vector<T>& out,
                           std::size_t max) {
        return extract_in_order<T>(*this, wanted, out, max);
    }
    /// Gives spare memory back.
    void trim() noexcept {
        if (!fixed_ && empty()) release();
    }

    // For extract_in_order.
    struct position {
        ring* in;
        std::size_t index;
        T& operator*() const noexcept { return in->at(index); }
        position& operator++() noexcept {
            ++index;
            return *this;
        }
        bool operator==(const position&) const = default;
    };
    position begin() noexcept { return {this, 0}; }
    position end() noexcept { return {this, size_}; }
    void cut(position, std::size_t count) noexcept { size_ -= count; }

private:
    /// The place of the i-th element; i <= size_ < 2^63, so the sum does not overflow.
    T* slot(std::size_t i) const noexcept {
        const std::size_t index = first_ + i;
        return slots_ + (index < count_ ? index : index - count_);
    }
    T& at(std::size_t i) const noexcept { return *slot(i); }

    void grow() {
        assert(!fixed_);
        ring larger(count_ == 0 ? 16 : 2 * count_);
        for (T& x : *this) {
            larger.push(std::move(x));
            std::destroy_at(&x);
        }
        size_ = 0;
        swap(larger);
        fixed_ = false;
    }
    void release() noexcept {
        if (slots_) std::allocator<T>().deallocate(slots_, count_);
        slots_ = nullptr;
        count_ = first_ = 0;
    }
    void swap(ring& other) noexcept {
        std::swap(fixed_, other.fixed_);
        std::swap(slots_, other.slots_);
        std::swap(count_, other.count_);
        std::swap(first_, other.first_);
        std::swap(size_, other.size_);
    }

    static constexpr std::size_t kept_slots = (std::size_t{1} << 20) / sizeof(T);

    bool fixed_ = false;
    T* slots_ = nullptr;
    std::size_t count_ = 0;  // of the slots
    std::size_t first_ = 0;  // the slot of the front
    std::size_t size_ = 0;
};

}  // namespace cadre::detail
