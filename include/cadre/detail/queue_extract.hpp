// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <cadre/function_ref.hpp>

namespace cadre::detail {

/// Lets `count` elements be appended to `out` without a further allocation. Grows as push_back
/// does, so that many small calls do not copy all of it each time.
template <class T>
void make_room(std::vector<T>& out, std::size_t count) {
    if (out.capacity() - out.size() < count)
        out.reserve(std::max(out.size() + count, out.capacity() + out.capacity() / 2));
}

/// extract_if() of a store whose elements lie in the order in which they leave. The store gives
/// positions, begin() and end(), and shortens itself with cut(end, count): the last `count`
/// elements, from the position `end` on, are gone already. `wanted` has its say on all elements,
/// and memory is had for all of them, before the first one moves.
template <class T, class Store>
std::size_t extract_in_order(Store& store, function_ref<bool(const T&)> wanted, std::vector<T>& out,
                             std::size_t max) {
    if (max == 0) return 0;
    std::vector<bool> leaves(store.size());
    std::size_t count = 0;
    std::size_t i = 0;
    for (auto at = store.begin(); at != store.end() && count < max; ++at, ++i)
        if (wanted(*at)) {
            leaves[i] = true;
            ++count;
        }
    if (count == 0) return 0;
    make_room(out, count);

    // [kept, at) has no elements: each that leaves widens the gap, each that stays crosses it.
    auto kept = store.begin();
    i = 0;
    for (auto at = store.begin(); at != store.end(); ++at, ++i) {
        if (leaves[i]) {
            out.push_back(std::move(*at));
        } else {
            if (kept == at) {
                ++kept;
                continue;
            }
            std::construct_at(std::addressof(*kept), std::move(*at));
            ++kept;
        }
        std::destroy_at(std::addressof(*at));
    }
    store.cut(kept, count);
    return count;
}

/// extract_first() of such a store: those before the wanted one move up by one place, and the
/// head's place is given up. Nothing is allocated.
template <class T, class Store>
std::optional<T> extract_first_in_order(Store& store, function_ref<bool(const T&)> wanted) {
    auto found = store.begin();
    while (found != store.end() && !wanted(*found)) ++found;
    if (found == store.end()) return std::nullopt;
    auto at = store.begin();
    std::optional<T> carried(std::in_place, std::move(*at));
    while (at != found) {
        T next(std::move(*++at));
        std::destroy_at(std::addressof(*at));
        std::construct_at(std::addressof(*at), std::move(*carried));
        carried.emplace(std::move(next));
    }
    static_cast<void>(store.pop());  // moved from
    return carried;
}

/// extract_if() by means of a queue's other calls. What stays goes back, whatever comes, but for
/// an element for which the queue's offer() throws.
template <class T, class Queue>
std::size_t extract_by_draining(Queue& queue, function_ref<bool(const T&)> wanted,
                                std::vector<T>& out, std::size_t max) {
    if (max == 0) return 0;
    std::vector<T> all;
    std::vector<bool> leaves;
    std::size_t count = 0;
    std::exception_ptr thrown;
    try {
        queue.drain_to(all);
        leaves.resize(all.size());
        for (std::size_t i = 0; i < all.size() && count < max; ++i)
            if (wanted(all[i])) {
                leaves[i] = true;
                ++count;
            }
        make_room(out, count);
    } catch (...) {
        thrown = std::current_exception();
    }
    const bool all_stay = thrown != nullptr;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all_stay && leaves[i]) {
            out.push_back(std::move(all[i]));
            continue;
        }
        try {
            while (!queue.offer(std::move(all[i]))) std::this_thread::yield();  // filled meanwhile
        } catch (...) {
            thrown = std::current_exception();
        }
    }
    if (thrown) std::rethrow_exception(std::move(thrown));
    return count;
}

}  // namespace cadre::detail
