// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/http_server.hpp>

#include <cstdio>
#include <stdexcept>

#include "manage/http_api.hpp"
#include "manage/http_guard.hpp"
#include "manage/http_listener.hpp"
#include "manage/pool_sampler.hpp"

namespace cadre::manage {
namespace {

constexpr std::size_t shortest_token = 16;

/// As a Host header has it.
std::string host_of(const std::string& address) {
    return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

http_server_options checked(http_server_options options) {
    if (!options.token.empty() && options.token.size() < shortest_token)
        throw std::invalid_argument("token: its " + std::to_string(options.token.size()) +
                                    " characters are fewer than " + std::to_string(shortest_token));
    const auto& address = options.address;
    const bool on_this_machine =
        address.starts_with("127.") || detail::host_is_known(host_of(address), {});
    if (options.token.empty() && !on_this_machine)
        throw std::invalid_argument(
            "address: who can reach " + options.address +
            " is not known to be on this machine, so there must be a token");
    // The page must be there under its url(). No foreign page can be at an address of our own, but
    // "all of them" is none, and some browsers take it for this machine.
    if (address != "0.0.0.0" && address != "::") options.allowed_hosts.push_back(address);
    if (options.config == nullptr) options.config = options.metrics.config;
    if (options.metrics.config == nullptr) options.metrics.config = options.config;
    if (!options.log)
        options.log = [](const std::string& line) {
            std::fprintf(stderr, "cadre: %s\n", line.c_str());
        };
    return options;
}

}  // namespace

struct http_server::parts {
    parts(pool_registry& registry, http_server_options o)
        : options(checked(std::move(o))),
          sampler(registry, options.sample_interval),
          api(registry, sampler, options),
          listener({.address = options.address,
                    .port = options.port,
                    .max_connections = options.max_connections,
                    .max_body = options.max_body,
                    .request_timeout = options.request_timeout},
                   [this](const detail::http_request& request) { return api.answer(request); }) {}

    const http_server_options options;
    detail::pool_sampler sampler;
    const detail::http_api api;
    detail::http_listener listener;
};

http_server::http_server(pool_registry& registry, http_server_options options)
    : parts_(std::make_unique<parts>(registry, std::move(options))) {}

http_server::~http_server() = default;

int http_server::port() const { return parts_->listener.port(); }

std::string http_server::url() const {
    return "http://" + host_of(parts_->options.address) + ":" + std::to_string(port());
}

}  // namespace cadre::manage
