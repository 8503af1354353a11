// SPDX-License-Identifier: Apache-2.0
// The only file of the library, with http_stream.hpp, that knows cpp-httplib, which reads requests
// and writes answers. What it has no bound for, we bound underneath it:
//
//   - every connection is a task of a cadre pool: a thread each, up to max_connections. The next
//     one takes the place of the one that has let us wait longest for a request, so that silent and
//     slow clients keep nobody out; if all are being answered, it is told 503 by the accepting
//     thread;
//   - it reads through a bounded_stream, which has one deadline for the whole of a request (its own
//     timeouts start anew with each byte) and a number of bytes, for the head and then for the
//     body; and which lets it see no head that could be read in two ways. What comes after the head
//     of a request without a body is the next one, and waits for its turn;
//   - all waits also wait for the eventfd `stop`, so that ending it needs no patience.
//
// Its routes are regular expressions, matched by recursion; we give it two that match anything
// short and decide ourselves. It has no route to files.

#include "manage/http_listener.hpp"

#include <algorithm>
#include <atomic>
#include <list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cadre/queue/synchronous_queue.hpp>
#include <cadre/thread_pool_executor.hpp>

#include "manage/http_guard.hpp"
#include "manage/http_stream.hpp"

namespace cadre::manage::detail {
namespace {

const char* reason_of(int status) {
    switch (status) {
        case 408:
            return "Request Timeout";
        case 413:
            return "Payload Too Large";
        case 414:
            return "URI Too Long";
        case 431:
            return "Request Header Fields Too Large";
        case 503:
            return "Service Unavailable";
        default:
            return "Bad Request";
    }
}

constexpr std::size_t max_path = 512;
constexpr int most_requests = 1000;                         // of one connection
constexpr std::size_t most_drained = std::size_t{1} << 20;  // of who is refused

/// Set while the accepting thread handles a connection that found no thread.
thread_local bool refusing = false;

/// The connections that we wait for a request of, the one that lets us wait longest first.
class waiting_connections {
    struct connection {
        int socket;
        bool ended;
    };

public:
    /// While it lives, or until is_over(), the connection waits.
    class [[nodiscard]] scope {
    public:
        scope(waiting_connections& all, int socket) : all_(all) {
            const std::lock_guard lock(all_.mutex_);
            place_ = all_.sockets_.insert(all_.sockets_.end(), {socket, false});
        }
        ~scope() { over(); }
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;

        /// All has come that was waited for. False if the connection was ended before.
        bool over() {
            const std::lock_guard lock(all_.mutex_);
            if (!place_) return !ended_;
            ended_ = (*place_)->ended;
            all_.sockets_.erase(*std::exchange(place_, std::nullopt));
            return !ended_;
        }

    private:
        waiting_connections& all_;
        std::optional<std::list<connection>::iterator> place_;
        bool ended_ = false;
    };

    /// Ends one; false if none waits. Its thread finds it closed, and is free then.
    bool end_first() {
        const std::lock_guard lock(mutex_);
        const auto first = std::find_if(sockets_.begin(), sockets_.end(),
                                        [](const connection& each) { return !each.ended; });
        if (first == sockets_.end()) return false;
        first->ended = true;
        ::shutdown(first->socket, SHUT_RDWR);
        return true;
    }

private:
    std::mutex mutex_;               // guards the list
    std::list<connection> sockets_;  // open as long as they are in here
};

/// Of the connection that the thread serves, from its head until its body is there.
thread_local waiting_connections::scope* current_wait = nullptr;

/// The connections of httplib as tasks of one of our pools.
class connections final : public httplib::TaskQueue {
public:
    connections(int most, waiting_connections& waiting)
        : waiting_(waiting),
          pool_({.core_pool_size = 0,
                 .maximum_pool_size = most,
                 .keep_alive = std::chrono::seconds(30),
                 .queue = std::make_unique<synchronous_queue<task>>(),
                 .name = "cadre-http"}) {}

    void enqueue(std::function<void()> serve) override {
        // Shared, for a rejected task is destroyed, and its socket must be answered and closed.
        const auto shared = std::make_shared<std::function<void()>>(std::move(serve));
        try {
            pool_.execute([shared] { (*shared)(); });
        } catch (const std::exception&) {
            if (takes_over(shared)) return;
            refusing = true;
            (*shared)();
            refusing = false;
        }
    }
    void shutdown() override { pool_.close(); }

private:
    /// True if the thread of a connection that only waited, or has just ended, serves this one.
    bool takes_over(const std::shared_ptr<std::function<void()>>& serve) {
        constexpr int most_tries = 10;
        try {
            for (int i = 0; i < most_tries; ++i) {
                // The thread of one that was ended comes as soon as it gets a processor: to end
                // another for the same newcomer would be one too many. One that was just accepted
                // waits in a moment; if all are being answered, though, who is to be refused need
                // not hold up who comes next.
                const bool ended = waiting_.end_first();
                if (pool_.queue().offer_for(task([serve] { (*serve)(); }),
                                            std::chrono::milliseconds(ended ? 1000 : 2)))
                    return true;
            }
        } catch (const std::exception&) {
            return false;
        }
        return false;
    }

