// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <cadre/manage/duration_text.hpp>

#include "manage/configuration_reader.hpp"
#include "manage/document_builder.hpp"
#include "manage/harmless.hpp"

namespace cadre::manage::detail {
namespace {

using type = document_node::type;

std::string shown(const document_node& node) {
    constexpr std::size_t enough = 60;
    if (node.kind == type::list) return "a list";
    if (node.kind == type::map) return "a map";
    if (node.kind == type::null) return "nothing";
    std::string value = node.value;
    if (value.size() > enough) value = shortened(value, enough) + "…";
    return node.kind == type::text ? "\"" + value + "\"" : value;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

std::string joined(std::span<const std::string_view> names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + std::string(names[i]);
    return text;
}

bool is_printable(std::string_view text) { return harmless(text) == text; }

}  // namespace

value_reader::value_reader(std::string file, std::vector<config_problem>& problems,
                           std::vector<config_problem>& ignored)
    : file_(std::move(file)), problems_(problems), ignored_(ignored) {}

void value_reader::problem(int line, std::string path, std::string rule) {
    constexpr std::size_t enough = 1000;
    if (problems_.size() < enough)
        problems_.push_back({file_, line, shown_key(std::move(path)), std::move(rule)});
}

void value_reader::ignore(int line, std::string path, std::string why) {
    constexpr std::size_t enough = 1000;
    if (ignored_.size() < enough)
        ignored_.push_back({file_, line, shown_key(std::move(path)), std::move(why)});
}

void value_reader::unknown_key(int line, std::string path, std::string_view key,
                               std::span<const std::string_view> known) {
    std::string rule = "is not a key here";
    constexpr std::size_t longest = 64;  // of a key that is worth a guess
    if (key.size() <= longest) {
        const auto nearest = std::min_element(known.begin(), known.end(), [&](auto a, auto b) {
            return edit_distance(key, a) < edit_distance(key, b);
        });
        if (nearest != known.end() && edit_distance(key, *nearest) <= key.size() / 2)
            rule += "; " + std::string(*nearest) + " is";
    }
    problem(line, std::move(path), rule);
}

bool value_reader::is_map(const document_node& node, const std::string& path) {
    if (node.kind == type::map) return true;
    problem(node.line, path, "must be a map, and is " + shown(node));
    return false;
}

bool value_reader::is_list(const document_node& node, const std::string& path) {
    if (node.kind == type::list) return true;
    problem(node.line, path, "must be a list, and is " + shown(node));
    return false;
}

std::optional<std::int64_t> value_reader::whole(const document_node& node, const std::string& path,
                                                std::int64_t least, std::int64_t most) {
    std::int64_t number = 0;
    const std::string& digits = node.value;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool is_number = (node.kind == type::number || node.kind == type::plain) &&
                           error != std::errc::invalid_argument &&
                           end == digits.data() + digits.size();
    // 010 is eight to some readers of YAML, and ten to others; and -0 is a slip.
    const bool ambiguous = digits.starts_with("-0") || (digits.size() > 1 && digits[0] == '0');
    if (!is_number || ambiguous) {
        problem(node.line, path, "must be a whole number, and is " + shown(node));
        return {};
    }
    if (error == std::errc::result_out_of_range || number < least || number > most) {
        problem(node.line, path,
                "must be from " + std::to_string(least) + " to " + std::to_string(most) +
                    ", and is " + shown(node));
        return {};
    }
    return number;
}

std::optional<int> value_reader::threads(const document_node& node, const std::string& path,
                                         int least) {
    const auto number = whole(node, path, least, most_threads);
    return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::optional<bool> value_reader::flag(const document_node& node, const std::string& path) {
    if (node.kind == type::boolean || node.kind == type::plain) {
        if (node.value == "true" || node.value == "True" || node.value == "TRUE") return true;
        if (node.value == "false" || node.value == "False" || node.value == "FALSE") return false;
    }
    problem(node.line, path, "must be true or false, and is " + shown(node));
    return {};
}

std::optional<std::string> value_reader::text(const document_node& node, const std::string& path) {
    constexpr std::size_t longest = 256;
    if (node.kind != type::text && node.kind != type::plain)
        problem(node.line, path, "must be a text, and is " + shown(node));
    else if (node.value.empty() || node.value.size() > longest || !is_printable(node.value))
        problem(node.line, path,
                "must be a text of 1 to " + std::to_string(longest) +
                    " bytes without control characters");
    else
        return node.value;
    return {};
}

std::optional<std::string> value_reader::one_of(const document_node& node, const std::string& path,
                                                std::span<const std::string_view> known) {
    const bool is_text = node.kind == type::text || node.kind == type::plain;
    if (is_text && std::find(known.begin(), known.end(), node.value) != known.end())
        return node.value;
    problem(node.line, path, "must be " + joined(known) + ", and is " + shown(node));
    return {};
}

std::optional<std::chrono::nanoseconds> value_reader::duration(const document_node& node,
                                                               const std::string& path) {
    if (node.kind == type::list || node.kind == type::map || node.kind == type::null ||
        node.kind == type::boolean) {
        problem(node.line, path, "must be a duration, as 60s or 500ms, and is " + shown(node));
        return {};
    }
    try {
        return parse_duration(node.value);
    } catch (const std::invalid_argument& refused) {
        problem(node.line, path, shortened(refused.what(), 200));
        return {};
    }
}

bool value_reader::is_pool_name(std::string_view name, int line, const std::string& path) {
    constexpr std::size_t longest = 128;
    const bool leads_elsewhere = name == "." || name == "..";  // in the address of its page
    if (!name.empty() && name.size() <= longest && is_printable(name) && !leads_elsewhere)
        return true;
    problem(line, path,
            "the name of a pool must have 1 to " + std::to_string(longest) +
                " bytes and no control characters, and be neither . nor ..");
    return false;
}

}  // namespace cadre::manage::detail
