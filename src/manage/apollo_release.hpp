// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <cadre/manage/config_source.hpp>

// What Apollo's protocol says, apart from when it is said.

namespace cadre::manage::detail {

/// What is in the Authorization header after the app id. `target` is path and query as they are
/// sent.
std::string apollo_signature(std::string_view secret, std::string_view timestamp,
                             std::string_view target);

/// What is released of a namespace.
struct apollo_release {
    std::string key = {};
    std::map<std::string, std::string> items = {};

    /// The release after an answer of /configs: the whole, or changes to this one. Throws
    /// http_failure if it makes no sense.
    apollo_release after(const document_node& answer) const;
    /// A namespace with a suffix has its text in the item `content`; one without is properties.
    config_document document(std::string_view name_space) const;
};

document_format apollo_format(std::string_view name_space);

/// The cache file of Apollo's Java client: Java properties.
std::filesystem::path apollo_cache_file(const std::filesystem::path& directory,
                                        std::string_view app_id, std::string_view cluster,
                                        std::string_view name_space);
/// Whole or not at all. Throws std::system_error.
void write_apollo_cache(const std::filesystem::path& file, const apollo_release& release);
/// Nothing if there is none that can be read.
std::optional<config_document> read_apollo_cache(const std::filesystem::path& file,
                                                 std::string_view name_space);

}  // namespace cadre::manage::detail
