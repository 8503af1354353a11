// SPDX-License-Identifier: Apache-2.0
#include "manage/digest.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

// SHA-1 and SHA-256 (FIPS 180-4), MD5 (RFC 1321), HMAC (RFC 2104). None of them protects a secret
// here but the HMAC, which Apollo has chosen; so plain code is fast and safe enough, and a library
// for cryptography is not needed for it.

namespace cadre::manage::detail {
namespace {

constexpr std::size_t block_size = 64;

enum class byte_order { big, little };

std::uint32_t word_at(std::string_view bytes, std::size_t at, byte_order order) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const auto byte = static_cast<unsigned char>(bytes[at + i]);
        word |= std::uint32_t{byte} << (8 * (order == byte_order::big ? 3 - i : i));
    }
    return word;
}

void append_word(std::string& out, std::uint32_t word, byte_order order) {
    for (std::size_t i = 0; i < 4; ++i)
        out += static_cast<char>(word >> (8 * (order == byte_order::big ? 3 - i : i)) & 0xff);
}

/// With the padding that all three have: a bit, zeros, the length in bits.
std::string padded(std::string_view data, byte_order order) {
    std::string result(data);
    result += '\x80';
    while (result.size() % block_size != block_size - 8) result += '\0';
    const std::uint64_t bits = std::uint64_t{data.size()} * 8;
    const auto low = static_cast<std::uint32_t>(bits);
    const auto high = static_cast<std::uint32_t>(bits >> 32);
    append_word(result, order == byte_order::big ? high : low, order);
    append_word(result, order == byte_order::big ? low : high, order);
    return result;
}

/// Runs `step(state, words of a block)` over the data; the digest is the state.
template <std::size_t Words, class Step>
std::string digest(std::string_view data, std::array<std::uint32_t, Words> state, byte_order order,
                   Step step) {
    const std::string message = padded(data, order);
    for (std::size_t at = 0; at < message.size(); at += block_size) {
        std::array<std::uint32_t, 16> block{};
        for (std::size_t i = 0; i < block.size(); ++i)
            block[i] = word_at(message, at + 4 * i, order);
        step(state, block);
    }
    std::string result;
    for (const auto word : state) append_word(result, word, order);
    return result;
}

std::uint32_t fraction_bits(double x) {
    return static_cast<std::uint32_t>((x - std::floor(x)) * 4294967296.0);
}

/// The constants of MD5 are |sin(1)|, |sin(2)|, …
const std::array<std::uint32_t, 64>& md5_constants() {
    static const auto constants = [] {
        std::array<std::uint32_t, 64> k{};
        for (std::size_t i = 0; i < k.size(); ++i)
            k[i] = static_cast<std::uint32_t>(
                std::floor(std::fabs(std::sin(static_cast<double>(i + 1))) * 4294967296.0));
        return k;
    }();
    return constants;
}

/// Those of SHA-256 the fractions of the cube roots of the first primes.
const std::array<std::uint32_t, 64>& sha256_constants() {
    static const auto constants = [] {
        std::array<std::uint32_t, 64> k{};
        std::size_t found = 0;
        for (int n = 2; found < k.size(); ++n) {
            bool prime = true;
            for (int d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
            if (prime) k[found++] = fraction_bits(std::cbrt(static_cast<double>(n)));
        }
        return k;
    }();
    return constants;
}

constexpr std::string_view base64_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view hex_digits = "0123456789abcdef";

}  // namespace

std::string sha1(std::string_view data) {
    const std::array<std::uint32_t, 5> start{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                                             0xc3d2e1f0};
    return digest(data, start, byte_order::big, [](auto& h, const auto& block) {
        std::array<std::uint32_t, 80> w{};
        for (std::size_t i = 0; i < w.size(); ++i)
            w[i] = i < 16 ? block[i] : std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
        auto [a, b, c, d, e] = h;
        for (std::size_t i = 0; i < w.size(); ++i) {
            const std::uint32_t f = i < 20   ? (b & c) | (~b & d)
                                    : i < 40 ? b ^ c ^ d
                                    : i < 60 ? (b & c) | (b & d) | (c & d)
                                             : b ^ c ^ d;
            const std::uint32_t k = i < 20   ? 0x5a827999
                                    : i < 40 ? 0x6ed9eba1
                                    : i < 60 ? 0x8f1bbcdc
                                             : 0xca62c1d6;
            const std::uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
            e = d;
            d = c;
            c = std::rotl(b, 30);
            b = a;
            a = next;
        }
        h = {h[0] + a, h[1] + b, h[2] + c, h[3] + d, h[4] + e};
    });
}

