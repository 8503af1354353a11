// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include <cadre/detail/queue_extract.hpp>
#include <cadre/function_ref.hpp>

namespace cadre::detail {

/// A FIFO sequence in a list of chunks. A chunk whose elements have left becomes a spare, so that
/// a queue whose length swings within a megabyte allocates nothing; what is beyond goes back.
///
/// head_ is null if there is no chunk at all. Else the elements begin at head_, slot first_, and
/// end before tail_, slot last_; the chunks before tail_ are used to their ends.
template <class T>
class chunked_fifo {
public:
    chunked_fifo() = default;
    chunked_fifo(chunked_fifo&& other) noexcept { swap(other); }
    chunked_fifo& operator=(chunked_fifo&&) = delete;
    ~chunked_fifo() {
        for (T& x : *this) std::destroy_at(&x);
        release(head_);
        release(spares_);
    }

    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }
    const T& front() const noexcept { return *head_->slot(first_); }

    void push(T&& x) {
        if (!tail_ || last_ == slots) append_chunk();
        std::construct_at(tail_->slot(last_), std::move(x));
        ++last_;
        ++size_;
    }
    T pop() {
        T& head = *head_->slot(first_);
        T x(std::move(head));
        std::destroy_at(&head);
        ++first_;
        --size_;
        if (first_ == slots && head_->next) drop_head();
        if (size_ == 0) first_ = last_ = 0;  // the only chunk starts over
        return x;
    }

    /// All elements with their memory; nothing is left here.
    chunked_fifo detach() noexcept { return std::move(*this); }
    /// Gives spare memory back.
    void trim() noexcept {
        release(std::exchange(spares_, nullptr));
        spare_count_ = 0;
    }
    template <class Visit>
    void for_each(Visit visit) const {
        auto& self = const_cast<chunked_fifo&>(*this);  // positions give T&; visit gets const T&
        for (const T& x : self) visit(x);
    }
    std::size_t extract_if(function_ref<bool(const T&)> wanted, std::vector<T>& out,
                           std::size_t max) {
        return extract_in_order<T>(*this, wanted, out, max);
    }

private:
    static constexpr std::size_t slots =
        std::clamp<std::size_t>((4096 - sizeof(void*)) / sizeof(T), 1, 64);

    struct chunk {
        chunk* next = nullptr;
        alignas(T) std::byte storage[slots * sizeof(T)];

        T* slot(std::size_t i) noexcept { return reinterpret_cast<T*>(storage) + i; }
    };
    static constexpr std::size_t max_spares =
        std::max<std::size_t>((std::size_t{1} << 20) / sizeof(chunk), 1);

public:
    // For extract_in_order. A position at the end of a chunk is that at the start of the next, if
    // there is one.
    struct position {
        chunk* in;
        std::size_t index;
        T& operator*() const noexcept { return *in->slot(index); }
        position& operator++() noexcept {
            if (++index == slots && in->next) {
                in = in->next;
                index = 0;
            }
            return *this;
        }
        bool operator==(const position&) const = default;
    };
    position begin() noexcept { return {head_, first_}; }
    position end() noexcept { return {tail_, last_}; }
    void cut(position end, std::size_t count) noexcept {
        size_ -= count;
        if (size_ == 0) {
            end = {head_, 0};
            first_ = 0;
        }
        for (chunk* c = std::exchange(end.in->next, nullptr); c;) retire(std::exchange(c, c->next));
        tail_ = end.in;
        last_ = end.index;
    }

private:
    void append_chunk() {
        chunk* fresh = spares_;
        if (fresh) {
            spares_ = std::exchange(fresh->next, nullptr);
            --spare_count_;
        } else {
            fresh = new chunk;
        }
        (tail_ ? tail_->next : head_) = fresh;
        tail_ = fresh;
        last_ = 0;
    }
    void drop_head() noexcept {
        retire(std::exchange(head_, head_->next));
        first_ = 0;
    }
    void retire(chunk* c) noexcept {
        if (spare_count_ == max_spares) {
            delete c;
        } else {
            c->next = std::exchange(spares_, c);
            ++spare_count_;
        }
    }
    static void release(chunk* c) noexcept {
        while (c) delete std::exchange(c, c->next);
    }
    void swap(chunked_fifo& other) noexcept {
        std::swap(head_, other.head_);
        std::swap(tail_, other.tail_);
        std::swap(first_, other.first_);
        std::swap(last_, other.last_);
        std::swap(size_, other.size_);
        std::swap(spares_, other.spares_);
        std::swap(spare_count_, other.spare_count_);
    }

    chunk* head_ = nullptr;
    chunk* tail_ = nullptr;
    std::size_t first_ = 0;  // the slot of the front, in head_
    std::size_t last_ = 0;   // the slot after the back, in tail_
    std::size_t size_ = 0;
    chunk* spares_ = nullptr;
    std::size_t spare_count_ = 0;
};

}  // namespace cadre::detail
