// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cadre::manage::detail {

/// Replaces the file by one with this text: whoever reads it, also after a crash, finds the old or
/// the new text. Readable by its owner alone: documents may have secrets. Throws std::system_error.
void write_atomically(const std::filesystem::path& file, std::string_view text);

/// Nothing if it is not there, no file, or larger.
std::optional<std::string> read_small_file(const std::filesystem::path& file,
                                           std::size_t most_bytes);

}  // namespace cadre::manage::detail
