// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <cadre/manage/document.hpp>

#include "manage/http_client.hpp"
#include "manage/stop_signal.hpp"

// What the sources that talk to configuration centres have in common.

namespace cadre::manage::detail {

/// The JSON of an answer. Throws http_failure if it is none.
document_node json_answer(std::string_view body, const std::string& url);
/// The text of a member of a map; empty if there is none, or it is no scalar.
std::string text_at(const document_node& node, std::string_view key);
/// A whole number, also one in quotes; `otherwise` if it is none.
std::int64_t number_at(const document_node& node, std::string_view key, std::int64_t otherwise);
std::int64_t to_number(std::string_view text, std::int64_t otherwise);

/// The servers of a centre; one that failed makes way for the next.
class server_list {
public:
    /// Throws std::invalid_argument if there is none, or one is not http or https.
    server_list(std::vector<std::string> urls, std::string_view option);
    const std::string& current() const { return urls_[at_]; }
    void next() { at_ = (at_ + 1) % urls_.size(); }
    std::size_t size() const { return urls_.size(); }

private:
    std::vector<std::string> urls_;
    std::size_t at_ = 0;
};

/// Tells an answer that is late, or of a server that lags behind, from a history that was replaced
/// (a store restored from a backup): a lower revision is believed when it has come three times in a
/// row.
class revision_order {
public:
    /// Throws http_failure for a revision that is not believed.
    void check(std::int64_t revision, const std::string& url);

private:
    std::int64_t newest_ = 0;
    int lower_ones_ = 0;
};

/// Keeps a long poll that is answered at once, rightly or not, from becoming a busy loop: two may
/// follow each other directly, then one in each interval.
class poll_pace {
public:
    explicit poll_pace(std::chrono::milliseconds interval) : interval_(interval) {}
    void wait(const stop_signal& stop);

private:
    const std::chrono::milliseconds interval_;
    std::chrono::steady_clock::time_point first_free_ = {};
};

}  // namespace cadre::manage::detail
