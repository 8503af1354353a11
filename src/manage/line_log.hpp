// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace cadre::manage::detail {

/// A file to which lines are appended. One that was moved away, as is done to rotate it, is begun
/// anew. Not for several threads at once.
class line_log {
public:
    /// `what` is what messages call it. Throws std::system_error if it cannot be opened. An empty
    /// path is no log: nothing is written.
    line_log(std::string what, std::filesystem::path path);
    ~line_log();
    line_log(const line_log&) = delete;
    line_log& operator=(const line_log&) = delete;

    /// False if there is no log: who asks first need not make lines for nothing.
    bool is_kept() const { return !path_.empty(); }
    /// Whole lines, each with its end. Empty, or why they could not be written.
    std::string append(std::string_view lines);

private:
    int write(std::string_view lines);

    const std::string what_;
    const std::filesystem::path path_;
    int file_;           // descriptor; -1: none
    bool torn_ = false;  // its last line was not written to its end
};

}  // namespace cadre::manage::detail
