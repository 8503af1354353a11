// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <cadre/function_ref.hpp>

#include "manage/stop_signal.hpp"

namespace cadre::manage::detail {

struct client_request {
    std::string url = {};                   ///< sent as it is, so that it can be signed
    std::vector<std::string> headers = {};  ///< as "Name: value"
    std::string body = {};
    bool post = false;
    /// For the whole; 0: no end, for a stream.
    std::chrono::milliseconds timeout = std::chrono::seconds(5);
};

struct client_response {
    int status = 0;
    std::map<std::string, std::string> headers = {};  ///< names in lower case
    std::string body = {};
    std::string header(const std::string& lower_case_name) const;
};

/// There was no complete answer.
struct http_failure : std::runtime_error {
    explicit http_failure(const std::string& what, bool was_late = false)
        : std::runtime_error(what), timed_out(was_late) {}
    bool timed_out;
};

/// Requests over http and https, by one thread, one at a time, on a connection that is kept. No
/// redirects: where a document comes from is said in the configuration. Throws source_stopped at
/// once when the signal is raised, and http_failure.
class http_client {
public:
    /// `ca_file`: who may vouch for an https server; empty: whom the system trusts.
    explicit http_client(const stop_signal& stop, std::string ca_file = {});
    ~http_client();
    http_client(const http_client&) = delete;
    http_client& operator=(const http_client&) = delete;

    /// Throws http_failure for an answer of more than 4 MiB.
    client_response send(const client_request& request);
    /// Gives the body of an answer with status 200 piece by piece, until it ends or the function
    /// returns false. Another status: the answer is returned as from send().
    client_response stream(const client_request& request,
                           function_ref<bool(std::string_view)> on_data);

private:
    struct state;
    client_response perform(const client_request& request,
                            function_ref<bool(std::string_view)>* on_data);

    const stop_signal& stop_;
    const std::string ca_file_;
    const std::unique_ptr<state> state_;
};

/// "status 503 of GET http://..."; without the query, which may have secrets.
std::string unexpected(const client_response& response, const std::string& url);
/// Without / at the end. Throws std::invalid_argument unless it begins with http:// or https://.
std::string base_url(std::string url, std::string_view option);
/// Without user, password and query, for names and messages.
std::string shown_url(std::string_view url);

}  // namespace cadre::manage::detail
