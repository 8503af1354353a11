// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace cadre::testing {

/// An https server on a free port of 127.0.0.1 that answers every request with the same text. Its
/// certificate, made anew for each, is signed by nobody but itself.
class tls_server {
public:
    explicit tls_server(std::string body);
    ~tls_server();
    tls_server(const tls_server&) = delete;
    tls_server& operator=(const tls_server&) = delete;

    std::string url() const;
    /// In a file, as long as the server lives.
    std::filesystem::path certificate() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace cadre::testing
