// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cadre::manage::detail {

/// In one line, and without characters that a terminal would obey: for what comes from documents,
/// the network and names that people give.
inline std::string harmless(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
        // U+0080 to U+009F: to some terminals U+009B is what ESC [ is.
        const bool is_two = byte == 0xC2U && next >= 0x80U && next < 0xA0U;
        result += byte < 0x20U || byte == 0x7FU || is_two ? '?' : text[i];
        i += is_two ? 1 : 0;
    }
    return result;
}

}  // namespace cadre::manage::detail
