// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/document.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "manage/document_builder.hpp"
#include "utf8.hpp"

namespace cadre::manage {
namespace {

/// What is refused whatever the format; the rule, or an empty text.
config_problem unreadable(std::string_view text, const document_limits& limits) {
    if (text.size() > limits.bytes)
        return {.rule = "has " + std::to_string(text.size()) + " bytes, more than " +
                        std::to_string(limits.bytes)};
    int line = 1;
    bool empty = true;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t size = cadre::detail::character_size(text.substr(at));
        if (size == 0) return {.line = line, .rule = "is not UTF-8"};
        const char c = text[at];
        if (c == '\0') return {.line = line, .rule = "contains a NUL byte"};
        if (c == '\n') ++line;
        if (c != '\n' && c != '\r' && c != ' ' && c != '\t') empty = false;
        at += size;
    }
    if (empty) return {.rule = "is empty"};
    return {};
}

}  // namespace

document_format format_of(std::string_view file_name) {
    for (const auto format : {document_format::yaml, document_format::json, document_format::toml,
                              document_format::properties})
        if (file_name.ends_with("." + std::string(to_text(format)))) return format;
    if (file_name.ends_with(".yml")) return document_format::yaml;
    throw std::invalid_argument("file name \"" + std::string(file_name) +
                                "\" must end in .yaml, .yml, .json, .toml or .properties");
}

std::string_view to_text(document_format format) {
    switch (format) {
        case document_format::yaml:
            return "yaml";
        case document_format::json:
            return "json";
        case document_format::toml:
            return "toml";
        case document_format::properties:
            break;
    }
    return "properties";
}

const document_node* document_node::find(std::string_view key) const {
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const document_member& m) { return m.key == key; });
    return found == members.end() ? nullptr : &found->value;
}

document parse_document(std::string_view text, std::string file, document_format format,
                        const document_limits& limits) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    if (auto problem = unreadable(text, limits); !problem.rule.empty()) {
        problem.file = std::move(file);
        throw configuration_error({std::move(problem)});
    }
    const auto parse = [&] {
        switch (format) {
            case document_format::yaml:
                return detail::parse_yaml(text, file, limits);
            case document_format::json:
                return detail::parse_json(text, file, limits);
            case document_format::toml:
                return detail::parse_toml(text, file, limits);
            case document_format::properties:
                break;
        }
        return detail::parse_properties(text, file, limits);
    };
    document_node root = parse();
    return {std::move(file), std::move(root)};
}

}  // namespace cadre::manage