    waiting_connections& waiting_;
    thread_pool_executor pool_;
};

/// A target in absolute form says which host is asked, whatever the Host header says. What is no
/// host as we know them stays as it is, and leads nowhere.
void bring_to_origin_form(httplib::Request& request) {
    const auto authority = std::string(authority_of(request.target));
    if (authority.empty() || host_name(authority).empty()) return;
    request.path.erase(0, request.path.find("://") + 3 + authority.size());
    if (!request.path.starts_with('/')) request.path.insert(0, 1, '/');
    if (request.get_header_value_count("Host") != 1) return;
    request.headers.erase("Host");
    request.set_header("Host", authority);
}

bool has_body(const httplib::Request& request) {
    return request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
}

class server final : public httplib::Server {
public:
    server(const http_listener_options& options, http_handler handler)
        : options_(options), handler_(std::move(handler)), stop_(::eventfd(0, EFD_CLOEXEC)) {
        if (stop_ < 0) throw std::runtime_error("http: no eventfd could be made");
        new_task_queue = [this] { return new connections(options_.max_connections, waiting_); };
        set_payload_max_length(options_.max_body);
        // Not for httplib, which serves no connection of ours: it tells clients of it.
        set_keep_alive_max_count(most_requests);
        set_keep_alive_timeout(
            std::chrono::floor<std::chrono::seconds>(options_.idle_timeout).count());
        set_default_headers({{"Cache-Control", "no-store"},
                             {"X-Content-Type-Options", "nosniff"},
                             {"X-Frame-Options", "DENY"},
                             {"Referrer-Policy", "no-referrer"},
                             {"Cross-Origin-Resource-Policy", "same-origin"}});
        set_pre_routing_handler([this](const auto& in, auto& out) { return before_body(in, out); });
        // What httplib refuses by itself, as chunks that are none, it has no words for.
        set_error_handler([](const auto&, auto& out) {
            if (out.body.empty()) refuse(out, out.status, "the request could not be read");
        });
        const auto with_body = [this](const auto& in, auto& out) { answer(in, out); };
        Post("/.*", with_body);
        Patch("/.*", with_body);
    }
    ~server() override { ::close(stop_); }

    void wake_all() const {
        const std::uint64_t one = 1;
        (void)!::write(stop_, &one, sizeof one);
    }

private:
    /// All that has no body is answered here, and so is what we do not want to read a body of.
    HandlerResponse before_body(const httplib::Request& in, httplib::Response& out) {
        if (in.path.size() > max_path) return refuse(out, 414, "the path is too long");
        if (in.has_header("Content-Encoding"))
            return refuse(out, 415, "an encoded body is not accepted");
        if (in.method == "POST" || in.method == "PATCH") return HandlerResponse::Unhandled;
        if (in.method != "GET" && in.method != "HEAD")
            return refuse(out, 405, "the method is not known");
        answer(in, out);
        return HandlerResponse::Handled;
    }

    static HandlerResponse refuse(httplib::Response& out, int status, const std::string& why) {
        out.status = status;
        out.set_content(R"({"error":")" + why + "\"}", "application/json");
        return HandlerResponse::Handled;
    }

    void answer(const httplib::Request& in, httplib::Response& out) {
        // Nobody would hear the answer to what was ended meanwhile, so it is not carried out.
        if (current_wait && !current_wait->over()) return;
        http_request request = {.method = in.method == "HEAD" ? "GET" : in.method,
                                .path = in.path,
                                .origin = in.get_header_value("Origin"),
                                .authorization = in.get_header_value("Authorization"),
                                .content_type = in.get_header_value("Content-Type"),
                                .if_match = in.get_header_value("If-Match"),
                                .author = in.get_header_value("Cadre-Author"),
                                .comment = in.get_header_value("Cadre-Comment"),
                                .body = in.body,
                                .peer = in.remote_addr};
        if (in.get_header_value_count("Host") == 1) request.host = in.get_header_value("Host");
        if (in.get_header_value_count("Origin") > 1) request.origin = "several";
        for (const auto& [key, value] : in.params)
            if (const auto [said, first] = request.query.emplace(key, value); !first)
                said->second += "," + value;  // which none of ours may be
        http_response response;
        try {
            response = handler_(request);
        } catch (...) {
            response = {.status = 500, .body = R"({"error":"the request failed"})"};
        }
        out.status = response.status;
        for (const auto& [key, value] : response.headers) out.set_header(key, value);
        out.set_content(std::move(response.body), response.content_type);
    }

    bool process_and_close_socket(socket_t socket) override {
        if (refusing)
            send_refusal(socket, {.status = 503, .why = "too many are asking"});
        else
            serve(socket);
        ::shutdown(socket, SHUT_RDWR);
        ::close(socket);
        return true;
    }

