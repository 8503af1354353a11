// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace oracle {

/// The file says something that is no scenario: the driver gives up with exit code 2.
class not_understood : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// An error of the reference that has no counterpart here: the trace shows the name of its class.
class java_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The words of a command, the first one its name. A scenario is read as the reference reads it,
/// mistakes included: an argument that is missing is an invalid one.
class words {
public:
    explicit words(std::string_view line);

    const std::string& command() const { return all_.front(); }
    std::size_t size() const { return all_.size(); }
    const std::string& operator[](std::size_t i) const { return all_[i]; }
    /// Null if there is no such word.
    const std::string* find(std::size_t i) const { return i < all_.size() ? &all_[i] : nullptr; }
    /// Throws std::invalid_argument if there is no such word.
    const std::string& at(std::size_t i) const;
    std::string value_or(std::size_t i, std::string_view otherwise) const;

private:
    std::vector<std::string> all_;
};

/// The parts between the separators, without empty ones at the end.
std::vector<std::string> split(std::string_view text, char separator);
/// Throws the reference's error for an index that is out of range.
const std::string& part(const std::vector<std::string>& parts, std::size_t i);
/// What is before and behind the first '='; throws as part() if there is none.
std::pair<std::string, std::string> key_and_value(std::string_view text);

/// These throw std::invalid_argument for null and for what is no number, or too large a one.
int to_int(const std::string* text);
std::int64_t to_long(const std::string* text);
/// True for "true" in any case.
bool to_bool(std::string_view text);

}  // namespace oracle
