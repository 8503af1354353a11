// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <string>

#include <poll.h>
#include <sys/socket.h>

#include <httplib.h>

#include "manage/http_head.hpp"

namespace cadre::manage::detail {

using steady = std::chrono::steady_clock;

/// True if `events` came; false if the deadline or the stop did.
inline bool await(int socket, short events, int stop, steady::time_point deadline) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - steady::now());
        if (left.count() <= 0) return false;
        std::array<pollfd, 2> wanted = {pollfd{.fd = socket, .events = events, .revents = 0},
                                        pollfd{.fd = stop, .events = POLLIN, .revents = 0}};
        const auto wait = static_cast<int>(std::min<std::int64_t>(left.count(), 60'000));
        const int ready = ::poll(wanted.data(), wanted.size(), wait);
        if (ready < 0 && errno != EINTR) return false;
        if (ready > 0) return wanted[1].revents == 0;
    }
}

/// A connection, for the time of one request. The head is read as a whole and looked at before
/// httplib sees a byte of it.
class bounded_stream final : public httplib::Stream {
public:
    /// `received` is what was read of it already.
    bounded_stream(int socket, int stop, steady::time_point deadline, std::string received)
        : socket_(socket), stop_(stop), deadline_(deadline), received_(std::move(received)) {}

    /// Waits for the head, up to so many bytes. Status 0 if it is in order; a refusal without words
    /// if nobody is there any more to hear it.
    head_refusal read_head(std::size_t max_head, std::size_t max_body) {
        constexpr std::string_view end = "\r\n\r\n";
        for (std::size_t seen = 0;;) {
            const auto found = received_.find(end, seen < end.size() ? 0 : seen - end.size());
            const auto head = std::string_view(received_).substr(
                0, found == std::string::npos ? found : found + end.size());
            if (auto refusal = refusal_of_lines(head, seen); refusal.status != 0) return refusal;
            if (found != std::string::npos && head.size() <= max_head) {
                may_read_ = head.size() + max_body + max_head;  // chunks have heads, too
                return refusal_of_head(head, max_body);
            }
            if (received_.size() >= max_head) return too_long(head);
            seen = received_.size();
            if (!fill()) return end_of_waiting();
        }
    }

    bool is_readable() const override {
        return has_more() || await(socket_, POLLIN, stop_, deadline_);
    }
    bool is_writable() const override { return await(socket_, POLLOUT, stop_, deadline_); }

    ssize_t read(char* to, std::size_t size) override {
        if (may_read_ == 0) return -1;
        if (!has_more()) {
            received_.clear();
            position_ = 0;
            if (!fill()) return -1;
        }
        const auto count = std::min({size, received_.size() - position_, may_read_});
        std::copy_n(received_.data() + position_, count, to);
        position_ += count;
        may_read_ -= count;
        return static_cast<ssize_t>(count);
    }

    ssize_t write(const char* from, std::size_t size) override {
        std::size_t sent = 0;
        while (sent < size) {
            if (!is_writable()) return -1;
            const auto n = ::send(socket_, from + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return -1;
            if (n > 0) sent += static_cast<std::size_t>(n);
        }
        return static_cast<ssize_t>(size);
    }

    void get_remote_ip_and_port(std::string& ip, int& port) const override {
        tell_end(::getpeername, ip, port);
    }
    void get_local_ip_and_port(std::string& ip, int& port) const override {
        tell_end(::getsockname, ip, port);
    }
    socket_t socket() const override { return socket_; }

    /// What has come and was not given on.
    std::string rest() const { return received_.substr(position_); }

private:
    bool has_more() const { return position_ < received_.size(); }
    void tell_end(int (*which)(int, sockaddr*, socklen_t*), std::string& ip, int& port) const {
        sockaddr_storage end = {};
        auto* const address = reinterpret_cast<sockaddr*>(&end);
        socklen_t length = sizeof end;
        std::array<char, NI_MAXHOST> name = {};
        std::array<char, NI_MAXSERV> service = {};
        if (which(socket_, address, &length) != 0 ||
            ::getnameinfo(address, length, name.data(), name.size(), service.data(), service.size(),
                          NI_NUMERICHOST | NI_NUMERICSERV) != 0)
            return;
        ip = name.data();
        std::from_chars(service.data(), service.data() + std::strlen(service.data()), port);
    }

    /// Appends what has come. False if nothing will.
    bool fill() {
        std::array<char, 4096> buffer;
        for (;;) {
            if (!await(socket_, POLLIN, stop_, deadline_)) return false;
            const auto n = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
            if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) continue;
            if (n <= 0) return false;
            received_.append(buffer.data(), static_cast<std::size_t>(n));
            return true;
        }
    }
    head_refusal end_of_waiting() const {
        if (steady::now() < deadline_) return {.status = 400};  // it has gone
        return {.status = 408, .why = "the request took too long"};
    }
    static head_refusal too_long(std::string_view head) {
        if (head.find("\r\n") == std::string_view::npos)
            return {.status = 414, .why = "the request line is too long"};
        return {.status = 431, .why = "the head is too long"};
    }

    const int socket_;
    const int stop_;
    const steady::time_point deadline_;
    std::size_t may_read_ = 0;
    std::string received_;
    std::size_t position_ = 0;  // in received_: what was given on
};

}  // namespace cadre::manage::detail
