// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/config_problem.hpp>

namespace cadre::manage {

enum class document_format { yaml, json, toml, properties };

/// By the suffix of a file name: .yaml, .yml, .json, .toml, .properties. Throws
/// std::invalid_argument for any other.
CADRE_API document_format format_of(std::string_view file_name);
/// yaml, json, toml, properties.
CADRE_API std::string_view to_text(document_format format);

struct document_member;

/// A value of a document, whatever it was written in.
struct CADRE_API document_node {
    enum class type {
        null,     ///< written as null, ~ or nothing
        boolean,  ///< value is true or false
        number,   ///< value is its text
        text,     ///< was written as text, in quotes: "8" is not a number
        plain,    ///< YAML without quotes, properties: is what it is read as
        list,
        map
    };
    type kind = type::null;
    std::string value;                     ///< of a scalar
    int line = 0;                          ///< where it begins, from 1
    std::vector<document_node> items;      ///< of a list
    std::vector<document_member> members;  ///< of a map, in the order of the document

    bool is_scalar() const { return kind != type::list && kind != type::map; }
    /// The value of a key of a map; nullptr if there is none.
    const document_node* find(std::string_view key) const;
};

/// A key of a map, with its value.
struct document_member {
    std::string key;
    int line = 0;
    document_node value;
};

/// A document as it was read, before anybody asks what it means.
struct document {
    std::string file;  ///< for messages
    document_node root;
};

/// Beyond these a document is refused before, or while, it is parsed.
struct document_limits {
    /// Of the text; and of what YAML aliases repeat of it, as much again.
    std::size_t bytes = std::size_t{1} << 20;
    int depth = 32;
    /// With everything that YAML aliases repeat.
    std::size_t nodes = 100'000;
};

/// Reads a document. `file` is only for the messages. Throws configuration_error with all that can
/// be said: it is empty, too large, nested too deeply, has a key twice in one map, several
/// documents, bytes that are not UTF-8, or is not what `format` says.
CADRE_API document parse_document(std::string_view text, std::string file, document_format format,
                                  const document_limits& limits = {});

}  // namespace cadre::manage
