// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cadre/detail/future_core.hpp>
#include <cadre/task.hpp>

namespace cadre::detail {

/// The future of a task; null if it has none.
inline future_core* result_of(const task& t) noexcept {
    const auto identity = task_access::identity(t);
    return identity & 1 ? nullptr : reinterpret_cast<future_core*>(identity);
}

}  // namespace cadre::detail
