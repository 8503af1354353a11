// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>

namespace cadre::testing {

/// The process's time zone, until the end of the scope.
class zone_scope {
public:
    explicit zone_scope(const std::string& name) {
        EXPECT_TRUE(std::filesystem::exists("/usr/share/zoneinfo/" + name)) << "needs tzdata";
        if (const char* value = getenv("TZ")) before_ = value;
        setenv("TZ", name.c_str(), 1);
        tzset();
    }
    ~zone_scope() {
        if (before_)
            setenv("TZ", before_->c_str(), 1);
        else
            unsetenv("TZ");
        tzset();
    }
    zone_scope(const zone_scope&) = delete;
    zone_scope& operator=(const zone_scope&) = delete;

private:
    std::optional<std::string> before_;
};

}  // namespace cadre::testing
