// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/config_source.hpp>

namespace cadre::manage {

/// Which key of which Consul, and how it is asked.
struct consul_source_options {
    std::vector<std::string> agents = {"http://127.0.0.1:8500"};
    std::string key = {};
    /// Without it: as the suffix of the key says.
    std::optional<document_format> format = {};
    std::string token = {};       ///< of an ACL
    std::string datacenter = {};  ///< empty: that of the agent
    bool required = true;  ///< false: a key that is not there is a document that says nothing
    /// How long the agent holds a query while nothing changes; Consul allows ten minutes.
    std::chrono::seconds wait = std::chrono::seconds(55);
    /// Between queries that are answered at once, after the second.
    std::chrono::milliseconds pace = std::chrono::milliseconds(500);
    source_backoff backoff = {};
    /// A file of certificates (PEM) of those who may vouch for an https server. Empty: the
    /// system's.
    std::string ca_file = {};
};

/// The value of a key of Consul, by blocking queries. Throws std::invalid_argument for agents that
/// are not http or https, an empty key, or a format that cannot be told.
CADRE_API std::unique_ptr<config_source> consul_source(consul_source_options options);

}  // namespace cadre::manage
