// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/apollo_source.hpp>
#include <cadre/manage/consul_source.hpp>
#include <cadre/manage/nacos_source.hpp>

#include <iostream>
#include <memory>
#include <mutex>
#include <string>

#include "manage/digest.hpp"
#include "manage/support/apollo_standin.hpp"
#include "manage/support/centre_standins.hpp"

// Our side of the checks with programs of others: see interop.mjs, which starts it.
//
//   interop_peer follow apollo|nacos|consul URL NAME   a source; prints each document it gives
//   interop_peer serve apollo|nacos|consul             a stand-in; prints its URL
//
// Prints lines of JSON. Reads commands until its input ends: "health" of a source; "set TEXT"
// (percent-encoded) and "remove" for a stand-in, and "polls", how many that of Apollo has had.

namespace {

using namespace std::chrono_literals;
using namespace cadre::manage;
namespace standins = cadre::testing;
using detail::json_quoted;

std::mutex output;

void print(const std::string& line) {
    const std::lock_guard lock(output);
    std::cout << line << std::endl;
}

std::unique_ptr<config_source> make_source(const std::string& kind, const std::string& url,
                                           const std::string& name) {
    const source_backoff backoff{5ms, 50ms};
    // The refresh is far away: what arrives was told of.
    if (kind == "apollo")
        return apollo_source({.config_services = {url},
                              .app_id = "shop",
                              .name_space = name,
                              .refresh = 1h,
                              .pace = 10ms,
                              .backoff = backoff});
    if (kind == "nacos")
        return nacos_source({.servers = {url},
                             .data_id = name,
                             .group = "shop",
                             .namespace_id = "ns",
                             .required = false,
                             .pace = 10ms,
                             .backoff = backoff});
    return consul_source(
        {.agents = {url}, .key = name, .required = false, .pace = 10ms, .backoff = backoff});
}

int follow(const std::string& kind, const std::string& url, const std::string& name) {
    const auto source = make_source(kind, url, name);
    source->start([](const config_document& document) {
        print("{\"revision\":" + json_quoted(document.revision) +
              ",\"exists\":" + (document.exists ? "true" : "false") +
              ",\"text\":" + json_quoted(document.text) + "}");
    });
    for (std::string line; std::getline(std::cin, line);) {
        const auto health = source->health();
        print("{\"state\":" + json_quoted(to_text(health.state)) +
              ",\"error\":" + json_quoted(health.last_error) + "}");
    }
    source->stop();
    return 0;
}

template <class Server>
int serve(Server& server) {
    server.hold_polls_for(500ms);
    print("{\"url\":" + json_quoted(server.url()) + "}");
    for (std::string line; std::getline(std::cin, line);) {
        const std::string text =
            line.starts_with("set ") ? standins::url_decoded(line.substr(4)) : "";
        if constexpr (std::is_same_v<Server, standins::apollo_standin>) {
            if (line == "polls") {
                const auto polls = server.requests("/notifications").size();
                print("{\"polls\":" + std::to_string(polls) + "}");
                continue;
            }
            server.publish(standins::item_map{{"text", text}});
        } else if (line == "remove")
            server.set(std::nullopt);
        else
            server.set(text);
        print("{\"done\":true}");
    }
    return 0;
}

template <class Server>
int serve() {
    Server server;
    return serve(server);
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv, argv + argc);
    try {
        if (argc == 5 && words[1] == "follow") return follow(words[2], words[3], words[4]);
        if (argc == 3 && words[2] == "apollo") return serve<standins::apollo_standin>();
        if (argc == 3 && words[2] == "nacos") return serve<standins::nacos_standin>();
        if (argc == 3 && words[2] == "consul") return serve<standins::consul_standin>();
    } catch (const std::exception& e) {
        std::cerr << e.what() << "\n";
        return 1;
    }
    std::cerr << "usage: interop_peer follow KIND URL NAME | serve KIND\n";
    return 2;
}
