// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/config_source.hpp>

namespace cadre::manage {

/// Which namespace of which Apollo, and how it is asked.
struct CADRE_API apollo_source_options {
    /// Says where the config services are; asked again every five minutes. Several, with commas
    /// between: the next is asked if one fails.
    std::string meta = {};
    /// The config services themselves; then no meta server is asked.
    std::vector<std::string> config_services = {};
    std::string app_id = {};
    std::string cluster = "default";
    /// With its suffix, unless it is one of properties: cadre.yaml, pools.json, application.
    std::string name_space = "cadre.yaml";
    std::string data_center = {};
    std::string ip = {};      ///< of this instance, for grey releases
    std::string label = {};   ///< likewise
    std::string secret = {};  ///< of an access key; empty: requests are not signed
    /// Where the last release is kept in a file, as Apollo's Java client does (the directory in
    /// which {app_id}/config-cache is); read if no service answers at the start. Empty: nowhere.
    std::filesystem::path cache_directory = {};
    bool required = true;  ///< false: nothing released is a document that says nothing
    std::chrono::milliseconds timeout = std::chrono::seconds(5);
    /// Must be above what the service holds a poll, which is 60 seconds as a rule.
    std::chrono::milliseconds long_poll = std::chrono::seconds(90);
    /// Reads that are due even if no notification comes.
    std::chrono::milliseconds refresh = std::chrono::minutes(5);
    /// Between polls that are answered at once, after the second.
    std::chrono::milliseconds pace = std::chrono::milliseconds(500);
    source_backoff backoff = {};
    /// A file of certificates (PEM) of those who may vouch for an https server. Empty: the
    /// system's.
    std::string ca_file = {};

    /// From APP_ID, APOLLO_META, APOLLO_CONFIG_SERVICE (with commas between), APOLLO_CLUSTER,
    /// APOLLO_LABEL, APOLLO_ACCESS_KEY_SECRET and APOLLO_CACHE_DIR; and from a file, if it is
    /// there, that machines have for Apollo's clients: `idc` is the data centre, and the cluster
    /// unless one is named; `env` the environment, whose meta server is in DEV_META, PRO_META and
    /// so on unless one is named. Throws configuration_error if that file makes no sense.
    static apollo_source_options from_environment(
        const std::filesystem::path& server_properties = "/opt/settings/server.properties");
};

/// A namespace of Apollo, by long polls. Throws std::invalid_argument for an app id that Apollo
/// would not take, services that are not http or https or neither they nor a meta server, or a
/// namespace whose suffix is no format.
CADRE_API std::unique_ptr<config_source> apollo_source(apollo_source_options options);

}  // namespace cadre::manage
