// SPDX-License-Identifier: Apache-2.0
#include "manage/support/chaos_proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <list>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cadre::testing {
namespace {

sockaddr_in loopback_address(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
}

bool send_piece(int to, std::string_view text) {
    while (!text.empty()) {
        const auto sent = send(to, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

/// Empty if the connection has ended.
std::string receive_piece(int from) {
    std::array<char, 65536> part{};
    const auto size = recv(from, part.data(), part.size(), 0);
    return size <= 0 ? std::string() : std::string(part.data(), static_cast<std::size_t>(size));
}

std::string swapped(const std::string& piece) {
    const auto half = piece.size() / 2;
    return piece.substr(half) + piece.substr(0, half);
}

/// In the body only; what frames the chunks of a stream stays.
std::string without_brackets(std::string piece) {
    const auto head = piece.starts_with("HTTP/") ? piece.find("\r\n\r\n") : 0;
    for (auto at = std::min(head, piece.size()); at < piece.size(); ++at)
        if (std::string_view("{}[]\":").find(piece[at]) != std::string_view::npos) piece[at] = '~';
    return piece;
}

std::string with_length_changed_by(std::string piece, int change) {
    constexpr std::string_view name = "Content-Length: ";
    const auto at = piece.find(name);
    if (!piece.starts_with("HTTP/") || at == std::string::npos) return without_brackets(piece);
    const auto digits = at + name.size();
    const auto end = piece.find('\r', digits);
    const int length = std::atoi(piece.substr(digits, end - digits).c_str()) + change;
    return piece.replace(digits, end - digits, std::to_string(std::max(length, 0)));
}

/// GET /a/b?c=d HTTP/1.1 -> /a/b
std::string path_of(const std::string& request) {
    const auto start = std::min(request.find(' '), request.size() - 1) + 1;
    return request.substr(start, request.find_first_of("? ", start) - start);
}

constexpr std::string_view error_answer =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 6\r\n\r\nchaos\n";

}  // namespace

std::string_view to_text(mischief kind) {
    constexpr std::string_view names[] = {
        "none",          "refuse",         "half_tls",     "silence", "slow",
        "cut",           "truncate",       "duplicate",    "reorder", "wrong_json",
        "longer_length", "shorter_length", "server_error", "stale"};
    return names[static_cast<std::size_t>(kind)];
}

struct chaos_proxy::state {
    int listening = -1;
    int port = 0;
    int server_port = 0;
    std::thread acceptor;
    std::vector<std::thread> connections;  // the acceptor's, until it has ended

    mutable std::mutex mutex;  // guards all below
    std::condition_variable changed;
    bool ended = false;
    std::string hold_path;  // empty: nothing is held
    int held = 0;
    mischief kind = mischief::none;
    int times = 0;
    int played = 0;
    int cuts = 0;  // by play()
    std::list<int> open;
    std::map<std::string, std::string> first_answers;

    void accept_all();
    void serve(int client);
    void relay(int client, int server);
    bool on_request(std::string& path, const std::string& piece, int server);
    bool on_answer(const std::string& path, const std::string& piece, int client);
    bool distort(mischief how, const std::string& path, const std::string& piece, int client);
    bool send_slowly(int to, const std::string& piece);

    /// What to do now; counts it.
    mischief next(bool on_connection) {
        const std::lock_guard lock(mutex);
        const bool for_connections = kind == mischief::refuse || kind == mischief::half_tls;
        if (kind == mischief::none || for_connections != on_connection) return mischief::none;
        if (played == times) return mischief::none;
        ++played;
        return kind;
    }
    bool enter(int descriptor) {
        const std::lock_guard lock(mutex);
        if (!ended) open.push_back(descriptor);
        return !ended;
    }
    void leave(int descriptor) {
        const std::lock_guard lock(mutex);
        open.remove(descriptor);
        close(descriptor);
    }
    void cut_all() {
        for (const int s : open) shutdown(s, SHUT_RDWR);
    }
};

void chaos_proxy::state::accept_all() {
    for (;;) {
        const int client = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) return;
        if (!enter(client)) {
            close(client);
            return;
        }
        connections.emplace_back([this, client] { serve(client); });
    }
}

void chaos_proxy::state::serve(int client) {
    const mischief how = next(true);
    if (how == mischief::half_tls)
        send_piece(client, std::string_view("\x16\x03\x03\x02\x00\x01", 6));
    const int server = how == mischief::none ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (server >= 0 && enter(server)) {
        const auto address = loopback_address(server_port);
        if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
            relay(client, server);
        leave(server);
    } else if (server >= 0) {
        close(server);
    }
    leave(client);
}

void chaos_proxy::state::relay(int client, int server) {
    std::string path;
    for (;;) {
        std::array<pollfd, 2> ready{pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0}};
        if (poll(ready.data(), ready.size(), -1) < 0) return;
        for (const auto& from : ready) {
            if (from.revents == 0) continue;
            const std::string piece = receive_piece(from.fd);
            if (piece.empty()) return;
            const bool goes_on = from.fd == client ? on_request(path, piece, server)
                                                   : on_answer(path, piece, client);
            if (!goes_on) return;
        }
    }
}

bool chaos_proxy::state::on_request(std::string& path, const std::string& piece, int server) {
    if (piece.starts_with("GET ") || piece.starts_with("POST ")) path = path_of(piece);
    std::unique_lock lock(mutex);
    if (!hold_path.empty() && path == hold_path) {
        ++held;
        changed.wait(lock, [this] { return hold_path.empty() || ended; });
    }
    lock.unlock();
    return send_piece(server, piece);
}

bool chaos_proxy::state::on_answer(const std::string& path, const std::string& piece, int client) {
    {
        const std::lock_guard lock(mutex);
        first_answers.try_emplace(path, piece);
    }
    const mischief how = next(false);
    return how == mischief::none ? send_piece(client, piece) : distort(how, path, piece, client);
}

/// False: the connection ends.
bool chaos_proxy::state::distort(mischief how, const std::string& path, const std::string& piece,
                                 int client) {
    const std::string half = piece.substr(0, piece.size() / 2);
    switch (how) {
        case mischief::silence:
            return true;
        case mischief::slow:
            return send_slowly(client, piece);
        case mischief::cut: {
            send_piece(client, half);
            const linger at_once{1, 0};  // a reset instead of an end
            setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
            return false;
        }
        case mischief::truncate:
            send_piece(client, half);
            return false;
        case mischief::duplicate:
            return send_piece(client, piece + piece);
        case mischief::reorder:
            return send_piece(client, swapped(piece));
        case mischief::wrong_json:
            return send_piece(client, without_brackets(piece));
        case mischief::longer_length:
            return send_piece(client, with_length_changed_by(piece, 10));
        case mischief::shorter_length:
            return send_piece(client, with_length_changed_by(piece, -3));
        case mischief::server_error:
            return send_piece(client, error_answer);
        case mischief::stale: {
            std::string first;
            {
                const std::lock_guard lock(mutex);
                first = first_answers.at(path);
            }
            return send_piece(client, first);
        }
        default:
            return send_piece(client, piece);
    }
}

bool chaos_proxy::state::send_slowly(int to, const std::string& piece) {
    std::unique_lock lock(mutex);
    const int before = cuts;
    for (const char c : piece) {
        changed.wait_for(lock, std::chrono::milliseconds(1),
                         [&] { return ended || cuts != before; });
        if (!send_piece(to, std::string_view(&c, 1))) return false;
    }
    return true;
}

chaos_proxy::chaos_proxy(const std::string& server) : state_(std::make_unique<state>()) {
    state_->server_port = std::stoi(server.substr(server.rfind(':') + 1));
    state_->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    auto address = loopback_address(0);
    auto* plain = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    if (state_->listening < 0 || bind(state_->listening, plain, size) != 0 ||
        getsockname(state_->listening, plain, &size) != 0 || listen(state_->listening, 64) != 0)
        throw std::runtime_error("no socket on loopback for a proxy");
    state_->port = ntohs(address.sin_port);
    state_->acceptor = std::thread([s = state_.get()] { s->accept_all(); });
}

chaos_proxy::~chaos_proxy() {
    {
        const std::lock_guard lock(state_->mutex);
        state_->ended = true;
        state_->cut_all();
        shutdown(state_->listening, SHUT_RDWR);
        state_->changed.notify_all();
    }
    state_->acceptor.join();
    for (auto& connection : state_->connections) connection.join();
    close(state_->listening);
}

std::string chaos_proxy::url() const { return "http://127.0.0.1:" + std::to_string(state_->port); }

void chaos_proxy::play(mischief kind, int times) {
    const std::lock_guard lock(state_->mutex);
    state_->kind = kind;
    state_->times = times;
    state_->played = 0;
    ++state_->cuts;
    state_->cut_all();
    state_->changed.notify_all();
}

int chaos_proxy::played() const {
    const std::lock_guard lock(state_->mutex);
    return state_->played;
}

void chaos_proxy::hold_requests(std::string path) {
    const std::lock_guard lock(state_->mutex);
    state_->hold_path = std::move(path);
    state_->held = 0;
}

bool chaos_proxy::holds_one() const {
    const std::lock_guard lock(state_->mutex);
    return state_->held > 0;
}

void chaos_proxy::let_through() {
    const std::lock_guard lock(state_->mutex);
    state_->hold_path.clear();
    state_->changed.notify_all();
}

}  // namespace cadre::testing
