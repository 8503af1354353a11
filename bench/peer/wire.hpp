// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// One line from the harness: `W8a timers=1000 order=shuffled`.
class request {
public:
    /// Throws std::invalid_argument for a line that is none.
    explicit request(const std::string& line);
    const std::string& workload() const { return workload_; }
    long number(const std::string& key, long otherwise) const;
    std::string text(const std::string& key, const std::string& otherwise) const;

private:
    std::string workload_;
    std::map<std::string, std::string> values_;
};

/// One line to the harness: a JSON object of numbers and lists of numbers.
class answer {
public:
    answer& add(std::string_view key, double value);
    answer& add(std::string_view key, const std::vector<double>& values);
    std::string line() const { return "{" + fields_ + "}"; }

private:
    std::string fields_;
};

std::string quoted(std::string_view text);

}  // namespace bench
