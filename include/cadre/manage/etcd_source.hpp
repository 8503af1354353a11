// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/config_source.hpp>

namespace cadre::manage {

/// Which key of which etcd, and how it is asked.
struct etcd_source_options {
    std::vector<std::string> endpoints = {"http://127.0.0.1:2379"};
    std::string key = {};
    /// Without it: as the suffix of the key says.
    std::optional<document_format> format = {};
    std::string username = {};  ///< empty: no authentication
    std::string password = {};
    bool required = true;  ///< false: a key that is not there is a document that says nothing
    std::chrono::milliseconds timeout = std::chrono::seconds(5);
    /// After so long without news the key is read again and the watch set anew, in case the
    /// connection is dead and nobody said so.
    std::chrono::milliseconds renew_watch = std::chrono::minutes(2);
    /// Between changes that follow each other closely, after the second.
    std::chrono::milliseconds pace = std::chrono::milliseconds(500);
    source_backoff backoff = {};
    /// A file of certificates (PEM) of those who may vouch for an https server. Empty: the
    /// system's.
    std::string ca_file = {};
};

/// The value of a key of etcd 3.4 or later, by the JSON gateway of its API v3: read, and watched
/// for changes from there on. Throws std::invalid_argument for endpoints that are not http or
/// https, an empty key, or a format that cannot be told.
CADRE_API std::unique_ptr<config_source> etcd_source(etcd_source_options options);

}  // namespace cadre::manage