std::string sha256(std::string_view data) {
    const std::array<std::uint32_t, 8> start{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    return digest(data, start, byte_order::big, [](auto& state, const auto& block) {
        std::array<std::uint32_t, 64> w{};
        for (std::size_t i = 0; i < w.size(); ++i) {
            if (i < 16) {
                w[i] = block[i];
                continue;
            }
            const auto s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
            const auto s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        auto h = state;
        for (std::size_t i = 0; i < w.size(); ++i) {
            const auto s1 = std::rotr(h[4], 6) ^ std::rotr(h[4], 11) ^ std::rotr(h[4], 25);
            const auto choice = (h[4] & h[5]) ^ (~h[4] & h[6]);
            const auto t1 = h[7] + s1 + choice + sha256_constants()[i] + w[i];
            const auto s0 = std::rotr(h[0], 2) ^ std::rotr(h[0], 13) ^ std::rotr(h[0], 22);
            const auto majority = (h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]);
            h = {t1 + s0 + majority, h[0], h[1], h[2], h[3] + t1, h[4], h[5], h[6]};
        }
        for (std::size_t i = 0; i < h.size(); ++i) state[i] += h[i];
    });
}

std::string md5(std::string_view data) {
    const std::array<std::uint32_t, 4> start{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    return digest(data, start, byte_order::little, [](auto& h, const auto& block) {
        constexpr std::array<int, 16> shifts{7, 12, 17, 22, 5, 9,  14, 20,
                                             4, 11, 16, 23, 6, 10, 15, 21};
        auto [a, b, c, d] = h;
        for (std::uint32_t i = 0; i < 64; ++i) {
            const std::uint32_t round = i / 16;
            const std::uint32_t f = round == 0   ? (b & c) | (~b & d)
                                    : round == 1 ? (d & b) | (~d & c)
                                    : round == 2 ? b ^ c ^ d
                                                 : c ^ (b | ~d);
            const std::uint32_t g = round == 0   ? i
                                    : round == 1 ? (5 * i + 1) % 16
                                    : round == 2 ? (3 * i + 5) % 16
                                                 : 7 * i % 16;
            const std::uint32_t next =
                b + std::rotl(a + f + md5_constants()[i] + block[g], shifts[round * 4 + i % 4]);
            a = d;
            d = c;
            c = b;
            b = next;
        }
        h = {h[0] + a, h[1] + b, h[2] + c, h[3] + d};
    });
}

std::string hmac_sha1(std::string_view key, std::string_view message) {
    std::string block = key.size() > block_size ? sha1(key) : std::string(key);
    block.resize(block_size, '\0');
    std::string inner = block;
    std::string outer = block;
    for (std::size_t i = 0; i < block_size; ++i) {
        inner[i] = static_cast<char>(block[i] ^ 0x36);
        outer[i] = static_cast<char>(block[i] ^ 0x5c);
    }
    inner += message;
    outer += sha1(inner);
    return sha1(outer);
}

std::string to_hex(std::string_view bytes) {
    std::string result;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        result += hex_digits[byte >> 4];
        result += hex_digits[byte & 15];
    }
    return result;
}

std::string to_base64(std::string_view bytes) {
    std::string result;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::uint32_t group = 0;
        for (std::size_t i = 0; i < 3; ++i)
            group = group << 8 |
                    (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
        for (std::size_t i = 0; i < 4; ++i)
            result += at + i <= bytes.size() ? base64_letters[group >> (18 - 6 * i) & 63] : '=';
    }
    return result;
}

std::optional<std::string> from_base64(std::string_view text) {
    if (text.size() % 4 != 0) return {};
    std::string result;
    for (std::size_t at = 0; at < text.size(); at += 4) {
        std::string_view four = text.substr(at, 4);
        const bool last = at + 4 == text.size();
        while (last && four.size() > 2 && four.back() == '=') four.remove_suffix(1);
        std::uint32_t group = 0;
        for (const char c : four) {
            const auto value = base64_letters.find(c);
            if (value == std::string_view::npos) return {};
            group = group << 6 | static_cast<std::uint32_t>(value);
        }
        group <<= 6 * (4 - four.size());
        if (group & 0xffffffU >> 8 * (four.size() - 1)) return {};  // bits that no byte has
        const std::array bytes = {static_cast<char>(group >> 16 & 0xff),
                                  static_cast<char>(group >> 8 & 0xff),
                                  static_cast<char>(group & 0xff)};
        result.append(bytes.data(), four.size() - 1);
    }
    return result;
}

std::string percent_encoded(std::string_view text) {
    constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
    std::string result;
    for (const char c : text) {
        if (plain.find(c) != std::string_view::npos) {
            result += c;
            continue;
        }
        const auto byte = static_cast<unsigned char>(c);
        result += '%';
        result += "0123456789ABCDEF"[byte >> 4];
        result += "0123456789ABCDEF"[byte & 15];
    }
    return result;
}

std::string json_quoted(std::string_view utf8) {
    std::string result = "\"";
    for (const char c : utf8) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else if (byte < 0x20) {
            result += "\\u00";
            result += hex_digits[byte >> 4];
            result += hex_digits[byte & 15];
        } else {
            result += c;
        }
    }
    return result += '"';
}

}  // namespace cadre::manage::detail
