// SPDX-License-Identifier: Apache-2.0
//
// Sources of every centre, with a server that answers whatever the input says.

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "fuzz/targets.hpp"
#include "manage/support/loopback_http.hpp"
#include <cadre/manage/apollo_source.hpp>
#include <cadre/manage/consul_source.hpp>
#include <cadre/manage/etcd_source.hpp>
#include <cadre/manage/http_source.hpp>
#include <cadre/manage/nacos_source.hpp>

namespace cadre::fuzz {
namespace {

using namespace manage;
using std::chrono::milliseconds;

/// One for the process; says what it was given, then that it is not available.
class lying_server {
public:
    void say(std::deque<testing::served_answer> answers) {
        const std::lock_guard lock(mutex_);
        answers_ = std::move(answers);
    }
    bool has_said_all() const {
        const std::lock_guard lock(mutex_);
        return answers_.empty();
    }
    std::string url() const { return server_.url(); }

private:
    testing::served_answer next() {
        const std::lock_guard lock(mutex_);
        if (answers_.empty()) return {.status = 503};
        auto first = std::move(answers_.front());
        answers_.pop_front();
        return first;
    }

    mutable std::mutex mutex_;  // guards answers_
    std::deque<testing::served_answer> answers_;
    testing::loopback_http server_{[this](const auto&) { return next(); }};
};

std::deque<testing::served_answer> answers_of(choices& from) {
    constexpr int statuses[] = {200, 200, 200, 200, 404, 304, 401, 0};
    std::deque<testing::served_answer> answers;
    while (!from.empty() && answers.size() < 6) {
        testing::served_answer next{.status = statuses[from.below(8)]};
        next.headers["X-Consul-Index"] = std::to_string(from.below(16));
        if (from.below(4) == 0) next.headers["ETag"] = "\"1\"";
        next.body = from.line();
        if (from.below(8) == 7) next.cut_after = next.body.size() / 2;
        answers.push_back(std::move(next));
    }
    return answers;
}

std::unique_ptr<config_source> make_source(unsigned kind, const std::string& url) {
    constexpr milliseconds soon(1);
    constexpr source_backoff quick{soon, soon};
    switch (kind) {
        case 0:
            return apollo_source(
                {.config_services = {url}, .app_id = "fuzz", .pace = soon, .backoff = quick});
        case 1:
            return apollo_source(
                {.meta = url, .app_id = "fuzz", .secret = "1", .pace = soon, .backoff = quick});
        case 2:
            return etcd_source({.endpoints = {url}, .key = "a.yaml", .backoff = quick});
        case 3:
            return etcd_source({.endpoints = {url},
                                .key = "a.yaml",
                                .username = "u",
                                .password = "p",
                                .backoff = quick});
        case 4:
            return consul_source(
                {.agents = {url}, .key = "a.yaml", .pace = soon, .backoff = quick});
        case 5:
            return nacos_source(
                {.servers = {url}, .data_id = "a.yaml", .pace = soon, .backoff = quick});
        case 6:
            return nacos_source({.servers = {url},
                                 .data_id = "a.yaml",
                                 .username = "u",
                                 .password = "p",
                                 .protocol = nacos_protocol::v1,
                                 .pace = soon,
                                 .backoff = quick});
        default:
            return http_source({.url = url + "/a.yaml", .interval = soon, .backoff = quick});
    }
}

/// It stops when it is told to, whatever the server said; what it gave is what it says it gave.
void play_centre(std::string_view input) {
    static auto& server = *new lying_server;  // never destroyed: it has threads
    choices from(input);
    const unsigned kind = from.below(8);
    server.say(answers_of(from));
    const auto source = make_source(kind, server.url());
    std::uint64_t given = 0;
    source->start([&](const config_document& document) {
        require(document.exists || document.text.empty(), "a text of what does not exist");
        ++given;
    });
    const auto enough = std::chrono::steady_clock::now() + milliseconds(40);
    while (std::chrono::steady_clock::now() < enough && !server.has_said_all() &&
           source->health().failures < 3)
        std::this_thread::sleep_for(std::chrono::microseconds(200));  // nothing rests on how long
    source->stop();
    const auto health = source->health();
    require(health.state == source_state::stopped, "it has not stopped");
    require(health.documents == given, "the count of documents is wrong");
}

constexpr target all[] = {{"centre", play_centre}};

}  // namespace

std::span<const target> centre_targets() { return all; }

}  // namespace cadre::fuzz
