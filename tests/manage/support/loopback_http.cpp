// SPDX-License-Identifier: Apache-2.0
#include "manage/support/loopback_http.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <list>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

namespace cadre::testing {
namespace {

// A proxy of whoever runs the tests is not for us.
[[maybe_unused]] const bool no_proxy = setenv("no_proxy", "127.0.0.1", 1) == 0;

int bound_socket(int& port) {
    const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (s < 0 || bind(s, plain, size) != 0 || getsockname(s, plain, &size) != 0)
        throw std::runtime_error("no socket on loopback");
    port = ntohs(address.sin_port);
    return s;
}

/// A socket with a name that only one can have at a time, in the same network as the port; -1 if
/// another has it.
int claimed(int port) {
    const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "cadre-test-port-" + std::to_string(port);
    name.copy(address.sun_path + 1, sizeof address.sun_path - 1);  // a zero first: no file
    const auto size = offsetof(sockaddr_un, sun_path) + 1 + name.size();
    if (s >= 0 && bind(s, reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(size)) == 0)
        return s;
    if (s >= 0) close(s);
    return -1;
}

bool is_free(int port) {
    const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool free = bind(s, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(s);
    return free;
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

bool send_all(int s, std::string_view text) {
    while (!text.empty()) {
        const auto sent = send(s, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

/// Reads until it is enough; false if the connection ends.
bool fill(int s, std::string& buffer, const std::function<bool()>& enough) {
    std::array<char, 4096> part{};
    while (!enough()) {
        const auto size = recv(s, part.data(), part.size(), 0);
        if (size <= 0) return false;
        buffer.append(part.data(), static_cast<std::size_t>(size));
    }
    return true;
}

bool receive(int s, std::string& buffer, served_request& request) {
    constexpr std::string_view end_of_head = "\r\n\r\n";
    if (!fill(s, buffer, [&] { return buffer.find(end_of_head) != std::string::npos; }))
        return false;
    const auto head_size = buffer.find(end_of_head) + end_of_head.size();
    const std::string head = buffer.substr(0, head_size - 2);
    buffer.erase(0, head_size);
    const auto line_end = head.find("\r\n");
    const std::string first = head.substr(0, line_end);
    const auto space = first.find(' ');
    request.method = first.substr(0, space);
    request.target = first.substr(space + 1, first.rfind(' ') - space - 1);
    for (auto at = line_end + 2; at < head.size();) {
        const auto end = head.find("\r\n", at);
        const auto colon = head.find(':', at);
        const auto value = head.find_first_not_of(' ', colon + 1);
        request.headers[lower(head.substr(at, colon - at))] =
            value < end ? head.substr(value, end - value) : "";
        at = end + 2;
    }
    const auto length = request.headers.find("content-length");
    const std::size_t size = length == request.headers.end() ? 0 : std::stoul(length->second);
    if (!fill(s, buffer, [&] { return buffer.size() >= size; })) return false;
    request.body = buffer.substr(0, size);
    buffer.erase(0, size);

    const auto mark = request.target.find('?');
    request.path = request.target.substr(0, mark);
    if (mark != std::string::npos) request.query = form_values(request.target.substr(mark + 1));
    return true;
}

}  // namespace

struct loopback_http::state {
    handler answer;
    int listening = -1;
    int port = 0;
    std::thread acceptor;
    std::vector<std::thread> connections;  // the acceptor's, until it has ended

    std::mutex mutex;  // guards all below
    bool ended = false;
    std::list<int> open;

    void accept_all() {
        for (;;) {
            const int s = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
            {
                const std::lock_guard lock(mutex);
                if (s < 0 || ended) {
                    if (s >= 0) close(s);
                    return;
                }
                open.push_back(s);
            }
            connections.emplace_back([this, s] { serve(s); });
        }
    }

    void serve(int s) {
        std::string buffer;
        for (served_request request; receive(s, buffer, request); request = {}) {
            const auto reply = answer(request);
            if (reply.status == 0) break;
            std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " X\r\n";
            for (const auto& [name, value] : reply.headers) text += name + ": " + value + "\r\n";
            if (reply.status != 304)
                text += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n";
            text += "\r\n" + reply.body.substr(0, reply.cut_after);
            if (!send_all(s, text) || reply.cut_after != std::string::npos) break;
        }
        const std::lock_guard lock(mutex);
        open.remove(s);
        close(s);
    }
};

loopback_http::loopback_http(handler answer) : state_(std::make_unique<state>()) {
    state_->answer = std::move(answer);
    state_->listening = bound_socket(state_->port);
    if (listen(state_->listening, 64) != 0) throw std::runtime_error("cannot listen");
    state_->acceptor = std::thread([s = state_.get()] { s->accept_all(); });
}

loopback_http::~loopback_http() { end(); }

std::string loopback_http::url() const {
    return "http://127.0.0.1:" + std::to_string(state_->port);
}

void loopback_http::end() {
    {
        const std::lock_guard lock(state_->mutex);
        if (state_->ended) return;
        state_->ended = true;
        shutdown(state_->listening, SHUT_RDWR);
        for (const int s : state_->open) shutdown(s, SHUT_RDWR);
    }
    state_->acceptor.join();
    for (auto& connection : state_->connections) connection.join();
    close(state_->listening);
}

reserved_port::reserved_port() {
    constexpr int lowest = 10'000;
    int given_out_from = 0;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> given_out_from;
    if (given_out_from <= lowest || given_out_from > 65'536) given_out_from = 32'768;
    for (number_ = given_out_from - 1; number_ >= lowest; --number_) {
        claim_ = claimed(number_);
        if (claim_ >= 0 && is_free(number_)) return;
        if (claim_ >= 0) close(claim_);
    }
    throw std::runtime_error("no port is free");
}

reserved_port::~reserved_port() { close(claim_); }

std::map<std::string, std::string> form_values(std::string text) {
    std::map<std::string, std::string> values;
    while (!text.empty()) {
        const std::string pair = text.substr(0, text.find('&'));
        text.erase(0, pair.size() + 1);
        const auto equals = std::min(pair.find('='), pair.size());
        values[url_decoded(pair.substr(0, equals))] =
            url_decoded(pair.substr(std::min(equals + 1, pair.size())));
    }
    return values;
}

std::string url_decoded(const std::string& text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            result += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
            i += 2;
        } else {
            result += text[i] == '+' ? ' ' : text[i];
        }
    }
    return result;
}

}  // namespace cadre::testing
