// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <sstream>

#include <toml++/toml.h>

#include "manage/document_builder.hpp"

namespace cadre::manage::detail {
namespace {

using type = document_node::type;

/// Looks at brackets and dotted keys without parsing, for toml++ builds a level for each part of
/// a.b.c… and destroys them by recursion. Strings and comments are stepped over.
class nesting_scan {
public:
    explicit nesting_scan(std::string_view text) : rest_(text) {}

    /// The line in which it is deeper than `limit`, or 0.
    int too_deep(int limit) {
        while (!rest_.empty()) {
            step();
            if (brackets_ > limit || dots_ > limit) return line_;
        }
        return 0;
    }

private:
    void step() {
        const char c = rest_.front();
        if (c == '#') return skip_to(rest_.find('\n'));
        if (c == '"' || c == '\'') return skip_string(c);
        rest_.remove_prefix(1);
        if (c == '[' || c == '{') ++brackets_;
        if ((c == ']' || c == '}') && brackets_ > 0) --brackets_;
        if (c == '.') ++dots_;
        if (c == '\n') ++line_;
        if (c == '\n' || c == '=' || c == ',' || c == '{' || c == '[') dots_ = 0;
    }
    void skip_string(char quote) {
        const std::string three(3, quote);
        const bool long_form = rest_.starts_with(three);
        const std::string end = long_form ? three : std::string(1, quote);
        rest_.remove_prefix(end.size());
        while (!rest_.empty() && !rest_.starts_with(end)) {
            const char c = rest_.front();
            if (c == '\n') {
                ++line_;
                if (!long_form) return;  // the parser will complain
            }
            rest_.remove_prefix(quote == '"' && c == '\\' && rest_.size() > 1 ? 2 : 1);
        }
        rest_.remove_prefix(std::min(end.size(), rest_.size()));
        // The last three of up to five quotes end a long string.
        for (int i = 0; long_form && i < 2 && rest_.starts_with(quote); ++i) rest_.remove_prefix(1);
    }
    void skip_to(std::size_t position) { rest_.remove_prefix(std::min(position, rest_.size())); }

    std::string_view rest_;
    int line_ = 1;
    int brackets_ = 0;
    int dots_ = 0;
};

/// The key that is written in a line, with the table it is in: toml++ tells only the place.
std::string key_at(std::string_view text, int line) {
    const auto trimmed = [](std::string_view part) {
        const auto first = part.find_first_not_of(" \t\r");
        if (first == std::string_view::npos) return std::string();
        return std::string(part.substr(first, part.find_last_not_of(" \t\r") - first + 1));
    };
    std::string table;
    for (int at = 1; !text.empty(); ++at) {
        const auto end = text.find('\n');
        const auto row = trimmed(text.substr(0, end));
        const auto open = row.find_first_not_of('[');
        if (open != 0 && open != std::string::npos)
            table = trimmed(std::string_view(row).substr(open, row.find(']') - open));
        if (at == line) {
            const auto equals = row.find('=');
            if (row.starts_with('[') || equals == std::string::npos) return table;
            return (table.empty() ? "" : table + ".") + trimmed(row.substr(0, equals));
        }
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return table;
}

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

void tell(const toml::node& node, document_builder& tree);

void tell_table(const toml::table& table, int line, document_builder& tree) {
    tree.open(type::map, line);
    for (const auto& [key, value] : table) {
        const auto key_line = static_cast<int>(key.source().begin.line);
        tree.key(std::string(key.str()), key_line);
        tell(value, tree);
    }
    tree.close();
}

template <class Value>
std::string text_of(const Value& value) {
    std::ostringstream text;
    text << value;
    return text.str();
}

/// All its digits, and never those of a whole number: 8.0 is none.
std::string float_text(double number) {
    std::array<char, 64> buffer{};
    const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
    std::string text(buffer.data(), end);
    if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
    return text;
}

void tell(const toml::node& node, document_builder& tree) {
    const int line = line_of(node);
    if (const auto* table = node.as_table()) return tell_table(*table, line, tree);
    if (const auto* array = node.as_array()) {
        tree.open(type::list, line);
        for (const auto& item : *array) tell(item, tree);
        return tree.close();
    }
    if (const auto* text = node.as_string()) return tree.scalar(type::text, text->get(), line);
    if (const auto* flag = node.as_boolean())
        return tree.scalar(type::boolean, flag->get() ? "true" : "false", line);
    if (const auto* number = node.as_integer())
        return tree.scalar(type::number, std::to_string(number->get()), line);
    if (const auto* number = node.as_floating_point())
        return tree.scalar(type::number, float_text(number->get()), line);
    // Dates and times, which no setting is.
    std::string text;
    node.visit([&](const auto& value) {
        if constexpr (toml::is_date<decltype(value)> || toml::is_time<decltype(value)> ||
                      toml::is_date_time<decltype(value)>)
            text = text_of(value.get());
    });
    tree.scalar(type::text, text, line);
}

}  // namespace

document_node parse_toml(std::string_view text, const std::string& file,
                         const document_limits& limits) {
    document_builder tree(file, limits);
    if (const int line = nesting_scan(text).too_deep(limits.depth); line != 0)
        tree.refuse(line, "is nested deeper than " + std::to_string(limits.depth) + " levels",
                    key_at(text, line));
    try {
        const toml::table root = toml::parse(text);
        tell_table(root, 1, tree);
    } catch (const toml::parse_error& e) {
        const auto line = static_cast<int>(e.source().begin.line);
        tree.refuse(line, "is not TOML: " + std::string(e.description()), key_at(text, line));
    }
    return tree.finish();
}

}  // namespace cadre::manage::detail
