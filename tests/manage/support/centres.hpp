// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include <cadre/manage/apollo_source.hpp>
#include <cadre/manage/consul_source.hpp>
#include <cadre/manage/etcd_source.hpp>
#include <cadre/manage/http_source.hpp>
#include <cadre/manage/nacos_source.hpp>

#include "manage/support/apollo_standin.hpp"
#include "manage/support/centre_standins.hpp"
#include "manage/support/etcd_server.hpp"
#include "manage/support/received_documents.hpp"

namespace cadre::testing {

/// A kind of source, and a server for it.
struct centre {
    std::function<void(const std::string&)> publish = {};
    std::string url = {};
    std::function<std::unique_ptr<manage::config_source>(const std::string&)> source = {};
    /// Its revisions have an order, so that an old answer is known as one.
    bool knows_old_from_new = false;
    std::shared_ptr<void> server = {};
};

template <class Server>
centre serving(std::shared_ptr<Server> server) {
    return {.publish = [s = server.get()](const std::string& text) { s->set(text); },
            .url = server->url(),
            .server = server};
}

inline constexpr auto as_json = manage::document_format::json;  // half a document is none

inline centre http_centre() {
    auto result = serving(std::make_shared<file_server>());
    result.source = [](const std::string& url) {
        return manage::http_source(
            {.url = url + "/pools.json", .interval = 1ms, .timeout = 1h, .backoff = quick_backoff});
    };
    return result;
}

inline centre consul_centre() {
    auto result = serving(std::make_shared<consul_standin>());
    result.knows_old_from_new = true;
    result.source = [](const std::string& url) {
        return manage::consul_source(
            {.agents = {url}, .key = "pools.json", .pace = 1ms, .backoff = quick_backoff});
    };
    return result;
}

inline centre nacos_centre(bool v3) {
    auto result = serving(std::make_shared<nacos_standin>(v3));
    result.source = [v3](const std::string& url) {
        return manage::nacos_source(
            {.servers = {url},
             .data_id = "pools.yaml",
             .group = "shop",
             .namespace_id = "ns",
             .format = as_json,
             .protocol = v3 ? manage::nacos_protocol::v3 : manage::nacos_protocol::v1,
             .interval = 1ms,
             .pace = 1ms,
             .backoff = quick_backoff});
    };
    return result;
}

inline centre apollo_centre() {
    const auto server = std::make_shared<apollo_standin>();
    return {.publish = [s = server.get()](const std::string& text) { s->publish(text); },
            .url = server->url(),
            .source =
                [](const std::string& url) {
                    return manage::apollo_source({.config_services = {url},
                                                  .app_id = "shop",
                                                  .name_space = "pools.json",
                                                  .timeout = 1h,
                                                  .long_poll = 1h,
                                                  .refresh = 20ms,
                                                  .pace = 1ms,
                                                  .backoff = quick_backoff});
                },
            .server = server};
}

inline centre etcd_centre() {
    const auto server = std::make_shared<etcd_server>();
    return {.publish = [s = server.get()](const std::string& text) { s->put("pools.json", text); },
            .url = server->url(),
            .source =
                [](const std::string& url) {
                    return manage::etcd_source({.endpoints = {url},
                                                .key = "pools.json",
                                                .timeout = 1h,
                                                .pace = 1ms,
                                                .backoff = quick_backoff});
                },
            .knows_old_from_new = true,
            .server = server};
}

}  // namespace cadre::testing
