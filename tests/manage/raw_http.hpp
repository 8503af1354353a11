// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "support/eventually.hpp"

namespace cadre::testing {

/// A client that can also do what no well-behaved one does.
class raw_http {
public:
    explicit raw_http(int port, const char* address = "127.0.0.1")
        : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in to = {};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(port));
        to.sin_addr.s_addr = ::inet_addr(address);
        if (::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0)
            throw std::runtime_error("raw_http: cannot connect");
    }
    ~raw_http() { ::close(socket_); }
    raw_http(const raw_http&) = delete;
    raw_http& operator=(const raw_http&) = delete;

    /// False if the other side has closed.
    bool send(std::string_view text) {
        while (!text.empty()) {
            const auto n = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
            if (n <= 0) return false;
            text.remove_prefix(static_cast<std::size_t>(n));
        }
        return true;
    }

    /// The other side sees the end of what is sent; answers can still be read.
    void finish_sending() { ::shutdown(socket_, SHUT_WR); }

    /// All until the other side closes.
    std::string read_all() {
        std::string all;
        while (read_some(all)) {}
        return all;
    }

    /// One answer with a Content-Length; its head and body.
    std::string read_answer() {
        for (;;) {
            const auto end = pending_.find("\r\n\r\n");
            const auto length = pending_.find("Content-Length: ");
            if (end != std::string::npos && length < end) {
                const auto whole = end + 4 + std::stoul(pending_.substr(length + 16));
                if (pending_.size() >= whole) {
                    std::string answer = pending_.substr(0, whole);
                    pending_.erase(0, whole);
                    return answer;
                }
            }
            if (!read_some(pending_)) return std::exchange(pending_, {});
        }
    }

    /// The status of an answer; 0 if there is none.
    static int status(const std::string& answer) {
        return answer.starts_with("HTTP/1.1 ") ? std::stoi(answer.substr(9, 3)) : 0;
    }

private:
    bool read_some(std::string& to) {
        pollfd wanted = {.fd = socket_, .events = POLLIN, .revents = 0};
        constexpr auto limit = std::chrono::milliseconds(guard).count();
        if (::poll(&wanted, 1, static_cast<int>(limit)) <= 0) return false;
        char buffer[16384];
        const auto n = ::recv(socket_, buffer, sizeof buffer, 0);
        if (n <= 0) return false;
        to.append(buffer, static_cast<std::size_t>(n));
        return true;
    }

    const int socket_;
    std::string pending_;
};

}  // namespace cadre::testing
