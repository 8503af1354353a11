// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cadrectl/client.hpp"
#include "manage/harmless.hpp"

/// What people read in a terminal.
namespace cadre::cadrectl {

/// Rows below a head, in columns as wide as they need. Columns whose head begins with '>' are
/// aligned to the right.
class table {
public:
    explicit table(std::vector<std::string> heads);
    void add(std::vector<std::string> row);
    std::string to_string() const;

private:
    std::vector<std::vector<std::string>> rows_;
    std::vector<bool> right_;
};

using manage::detail::harmless;

/// A value of an answer as text; a dash for null.
std::string text_of(const json& value);
/// Seconds in the unit that fits: 12 ms; a dash for null.
std::string duration_of(const json& seconds);
/// In the unit that fits: 12 MiB; a dash for null.
std::string bytes_of(const json& bytes);
/// One digit behind the point, if it is below ten.
std::string rate_of(const json& rate);

/// "  core_pool_size: 2 -> 4" for each change of a report, and what did not come true.
std::string changes_of(const json& report);

}  // namespace cadre::cadrectl
