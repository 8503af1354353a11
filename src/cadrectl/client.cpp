// SPDX-License-Identifier: Apache-2.0
#include "cadrectl/client.hpp"

#include <array>
#include <cctype>

#include <httplib.h>

#include "manage/harmless.hpp"

namespace cadre::cadrectl {
namespace {

/// As people say it: httplib knows one word for each.
std::string words_for(httplib::Error error) {
    switch (error) {
        case httplib::Error::Connection:
            return "nobody listens there, or it cannot be reached";
        case httplib::Error::ConnectionTimeout:
            return "it was not reached in time";
        case httplib::Error::Read:
            return "it did not answer in time, or not in HTTP";
        case httplib::Error::Write:
            return "it ended the connection";
        default:
            return httplib::to_string(error);
    }
}

json answer_of(const httplib::Result& result, const std::string& address) {
    if (!result)
        throw failure(unreachable, "no answer from " + address + ": " + words_for(result.error()));
    auto body = json::parse(result->body, nullptr, false);
    if (result->status == 200 && !body.is_discarded()) return body;
    std::string why = "the answer is no JSON";
    if (body.is_object() && body.contains("error") && body["error"].is_string())
        why = manage::detail::harmless(body["error"].get<std::string>());
    throw failure(result->status == 503 || result->status == 200 ? unreachable : refused,
                  why + " (" + std::to_string(result->status) + ")");
}

/// What is sent must be what was meant.
std::string strictly_dumped(const json& body) {
    try {
        return body.dump();
    } catch (const json::type_error&) {
        throw failure(usage, "an argument is not UTF-8");
    }
}

}  // namespace

std::string dumped(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

client::client(std::string url, std::string token, int timeout_seconds, change_note note)
    : url_(std::move(url)),
      token_(std::move(token)),
      timeout_seconds_(timeout_seconds),
      note_(std::move(note)) {}

std::string client::checked_address() const {
    auto address = url_;
    while (address.ends_with('/')) address.pop_back();
    if (!address.starts_with("http://") || address.find('/', 7) != std::string::npos)
        throw failure(usage, "--url (" + url_ + ") must be http://HOST:PORT");
    return address;
}

json client::get(const std::string& path) const {
    const auto address = checked_address();
    httplib::Client http(address);
    http.set_connection_timeout(timeout_seconds_);
    http.set_read_timeout(timeout_seconds_);
    return answer_of(http.Get(path), address);
}

json client::send(const std::string& method, const std::string& path, const json& body,
                  const std::string& if_revision) const {
    const auto address = checked_address();
    httplib::Client http(address);
    http.set_connection_timeout(timeout_seconds_);
    http.set_read_timeout(timeout_seconds_);
    httplib::Headers headers;
    if (manage::detail::harmless(token_) != token_)
        throw failure(usage, "the token has control characters");
    if (!token_.empty()) headers.emplace("Authorization", "Bearer " + token_);
    if (!if_revision.empty()) headers.emplace("If-Match", "\"" + if_revision + "\"");
    const auto say = [&](const char* header, const char* what, const std::string& text) {
        if (manage::detail::harmless(text) != text)  // a line more would be a header more
            throw failure(usage, std::string(what) + " must be one line");
        if (!text.empty()) headers.emplace(header, text);
    };
    say("Cadre-Author", "the author", note_.author);
    say("Cadre-Comment", "--comment", note_.comment);
    const auto text = strictly_dumped(body);
    return answer_of(method == "PATCH" ? http.Patch(path, headers, text, "application/json")
                                       : http.Post(path, headers, text, "application/json"),
                     address);
}

std::string client::percent_encoded(const std::string& name) {
    static constexpr std::string_view digits = "0123456789ABCDEF";
    std::string path;
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.')
            path += c;
        else
            (path += '%').append({digits[byte >> 4U], digits[byte & 15U]});
    }
    return path;
}

}  // namespace cadre::cadrectl
