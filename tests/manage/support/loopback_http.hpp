// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace cadre::testing {

struct served_request {
    std::string method = {};
    std::string target = {};  ///< as it was sent
    std::string path = {};
    std::map<std::string, std::string> query = {};    ///< decoded
    std::map<std::string, std::string> headers = {};  ///< names in lower case
    std::string body = {};
};

struct served_answer {
    int status = 200;  ///< 0: the connection is closed without a word
    std::string body = {};
    std::map<std::string, std::string> headers = {};
    /// Says the length of the whole body, but sends only so many bytes of it, and closes.
    std::size_t cut_after = std::string::npos;
};

/// A server on a free port of 127.0.0.1, with a thread for each connection. The handler is called
/// on several of them at once; it may wait, but not for long: the destructor waits for it.
class loopback_http {
public:
    using handler = std::function<served_answer(const served_request&)>;
    explicit loopback_http(handler answer);
    ~loopback_http();
    loopback_http(const loopback_http&) = delete;
    loopback_http& operator=(const loopback_http&) = delete;

    std::string url() const;
    /// Refuses connections from now on, and closes those there are.
    void end();

private:
    struct state;
    std::unique_ptr<state> state_;
};

/// A port for a server of others, which takes it and may give it back to take it again. It is none
/// that the system gives out by itself, and nobody else who asks so has it meanwhile.
class reserved_port {
public:
    reserved_port();
    ~reserved_port();
    reserved_port(const reserved_port&) = delete;
    reserved_port& operator=(const reserved_port&) = delete;
    int number() const { return number_; }

private:
    int number_ = 0;
    int claim_ = -1;  ///< a socket whose name is the number's; it goes with the process
};

/// a=b&c=d, decoded; as in a query, or the body of a form.
std::map<std::string, std::string> form_values(std::string text);
std::string url_decoded(const std::string& text);

}  // namespace cadre::testing
