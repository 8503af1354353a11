// SPDX-License-Identifier: Apache-2.0
#pragma once

// Stands for stdexec where the pages show code that uses it: the stand-in of the tests, with pipes.

#include <utility>

#include "support/p2300.hpp"

#include "support/p2300_algorithms.hpp"

namespace p2300 {

template <class F>
struct then_closure {
    F function;
};
template <class F>
then_closure<F> then(F f) {
    return {std::move(f)};
}
template <sender From, class F>
auto operator|(From from, then_closure<F> closure) {
    return then(std::move(from), std::move(closure.function));
}

}  // namespace p2300

namespace stdexec = p2300;
