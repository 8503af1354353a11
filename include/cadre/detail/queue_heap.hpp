// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/detail/queue_extract.hpp>
#include <cadre/function_ref.hpp>

namespace cadre::detail {

/// A binary heap that gives equal elements back in the order in which they came. Every operation
/// does all of its comparisons before it moves the first element, so that a comparison that throws
/// changes nothing.
template <class T, class Compare>
class CADRE_API stable_heap {
public:
    explicit stable_heap(Compare compare = Compare()) : compare_(std::move(compare)) {}

    bool empty() const noexcept { return nodes_.empty(); }
    std::size_t size() const noexcept { return nodes_.size(); }
    const T& front() const noexcept { return nodes_.front().element; }
    const Compare& comparator() const noexcept { return compare_; }
    void reserve(std::size_t count) { nodes_.reserve(count); }

    void push(T&& x) {
        // A newcomer goes before a parent only if it is smaller: among equals it is the last.
        std::size_t place = nodes_.size();
        while (place > 0 && compare_(std::as_const(x), nodes_[parent(place)].element))
            place = parent(place);
        nodes_.emplace_back(std::move(x), next_number_++);
        std::size_t hole = nodes_.size() - 1;
        if (hole == place) return;
        node newcomer = std::move(nodes_[hole]);
        for (; hole != place; hole = parent(hole)) fill(hole, nodes_[parent(hole)]);
        fill(place, newcomer);
    }
    T pop() {
        const std::size_t place = place_of_last_below_root();
        T x(std::move(nodes_.front().element));
        // From the root down to `place`, each node gives its slot to the one below it.
        for (auto levels = std::bit_width(place + 1) - 1; levels > 0; --levels) {
            const std::size_t child = ((place + 1) >> (levels - 1)) - 1;
            fill(parent(child), nodes_[child]);
        }
        if (place != nodes_.size() - 1) fill(place, nodes_.back());
        nodes_.pop_back();
        return x;
    }

    /// All elements with their memory; nothing is left here.
    stable_heap detach() {
        stable_heap all(compare_);
        all.nodes_.swap(nodes_);
        return all;
    }
    void trim() noexcept {
        if (nodes_.empty()) std::vector<node>().swap(nodes_);
    }
    /// In no particular order.
    template <class Visit>
    void for_each(Visit visit) const {
        for (const node& n : nodes_) visit(n.element);
    }
    /// Shows every element to `wanted`, in no particular order, but takes the first `max` of those
    /// accepted in the order in which they would leave.
    std::size_t extract_if(function_ref<bool(const T&)> wanted, std::vector<T>& out,
                           std::size_t max);

private:
    struct node {
        node(T&& x, std::uint64_t n) : element(std::move(x)), number(n) {}

        T element;
        std::uint64_t number;  // of the insertion
    };

    static std::size_t parent(std::size_t i) noexcept { return (i - 1) / 2; }

    bool before(const node& a, const node& b) const {
        if (compare_(a.element, b.element)) return true;
        if (compare_(b.element, a.element)) return false;
        return a.number < b.number;
    }
    /// Where the last node belongs when the root is gone: down the path of the smaller children.
    std::size_t place_of_last_below_root() const {
        const std::size_t last = nodes_.size() - 1;
        std::size_t place = 0;
        for (std::size_t child = 1; child < last; child = 2 * place + 1) {
            if (child + 1 < last && before(nodes_[child + 1], nodes_[child])) ++child;
            if (!before(nodes_[child], nodes_[last])) break;
            place = child;
        }
        return place;
    }
    /// Puts `from` in the place of a node that was moved from.
    void fill(std::size_t place, node& from) {
        node& to = nodes_[place];
        std::destroy_at(&to.element);
        std::construct_at(&to.element, std::move(from.element));
        to.number = from.number;
    }

    Compare compare_;
    std::vector<node> nodes_;
    std::uint64_t next_number_ = 0;
};

template <class T, class Compare>
std::size_t stable_heap<T, Compare>::extract_if(function_ref<bool(const T&)> wanted,
                                                std::vector<T>& out, std::size_t max) {
    if (max == 0) return 0;
    std::vector<std::size_t> leaving;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (wanted(nodes_[i].element)) leaving.push_back(i);
    if (leaving.empty()) return 0;

    const auto by_order = [&](std::size_t a, std::size_t b) {
        return before(nodes_[a], nodes_[b]);
    };
    std::sort(leaving.begin(), leaving.end(), by_order);
    if (leaving.size() > max) leaving.resize(max);

    // The heap of those that stay is arranged as a heap of their indices first.
    std::vector<bool> leaves(nodes_.size());
    for (const std::size_t i : leaving) leaves[i] = true;
    std::vector<std::size_t> staying;
    staying.reserve(nodes_.size() - leaving.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (!leaves[i]) staying.push_back(i);
    std::make_heap(staying.begin(), staying.end(),
                   [&](std::size_t a, std::size_t b) { return by_order(b, a); });
    std::vector<node> kept;
    kept.reserve(staying.size());
    make_room(out, leaving.size());

    for (const std::size_t i : staying) kept.push_back(std::move(nodes_[i]));
    for (const std::size_t i : leaving) out.push_back(std::move(nodes_[i].element));
    nodes_.swap(kept);
    return leaving.size();
}

}  // namespace cadre::detail
