// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "manage/http_message.hpp"

namespace cadre::manage::detail {

struct http_listener_options {
    std::string address = "127.0.0.1";
    int port = 0;              ///< 0: any that is free
    int max_connections = 32;  ///< at once, each with a thread of a cadre pool; more get a 503
    std::size_t max_head = 8192;
    std::size_t max_body = 65536;
    /// For the whole of a request, from its first byte to the last of the answer.
    std::chrono::nanoseconds request_timeout = std::chrono::seconds(10);
    /// How long a connection may be silent between two requests.
    std::chrono::nanoseconds idle_timeout = std::chrono::seconds(5);
};

/// Listens, reads requests within the bounds, and sends what the handler answers. The destructor
/// waits for requests that are being answered, not for connections that are silent.
class http_listener {
public:
    /// Throws std::invalid_argument for options that cannot be, std::runtime_error if it cannot
    /// listen there.
    http_listener(http_listener_options options, http_handler handler);
    ~http_listener();
    http_listener(const http_listener&) = delete;
    http_listener& operator=(const http_listener&) = delete;

    int port() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace cadre::manage::detail
