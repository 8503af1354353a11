// SPDX-License-Identifier: Apache-2.0
#include "manage/centre.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace cadre::manage::detail {

document_node json_answer(std::string_view body, const std::string& url) {
    try {
        const document_limits limits{.bytes = std::size_t{4} << 20};
        return parse_document(body, "the answer", document_format::json, limits).root;
    } catch (const configuration_error& refused) {
        // Without what the parser read last: that may be a token.
        const std::string why = refused.what();
        throw http_failure(shown_url(url) + ": " + why.substr(0, why.find("; last read")));
    }
}

std::string text_at(const document_node& node, std::string_view key) {
    const auto* found = node.find(key);
    return found == nullptr || !found->is_scalar() ? "" : found->value;
}

std::int64_t to_number(std::string_view text, std::int64_t otherwise) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? number : otherwise;
}

std::int64_t number_at(const document_node& node, std::string_view key, std::int64_t otherwise) {
    return to_number(text_at(node, key), otherwise);
}

server_list::server_list(std::vector<std::string> urls, std::string_view option) {
    if (urls.empty()) throw std::invalid_argument(std::string(option) + " must not be empty");
    for (auto& url : urls) urls_.push_back(base_url(std::move(url), option));
}

void revision_order::check(std::int64_t revision, const std::string& url) {
    constexpr int enough = 3;
    if (revision < newest_ && ++lower_ones_ < enough)
        throw http_failure(shown_url(url) + ": the revision went back from " +
                           std::to_string(newest_) + " to " + std::to_string(revision));
    newest_ = revision;
    lower_ones_ = 0;
}

void poll_pace::wait(const stop_signal& stop) {
    const auto now = std::chrono::steady_clock::now();
    // One interval of credit is what lets two go directly.
    const auto start = std::max(first_free_, now - interval_);
    first_free_ = start + interval_;
    if (start > now) stop.sleep_for(std::chrono::ceil<std::chrono::milliseconds>(start - now));
}

}  // namespace cadre::manage::detail
