// SPDX-License-Identifier: Apache-2.0
#include "manage/http_guard.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace cadre::manage::detail {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lowered(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), lower);
    return result;
}

bool is_port(std::string_view text) {
    return !text.empty() && text.size() <= 5 &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), [](char c) {
        const char l = lower(c);
        return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    });
}

bool is_address6(std::string_view text) {
    return !text.empty() && text.size() <= 45 && std::all_of(text.begin(), text.end(), [](char c) {
        const char l = lower(c);
        return (l >= 'a' && l <= 'f') || (c >= '0' && c <= '9') || c == ':' || c == '.';
    });
}

bool is_loopback(std::string_view name) {
    static constexpr std::array<std::string_view, 3> names = {"127.0.0.1", "localhost", "::1"};
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool same_secret(std::string_view guess, std::string_view secret) noexcept {
    if (secret.empty()) return false;
    // Without volatile the loop might end at the first difference.
    volatile unsigned different = guess.size() != secret.size() ? 1U : 0U;
    for (std::size_t i = 0; i < guess.size(); ++i) {
        const auto a = static_cast<unsigned char>(guess[i]);
        const auto b = static_cast<unsigned char>(secret[i % secret.size()]);
        different = different | static_cast<unsigned>(a ^ b);
    }
    return different == 0;
}

std::string_view bearer_token(std::string_view authorization) noexcept {
    constexpr std::string_view scheme = "bearer ";
    if (authorization.size() <= scheme.size()) return {};
    for (std::size_t i = 0; i < scheme.size(); ++i)
        if (lower(authorization[i]) != scheme[i]) return {};
    return authorization.substr(scheme.size());
}

std::string host_name(std::string_view host_header) {
    std::string_view name = host_header;
    std::string_view port;
    if (name.starts_with('[')) {
        const auto end = name.find(']');
        if (end == std::string_view::npos) return {};
        port = name.substr(end + 1);
        name = name.substr(1, end - 1);
        if (!is_address6(name)) return {};
    } else {
        const auto colon = name.find(':');
        if (colon != std::string_view::npos) {
            port = name.substr(colon);
            name = name.substr(0, colon);
        }
        if (!is_name(name)) return {};
    }
    if (!port.empty() && (port.front() != ':' || !is_port(port.substr(1)))) return {};
    return lowered(name);
}

bool host_is_known(std::string_view host_header, const std::vector<std::string>& more) {
    const std::string name = host_name(host_header);
    if (name.empty()) return false;
    return is_loopback(name) || std::any_of(more.begin(), more.end(), [&](const auto& known) {
               return lowered(known) == name;
           });
}

bool origin_is_ours(std::string_view origin, std::string_view host_header) {
    if (origin.empty()) return true;
    const std::string given = lowered(origin);
    const std::string host = lowered(host_header);
    return given == "http://" + host || given == "https://" + host;
}

http_response refusal_of(const http_request& request, const std::vector<std::string>& more_hosts) {
    // The texts do not repeat what was sent: nothing foreign is ever echoed.
    if (!host_is_known(request.host, more_hosts))
        return {.status = 403,
                .body = R"({"error":"the Host header is none of this server's names"})"};
    if (!origin_is_ours(request.origin, request.host))
        return {.status = 403, .body = R"({"error":"the request comes from a foreign page"})"};
    return {.status = 0};
}

}  // namespace cadre::manage::detail
