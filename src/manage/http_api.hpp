// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "manage/failed_guesses.hpp"
#include "manage/http_message.hpp"
#include "manage/pool_sampler.hpp"
#include <cadre/manage/http_server.hpp>
#include <cadre/manage/pool_registry.hpp>

namespace cadre::manage::detail {

/// Answers the requests of docs/http-api.md. Knows no sockets.
class http_api {
public:
    using clock = std::function<failed_guesses::time()>;
    http_api(pool_registry& registry, const pool_sampler& sampler,
             const http_server_options& options, clock now = std::chrono::steady_clock::now);

    /// From any thread, several at once. Throws only what is a failure of this process.
    http_response answer(const http_request& request) const;

private:
    http_response look(const http_request& request) const;
    http_response change(const http_request& request) const;
    template <class Read>
    auto noted(const http_request& request, const std::string& pool, Read read) const;
    http_response change_pool(const http_request& request, const std::string& name) const;
    http_response change_several(const http_request& request) const;
    http_response roll_back(const http_request& request, const std::string& name) const;
    /// The refusal of a change by who has no right to it; status 0 if there is none.
    http_response missing_right(const http_request& request) const;
    std::string own_metrics() const;
    void log(const std::string& line) const;
    void log(const change_origin& origin, const std::vector<change_report>& reports) const;

    pool_registry& registry_;
    const pool_sampler& sampler_;
    const http_server_options& options_;
    const clock now_;
    mutable failed_guesses guesses_;
};

}  // namespace cadre::manage::detail
