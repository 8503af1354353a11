// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/config_source.hpp>

namespace cadre::manage {

/// Which HTTP interface a Nacos server has.
enum class nacos_protocol {
    probe,  ///< find out
    v1,     ///< servers 1.x and 2.x: long polls
    v3      ///< servers 3.x: no long poll; asks again and again
};

/// Which document of which Nacos, and how it is asked.
struct nacos_source_options {
    std::vector<std::string> servers = {"http://127.0.0.1:8848"};
    std::string data_id = {};
    std::string group = "DEFAULT_GROUP";
    std::string namespace_id = {};  ///< empty: public
    /// Without it: as the suffix of the data id says.
    std::optional<document_format> format = {};
    std::string username = {};  ///< empty: no authentication
    std::string password = {};
    bool required = true;  ///< false: no such document is one that says nothing
    nacos_protocol protocol = nacos_protocol::probe;
    std::chrono::milliseconds long_poll = std::chrono::seconds(30);  ///< v1
    std::chrono::milliseconds interval = std::chrono::seconds(15);   ///< v3
    /// Between polls that are answered at once, after the second.
    std::chrono::milliseconds pace = std::chrono::milliseconds(500);
    source_backoff backoff = {};
    /// A file of certificates (PEM) of those who may vouch for an https server. Empty: the
    /// system's.
    std::string ca_file = {};
};

/// A document of Nacos. Throws std::invalid_argument for servers that are not http or https, an
/// empty data id or group, or a format that cannot be told.
CADRE_API std::unique_ptr<config_source> nacos_source(nacos_source_options options);

}  // namespace cadre::manage
