// SPDX-License-Identifier: Apache-2.0

#include "words.hpp"

#include <charconv>
#include <limits>

namespace oracle {

words::words(std::string_view line) {
    constexpr std::string_view blanks = " \t\v\f\r\n";
    for (auto begin = line.find_first_not_of(blanks); begin != line.npos;) {
        const auto end = std::min(line.find_first_of(blanks, begin), line.size());
        all_.emplace_back(line.substr(begin, end - begin));
        begin = line.find_first_not_of(blanks, end);
    }
}

const std::string& words::at(std::size_t i) const {
    if (const auto* word = find(i)) return *word;
    throw std::invalid_argument("argument " + std::to_string(i) + " is missing");
}

std::string words::value_or(std::size_t i, std::string_view otherwise) const {
    const auto* word = find(i);
    return word ? *word : std::string(otherwise);
}

std::vector<std::string> split(std::string_view text, char separator) {
    if (text.empty()) return {""};
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto end = std::min(text.find(separator, begin), text.size());
        parts.emplace_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    while (!parts.empty() && parts.back().empty()) parts.pop_back();
    return parts;
}

const std::string& part(const std::vector<std::string>& parts, std::size_t i) {
    if (i >= parts.size()) throw java_error("ArrayIndexOutOfBoundsException");
    return parts[i];
}

std::pair<std::string, std::string> key_and_value(std::string_view text) {
    const auto equals = text.find('=');
    if (equals == text.npos) throw java_error("ArrayIndexOutOfBoundsException");
    return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::int64_t to_long(const std::string* text) {
    if (!text) throw std::invalid_argument("Cannot parse null string");
    const char* begin = text->data();
    const char* const end = begin + text->size();
    if (text->size() > 1 && *begin == '+' && begin[1] != '-') ++begin;
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(begin, end, number);
    if (error != std::errc() || rest != end)
        throw std::invalid_argument("For input string: \"" + *text + "\"");
    return number;
}

int to_int(const std::string* text) {
    const auto number = to_long(text);
    if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max())
        throw std::invalid_argument("For input string: \"" + *text + "\"");
    return static_cast<int>(number);
}

bool to_bool(std::string_view text) {
    constexpr std::string_view yes = "true";
    if (text.size() != yes.size()) return false;
    for (std::size_t i = 0; i < yes.size(); ++i)
        if ((text[i] | 0x20) != yes[i]) return false;
    return true;
}

}  // namespace oracle
