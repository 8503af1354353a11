// SPDX-License-Identifier: Apache-2.0
#include "manage/http_head.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace cadre::manage::detail {
namespace {

constexpr std::string_view line_end = "\r\n";

bool is_token_character(char c) {
    constexpr std::string_view others = "!#$%&'*+-.^_`|~";
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

/// Control characters may be the end of a line to somebody else.
bool is_text(std::string_view value) {
    return std::none_of(value.begin(), value.end(), [](char c) {
        return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f';
    });
}

bool equal_names(std::string_view name, std::string_view lower) {
    return std::equal(name.begin(), name.end(), lower.begin(), lower.end(), [](char a, char b) {
        return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    });
}

std::string_view trimmed(std::string_view value) {
    const auto first = value.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return value.substr(first, value.find_last_not_of(" \t") - first + 1);
}

head_refusal bad(std::string why) { return {.status = 400, .why = std::move(why)}; }

/// METHOD TARGET HTTP/1.x, with one space each.
bool is_request_line(std::string_view line) {
    const auto method = line.find(' ');
    if (method == std::string_view::npos || !is_token(line.substr(0, method))) return false;
    const auto target = line.find(' ', method + 1);
    if (target == std::string_view::npos || target == method + 1) return false;
    const auto version = line.substr(target + 1);
    return is_text(line) && line.find('\t') == std::string_view::npos &&
           (version == "HTTP/1.1" || version == "HTTP/1.0");
}

/// What the headers say of the body.
class framing {
public:
    head_refusal read(std::string_view name, std::string_view value, std::size_t max_body) {
        if (equal_names(name, "content-length")) return read_length(value, max_body);
        if (equal_names(name, "transfer-encoding")) {
            if (encoded_) return bad("Transfer-Encoding is given twice");
            encoded_ = true;
            if (!equal_names(value, "chunked")) return bad("Transfer-Encoding must be chunked");
        }
        if (has_length_ && encoded_)
            return bad("Content-Length and Transfer-Encoding exclude each other");
        return {};
    }

private:
    head_refusal read_length(std::string_view value, std::size_t max_body) {
        if (has_length_) return bad("Content-Length is given twice");
        has_length_ = true;
        if (encoded_) return bad("Content-Length and Transfer-Encoding exclude each other");
        std::uint64_t length = 0;
        const auto [end, error] =
            std::from_chars(value.data(), value.data() + value.size(), length);
        if (end != value.data() + value.size() || value.empty() ||
            (error != std::errc() && error != std::errc::result_out_of_range))
            return bad("Content-Length must be a whole number");
        if (error == std::errc::result_out_of_range || length > max_body)
            return {.status = 413, .why = "the body is too large"};
        return {};
    }

    bool has_length_ = false;
    bool encoded_ = false;
};

}  // namespace

head_refusal refusal_of_lines(std::string_view head, std::size_t seen) {
    for (auto at = head.find('\n', seen); at != std::string_view::npos;
         at = head.find('\n', at + 1))
        if (at == 0 || head[at - 1] != '\r') return bad("a line must end with CR LF");
    return {};
}

head_refusal refusal_of_head(std::string_view head, std::size_t max_body) {
    const auto next_line = [&] {
        const auto end = head.find(line_end);
        const auto line = head.substr(0, end);
        head.remove_prefix(std::min(head.size(), line.size() + line_end.size()));
        return line;
    };
    if (!is_request_line(next_line())) return bad("the request line is malformed");
    framing body;
    std::size_t headers = 0;
    for (auto line = next_line(); !line.empty(); line = next_line()) {
        if (++headers > most_headers) return {.status = 431, .why = "there are too many headers"};
        if (line.front() == ' ' || line.front() == '\t')
            return bad("a header must not go on in the next line");
        const auto colon = line.find(':');
        const auto name = line.substr(0, colon);
        if (colon == std::string_view::npos || !is_token(name)) return bad("a header is malformed");
        const auto value = trimmed(line.substr(colon + 1));
        if (!is_text(value)) return bad("a header has control characters");
        if (auto refusal = body.read(name, value, max_body); refusal.status != 0) return refusal;
    }
    return {};
}

std::string_view authority_of(std::string_view target) noexcept {
    constexpr std::string_view slashes = "://";
    const auto scheme = target.find(slashes);
    if (scheme == std::string_view::npos || !(equal_names(target.substr(0, scheme), "http") ||
                                              equal_names(target.substr(0, scheme), "https")))
        return {};
    const auto authority = target.substr(scheme + slashes.size());
    return authority.substr(0, authority.find_first_of("/?#"));
}

}  // namespace cadre::manage::detail
