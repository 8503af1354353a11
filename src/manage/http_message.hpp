// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

/// What the parts of the HTTP side pass to each other, so that only one of them knows sockets.
namespace cadre::manage::detail {

struct http_request {
    std::string method = "GET";
    std::string path = "/";  ///< percent-decoded, without the query
    std::map<std::string, std::string> query = {};
    std::string host = {};  ///< empty unless there was exactly one Host header
    std::string origin = {};
    std::string authorization = {};
    std::string content_type = {};
    std::string if_match = {};
    std::string author = {};   ///< Cadre-Author
    std::string comment = {};  ///< Cadre-Comment
    std::string body = {};
    std::string peer = {};  ///< the address of who asks
};

struct http_response {
    int status = 200;
    std::string content_type = "application/json";
    std::string body = {};
    std::map<std::string, std::string> headers = {};
};

/// Answers any request; may be called on several threads at once.
using http_handler = std::function<http_response(const http_request&)>;

}  // namespace cadre::manage::detail
