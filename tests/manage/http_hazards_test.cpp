// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>

#include <climits>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cadre/manage/http_server.hpp>

#include "manage/http_listener.hpp"
#include "manage/raw_http.hpp"
#include "support/usage.hpp"

// Bugs that others have had with the HTTP of their dashboards, as docs/hazards.md lists them: those
// that have no place among the tests of http_listener and http_server.

namespace cadre::manage {
namespace http_hazards_tests {

using namespace cadre::testing;
using ::testing::StartsWith;

namespace {

const std::string ask_for_it = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

int status_now(int port) {
    raw_http client(port);
    client.send(ask_for_it);
    return raw_http::status(client.read_answer());
}

const std::string ask_for_much = "GET /much HTTP/1.1\r\nHost: h\r\n\r\n";

/// More than sockets keep for who does not read, or a little.
detail::http_response much_or_little(const detail::http_request& request) {
    const std::size_t size = request.path == "/much" ? std::size_t{8} << 20 : 1;
    return {.content_type = "text/plain", .body = std::string(size, 'x')};
}

/// No descriptor is left in the process, until it is destroyed.
class no_descriptors_scope {
public:
    no_descriptors_scope() {
        getrlimit(RLIMIT_NOFILE, &before_);
        const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        taken_.push_back(next);
        rlimit few = before_;
        few.rlim_cur = static_cast<rlim_t>(next) + 16;
        setrlimit(RLIMIT_NOFILE, &few);
        for (int more = next; more >= 0;) {
            more = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
            if (more >= 0) taken_.push_back(more);
        }
    }
    ~no_descriptors_scope() {
        for (const int one : taken_) ::close(one);
        setrlimit(RLIMIT_NOFILE, &before_);
    }
    no_descriptors_scope(const no_descriptors_scope&) = delete;
    no_descriptors_scope& operator=(const no_descriptors_scope&) = delete;

private:
    rlimit before_ = {};
    std::vector<int> taken_;
};

/// A socket that connects later.
class late_client {
public:
    late_client() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
    ~late_client() { ::close(socket_); }
    late_client(const late_client&) = delete;
    late_client& operator=(const late_client&) = delete;
    bool connect_and_ask(int port) const {
        sockaddr_in to = {};
        to.sin_family = AF_INET;
        to.sin_port = htons(static_cast<std::uint16_t>(port));
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return ::connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 &&
               ::send(socket_, ask_for_it.data(), ask_for_it.size(), MSG_NOSIGNAL) > 0;
    }
    bool is_answered() const {
        pollfd wanted = {.fd = socket_, .events = POLLIN, .revents = 0};
        constexpr auto limit = std::chrono::milliseconds(guard).count();
        char byte = 0;
        return ::poll(&wanted, 1, static_cast<int>(limit)) > 0 &&
               ::recv(socket_, &byte, 1, 0) == 1 && byte == 'H';
    }

private:
    const int socket_;
};

}  // namespace

TEST(http_hazards, a_client_that_goes_away_amid_its_answer_harms_nobody) {
    detail::http_listener listener({}, much_or_little);
    for (int i = 0; i < 5; ++i) {
        raw_http client(listener.port());
        client.send(ask_for_much);
    }
    EXPECT_EQ(status_now(listener.port()), 200);
}

TEST(http_hazards, a_client_that_does_not_read_is_dropped) {
    detail::http_listener listener({.max_connections = 1, .request_timeout = 200ms},
                                   much_or_little);
    raw_http never_reads(listener.port());
    never_reads.send(ask_for_much);
    // The only place there is becomes free; before that, all others are told 503.
    EXPECT_TRUE(eventually([&] { return status_now(listener.port()) == 200; }));
}

// UBSan looks at a vtable through a pipe, and takes one for broken if it has no descriptors.
#if !defined(__has_feature)
#define CADRE_HAS_DESCRIPTORS_TO_SPARE 1
#elif !__has_feature(undefined_behavior_sanitizer)
#define CADRE_HAS_DESCRIPTORS_TO_SPARE 1
#endif

#ifdef CADRE_HAS_DESCRIPTORS_TO_SPARE
TEST(http_hazards, it_goes_on_when_there_are_descriptors_again) {
    detail::http_listener listener({}, much_or_little);
    ASSERT_EQ(status_now(listener.port()), 200);
    const late_client clients[4];
    {
        const no_descriptors_scope none;
        for (const auto& client : clients) ASSERT_TRUE(client.connect_and_ask(listener.port()));
        // It tries in vain meanwhile, and takes less than a twentieth of a processor for it.
        EXPECT_TRUE(becomes_quiet(200ms, {.cpu_time = 10ms, .wake_ups = LONG_MAX}));
    }
    for (const auto& client : clients) EXPECT_TRUE(client.is_answered());
    EXPECT_EQ(status_now(listener.port()), 200);
}
#endif

TEST(http_hazards, it_answers_by_the_address_that_it_was_told_to_listen_on) {
    pool_registry registry;
    const http_server server(registry, {.address = "127.0.0.2", .port = 0});
    const auto status = [&](const std::string& host) {
        raw_http client(server.port(), "127.0.0.2");
        client.send("GET /healthz HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
        return raw_http::status(client.read_answer());
    };
    EXPECT_EQ(status(server.url().substr(7)), 200);
    EXPECT_EQ(status("127.0.0.3"), 403);
}

TEST(http_hazards, it_is_for_this_machine_unless_told_otherwise) {
    pool_registry registry;
    const http_server server(registry, {.port = 0});
    EXPECT_THAT(server.url(), StartsWith("http://127.0.0.1:"));
    EXPECT_THROW(http_server(registry, {.address = "0.0.0.0", .port = 0}), std::invalid_argument);
    EXPECT_THROW(http_server(registry, {.address = "::", .port = 0}), std::invalid_argument);
    // On all addresses it still answers to no other name.
    const http_server open(registry,
                           {.address = "0.0.0.0", .port = 0, .token = "0123456789abcdef-secret"});
    for (const std::string host :
         {"0.0.0.0", "10.0.0.1", "shop.example", "localhost.evil.example"}) {
        raw_http client(open.port());
        client.send("GET /api/pools HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
        EXPECT_EQ(raw_http::status(client.read_answer()), 403) << host;
    }
}

}  // namespace http_hazards_tests
}  // namespace cadre::manage
