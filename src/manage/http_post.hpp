// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace cadre::manage::detail {

/// Throws std::invalid_argument unless it begins with http:// or https://.
void check_url(const std::string& url);

struct post_request {
    std::string url;
    std::string body;                       ///< JSON
    std::vector<std::string> headers = {};  ///< "Name: value"
    std::chrono::nanoseconds timeout = std::chrono::seconds(3);
    std::string ca_file = {};  ///< who may vouch for https; empty: whom the system trusts
};

/// Posts it and returns the body of the answer. Throws std::runtime_error if there is none within
/// the timeout or its status is not 2xx; what it says names the server, and not the rest of the
/// URL, where tokens are. Follows no redirects.
std::string http_post(const post_request& request);

}  // namespace cadre::manage::detail
