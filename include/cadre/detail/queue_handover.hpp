// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include <cadre/detail/condition.hpp>

namespace cadre::detail {

/// A thread that waits to get rid of an element, which stays with it until somebody comes for it.
/// Guarded by the mutex of the list that it waits in.
template <class T>
struct giver : waiter {
    explicit giver(T& x) : element(x) {}

    T& element;
    bool done = false;  // the element was moved away
};

/// A thread that waits for an element. Guarded by the mutex of the list that it waits in.
template <class T>
struct receiver : waiter {
    std::optional<T> element;
};

/// Hands x to a thread that waits in `receivers`, and lets it go.
template <class T>
void give(wait_list& receivers, waiter& w, T&& x, deferred_wake& wake) {
    static_cast<receiver<T>&>(w).element.emplace(std::move(x));
    receivers.remove(w);
    wake.wake(w);
}

/// The element of a thread that waits in `givers` is moved away by `use`; lets the thread go.
template <class T, class Use>
void accept(wait_list& givers, waiter& w, deferred_wake& wake, Use use) {
    auto& from = static_cast<giver<T>&>(w);
    use(std::move(from.element));
    from.done = true;
    givers.remove(w);
    wake.wake(w);
}

}  // namespace cadre::detail
