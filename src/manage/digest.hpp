// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

// Hashes and encodings that configuration centres ask for. Digests are bytes in a string.

namespace cadre::manage::detail {

std::string sha1(std::string_view data);
std::string sha256(std::string_view data);
std::string md5(std::string_view data);
std::string hmac_sha1(std::string_view key, std::string_view message);

std::string to_hex(std::string_view bytes);
std::string to_base64(std::string_view bytes);
/// Nothing if it is not what to_base64() makes: the standard alphabet, padded, no bit too many.
std::optional<std::string> from_base64(std::string_view text);
/// Everything but letters, digits and -._~ as %XX: good for a path segment and a query value.
std::string percent_encoded(std::string_view text);
/// With quotes.
std::string json_quoted(std::string_view utf8);

}  // namespace cadre::manage::detail
