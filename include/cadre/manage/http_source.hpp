// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/config_source.hpp>

namespace cadre::manage {

/// Which address, and how it is asked.
struct http_source_options {
    std::string url = {};
    /// Without it: as the suffix of the path says.
    std::optional<document_format> format = {};
    std::vector<std::string> headers = {};  ///< as "Authorization: Bearer 123"
    bool required = true;                   ///< false: 404 is a document that says nothing
    std::chrono::milliseconds interval = std::chrono::seconds(30);
    std::chrono::milliseconds timeout = std::chrono::seconds(5);
    source_backoff backoff = {};
    /// A file of certificates (PEM) of those who may vouch for an https server. Empty: the
    /// system's.
    std::string ca_file = {};
};

/// A document at a URL, asked for again and again, with If-None-Match if the server gives an ETag.
/// For centres of your own: any server of files will do. Throws std::invalid_argument for a URL
/// that is not http or https, or a format that cannot be told.
CADRE_API std::unique_ptr<config_source> http_source(http_source_options options);

}  // namespace cadre::manage
