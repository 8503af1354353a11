// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// What is fuzzed. A target reads any bytes; it fails by a sanitizer's report, by an exception that
// the header of what it calls does not speak of, or by require().

namespace cadre::fuzz {

struct target {
    const char* name;
    void (*play)(std::string_view input);
};

std::span<const target> text_targets();     ///< documents, settings, durations, cron, encodings
std::span<const target> centre_targets();   ///< answers of configuration centres, over a socket
std::span<const target> http_targets();     ///< requests to the API, and answers to cadrectl
std::span<const target> file_targets();     ///< files of others, and the page of metrics
std::span<const target> machine_targets();  ///< calls of the public API against a model

/// Ends the process unless it holds.
void require(bool holds, const std::string& what);

/// Takes decisions out of the input, from its front; zeros when there is no more.
class choices {
public:
    explicit choices(std::string_view input) : rest_(input) {}
    bool empty() const { return rest_.empty(); }
    unsigned byte() {
        if (rest_.empty()) return 0;
        const auto first = static_cast<unsigned char>(rest_.front());
        rest_.remove_prefix(1);
        return first;
    }
    /// From 0 to n - 1.
    unsigned below(unsigned n) { return byte() % n; }
    /// Up to the next line feed.
    std::string_view line() {
        const auto end = rest_.find('\n');
        const auto text = rest_.substr(0, end);
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
        return text;
    }
    std::string_view rest() const { return rest_; }

private:
    std::string_view rest_;
};

}  // namespace cadre::fuzz
