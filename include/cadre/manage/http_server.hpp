// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/alarm_engine.hpp>
#include <cadre/manage/metrics_text.hpp>
#include <cadre/manage/pool_registry.hpp>

namespace cadre::manage {

/// Where the server listens, who may change pools, and what a request may cost.
struct http_server_options {
    /// Loopback: nobody else on the network can ask. Any other needs a token.
    std::string address = "127.0.0.1";
    int port = 7077;  ///< 0: any that is free
    /// Who sends it as "Authorization: Bearer TOKEN" may change pools. Empty: nobody can. At least
    /// 16 characters. Somebody who sends a hundred wrong ones within ten seconds is not heard until
    /// those are over.
    std::string token = {};
    /// Names by which this server may be asked besides 127.0.0.1, localhost, ::1 and `address`.
    /// Needed behind a proxy, for another name, or if `address` means all there are: requests for
    /// any other name are refused, as they come from pages that try to reach us through somebody's
    /// browser.
    std::vector<std::string> allowed_hosts = {};
    /// At once, each with a thread of a pool of its own. One more takes the place of the one that
    /// has been silent longest, or, if all are being answered, is told to come again.
    int max_connections = 64;
    std::size_t max_body = 65'536;
    /// For a whole request and its answer, however slowly it comes.
    std::chrono::nanoseconds request_timeout = std::chrono::seconds(10);
    /// How often the pools are looked at for the charts, of which an hour is kept.
    std::chrono::nanoseconds sample_interval = std::chrono::seconds(5);
    /// Whose alarms are shown; must live longer than the server. Null: none are.
    const alarm_engine* alarms = nullptr;
    /// Whose sources /api/config and the page show; must live longer than the server. Null: those
    /// of `metrics`, if it has any.
    const config_manager* config = nullptr;
    /// What /metrics shows beside the pools, and under which names.
    prometheus_options metrics = {};
    /// Told of every change and every refused one, with who asked. Default: one line on stderr.
    std::function<void(const std::string&)> log = {};
};

/// Shows the pools of a registry over HTTP: a dashboard at /, metrics for Prometheus at /metrics,
/// and an API for programs (docs/http-api.md). With a token also changes them. No file is
/// reachable.
///
///     cadre::manage::http_server server(registry, {.token = secret});
///     std::cout << "dashboard at " << server.url() << '\n';
class CADRE_API http_server {
public:
    /// Listens when it returns. The registry must live longer. Throws std::invalid_argument for
    /// options that cannot be, std::runtime_error if it cannot listen there.
    explicit http_server(pool_registry& registry, http_server_options options = {});
    /// Waits for requests that are being answered.
    ~http_server();
    http_server(const http_server&) = delete;
    http_server& operator=(const http_server&) = delete;

    int port() const;
    /// http://127.0.0.1:7077
    std::string url() const;

private:
    struct parts;
    const std::unique_ptr<parts> parts_;
};

}  // namespace cadre::manage
