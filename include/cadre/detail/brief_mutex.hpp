// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cadre/detail/locked_index.hpp>

namespace cadre::detail {

/// A mutex that is let go of by a plain store, as a locked_index is, for what is held very often
/// and for a few instructions only. What is read after unlock() may be read before others see it
/// free; so whoever has to be seen by somebody must be seen under the mutex, or by an operation of
/// its own.
class brief_mutex {
public:
    void lock() noexcept { index_.lock(); }
    void unlock() noexcept { index_.unlock(0); }

private:
    locked_index index_;
};

}  // namespace cadre::detail
