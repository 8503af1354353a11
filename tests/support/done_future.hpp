// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include <cadre/future.hpp>

namespace cadre::testing {

/// A future whose task, f, has run.
template <class F>
auto done_future(F f) {
    future_task task(std::move(f));
    task();
    return task.get_future();
}

}  // namespace cadre::testing