    /// So few bytes have room in the socket of who reads what he is sent; nobody is waited for.
    static void send_refusal(socket_t socket, const head_refusal& refusal) {
        const std::string body = refusal.why.empty() ? "" : R"({"error":")" + refusal.why + "\"}";
        const std::string answer =
            "HTTP/1.1 " + std::to_string(refusal.status) + " " + reason_of(refusal.status) +
            "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
            "\r\nConnection: close\r\n" + (refusal.status == 503 ? "Retry-After: 1\r\n" : "") +
            "\r\n" + body;
        (void)!::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }

    /// What is still to be read when a socket is closed resets the connection, and with it what was
    /// just sent.
    void drain(socket_t socket) const {
        const auto deadline = steady::now() + std::chrono::milliseconds(100);
        ::shutdown(socket, SHUT_WR);
        std::array<char, 4096> rest;
        std::size_t drained = 0;
        while (drained < most_drained && await(socket, POLLIN, stop_, deadline)) {
            const auto n = ::recv(socket, rest.data(), rest.size(), MSG_DONTWAIT);
            if (n <= 0) return;
            drained += static_cast<std::size_t>(n);
        }
    }

    void serve(socket_t socket) {
        std::string early;
        for (int left = most_requests; left > 0 && serve_one(socket, early, left == 1); --left) {}
    }

    /// `early` is what has come of the next request already: some send it before they have read
    /// the answer to the one before. True if the connection may be used again.
    bool serve_one(socket_t socket, std::string& early, bool is_last) {
        waiting_connections::scope waits(waiting_, socket);
        if (early.empty() && !await(socket, POLLIN, stop_, steady::now() + options_.idle_timeout))
            return false;
        bounded_stream stream(socket, stop_, steady::now() + options_.request_timeout,
                              std::move(early));
        const auto refusal = stream.read_head(options_.max_head, options_.max_body);
        if (refusal.status != 0) {
            if (!refusal.why.empty() && waits.over()) {
                send_refusal(socket, refusal);
                drain(socket);
            }
            return false;
        }
        bool keep = false;
        bool closed = false;
        const bool served = process_request(stream, false, closed, [&](httplib::Request& request) {
            // Called when the head is read. A body that is not read would be taken for the next
            // request; so after any body the connection ends.
            keep = !has_body(request) && !is_last;
            if (!keep) {  // and the client is told so
                request.headers.erase("Connection");
                request.set_header("Connection", "close");
            }
            // Without a length there is no body; httplib would wait for one to the end.
            if (!has_body(request)) request.set_header("Content-Length", "0");
            bring_to_origin_form(request);
            current_wait = &waits;
            request.ranges.clear();
            request.headers.erase("Accept-Encoding");  // no compression on the way to a neighbour
        });
        current_wait = nullptr;
        early = stream.rest();
        if (served && !keep) drain(socket);
        return served && keep && !closed;
    }

    waiting_connections waiting_;
    const http_listener_options& options_;
    const http_handler handler_;
    const int stop_;
};

void check(const http_listener_options& options) {
    const auto refuse = [](const std::string& what) { throw std::invalid_argument(what); };
    if (options.port < 0 || options.port > 65535)
        refuse("port (" + std::to_string(options.port) + ") must be from 0 to 65535");
    if (options.max_connections < 1)
        refuse("max_connections (" + std::to_string(options.max_connections) +
               ") must be positive");
    if (options.request_timeout <= std::chrono::nanoseconds(0) ||
        options.idle_timeout <= std::chrono::nanoseconds(0))
        refuse("request_timeout and idle_timeout must be positive");
}

}  // namespace

struct http_listener::state {
    state(http_listener_options o, http_handler handler)
        : options((check(o), std::move(o))), http(options, std::move(handler)) {}

    const http_listener_options options;
    server http;
    int port = 0;
    std::atomic<bool> over = false;
    std::thread accepting;
};

http_listener::http_listener(http_listener_options options, http_handler handler)
    : state_(std::make_unique<state>(std::move(options), std::move(handler))) {
    auto& s = *state_;
    const auto& wanted = s.options;
    // Not httplib's default, SO_REUSEPORT, which lets a second process listen on the same port.
    s.http.set_socket_options([](socket_t socket) {
        const int yes = 1;
        ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    s.http.set_tcp_nodelay(true);
    if (wanted.port == 0)
        s.port = s.http.bind_to_any_port(wanted.address);
    else
        s.port = s.http.bind_to_port(wanted.address, wanted.port) ? wanted.port : -1;
    if (s.port <= 0)
        throw std::runtime_error("http: cannot listen on " + wanted.address + ":" +
                                 std::to_string(wanted.port));
    s.accepting = std::thread([&s] {
        s.http.listen_after_bind();
        s.over = true;
    });
    // stop() has no effect before that.
    while (!s.http.is_running() && !s.over) std::this_thread::yield();
}

http_listener::~http_listener() {
    state_->http.wake_all();
    state_->http.stop();
    state_->accepting.join();
}

int http_listener::port() const { return state_->port; }

}  // namespace cadre::manage::detail
