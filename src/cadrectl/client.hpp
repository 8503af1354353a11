// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

namespace cadre::cadrectl {

using json = nlohmann::ordered_json;

/// How a run ends, for scripts.
enum exit_code {
    success = 0,
    differs = 1,  ///< diff: differences; advise: advice; sources: one fails, or a refused document
    usage = 2,    ///< the command line makes no sense
    unreachable = 3,  ///< nobody answers
    refused = 4,      ///< the server said no: token, name, value, revision
    bad_file = 5      ///< the document has mistakes
};

/// Ends a command with a code and a message.
class failure : public std::runtime_error {
public:
    failure(exit_code code, const std::string& what) : runtime_error(what), code_(code) {}
    exit_code code() const { return code_; }

private:
    exit_code code_;
};

/// On one line; bytes that are no UTF-8, as a file name may have them, as U+FFFD.
std::string dumped(const json& value);

/// Who changes something, and why, for the history of the server. Empty: not said.
struct change_note {
    std::string author = {};
    std::string comment = {};
};

/// Asks a server of docs/http-api.md.
class client {
public:
    /// `url` is http://HOST:PORT; for any other, whoever asks throws failure(usage), as for a
    /// comment that is more than a line.
    client(std::string url, std::string token, int timeout_seconds, change_note note = {});

    /// The answer; throws failure.
    json get(const std::string& path) const;
    json send(const std::string& method, const std::string& path, const json& body,
              const std::string& if_revision = {}) const;

    static std::string percent_encoded(const std::string& name);
    static std::string pool_path(const std::string& name) {
        return "/api/pools/" + percent_encoded(name);
    }

private:
    /// The address without slashes at its end.
    std::string checked_address() const;

    std::string url_;
    std::string token_;
    int timeout_seconds_;
    change_note note_;
};

}  // namespace cadre::cadrectl
