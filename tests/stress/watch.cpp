// SPDX-License-Identifier: Apache-2.0
//
// Watches over every stress test: one that hangs, or fails because something did not come in time,
// tells where all threads are and how its pools are.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "support/race.hpp"
#include "support/watchdog.hpp"
#include "support/watched.hpp"

namespace cadre::testing {
namespace {

/// Less than ctest has, and more than the guard of a test.
std::chrono::seconds patience() {
    const char* scale = std::getenv("CADRE_STRESS_SCALE");
    const double times = std::max(1.0, scale ? std::atof(scale) : 1.0);
    return std::chrono::seconds(static_cast<long>((slowness > 1 ? 240 : 90) * times));
}

class watch final : public ::testing::EmptyTestEventListener {
    void OnTestStart(const ::testing::TestInfo& test) override {
        told_ = false;
        dog_.emplace(patience(), progress_noted,
                     [name = std::string(test.test_suite_name()) + "." + test.name()] {
                         return name + "\n" + all_watched();
                     });
    }
    void OnTestPartResult(const ::testing::TestPartResult& result) override {
        if (!result.failed() || told_.exchange(true)) return;
        print_all_stacks();
        std::fprintf(stderr, "%s", all_watched().c_str());
    }
    void OnTestEnd(const ::testing::TestInfo&) override { dog_.reset(); }

    std::optional<watchdog> dog_;
    std::atomic<bool> told_ = false;
};

const bool is_watched = [] {
    ::testing::UnitTest::GetInstance()->listeners().Append(new watch);  // which deletes it
    return true;
}();

}  // namespace
}  // namespace cadre::testing
