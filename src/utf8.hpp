// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace cadre::detail {

/// How many bytes the UTF-8 character has with which the text begins; 0 if it begins with none.
inline std::size_t character_size(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (text.empty()) return 0;
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
    for (std::size_t i = 1; i < size; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    // Overlong forms, surrogates, and what is beyond the last character.
    const bool impossible = (first == 0xe0 && byte(1) < 0xa0) ||
                            (first == 0xed && byte(1) > 0x9f) ||
                            (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f);
    return impossible ? 0 : size;
}

}  // namespace cadre::detail
