// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <atomic>

namespace cadre::testing {

/// Checks and counts, on any thread, so that a test which restates another can show that it
/// checks as often.
class checks {
public:
    void operator()(bool fact, int line = __builtin_LINE()) {
        ++made_;
        EXPECT_TRUE(fact) << "the check in line " << line;
    }
    int made() const { return made_; }

private:
    std::atomic<int> made_ = 0;
};

}  // namespace cadre::testing
