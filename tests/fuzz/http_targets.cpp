// SPDX-License-Identifier: Apache-2.0
//
// Requests to the API, as its parts pass them on and as bytes on a socket; and answers of a server
// to cadrectl.

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include <nlohmann/json.hpp>

#include "cadrectl/commands.hpp"
#include "cadrectl/table.hpp"
#include "fuzz/targets.hpp"
#include "manage/http_api.hpp"
#include "manage/raw_http.hpp"
#include "manage/support/loopback_http.hpp"
#include "support/fake_root.hpp"
#include <cadre/manage/http_server.hpp>
#include <cadre/manage/pool_registry.hpp>

namespace cadre::fuzz {
namespace {

using namespace manage;

const std::string token = "a token of 24 characters";

/// Two pools that nobody uses. Prestarted threads are bounded by the guard rails.
std::unique_ptr<pool_registry> two_pools() {
    auto registry = std::make_unique<pool_registry>(
        registry_options{.rails = {.max_threads_per_pool = 4}, .history_size = 8});
    registry->create({.name = "a", .settings = {.core_pool_size = 1, .maximum_pool_size = 2}});
    registry->create({.name = "b/c", .kind = pool_kind::scheduled});
    return registry;
}

/// Whatever is asked, the answer is JSON (or the page, or metrics) with a status that fits.
void play_api(std::string_view input) {
    choices from(input);
    const auto registry = two_pools();
    const manage::detail::pool_sampler sampler(*registry, std::chrono::hours(1));
    const http_server_options options{.token = token, .log = [](const std::string&) {}};
    const manage::detail::http_api api(*registry, sampler, options);
    constexpr const char* methods[] = {"GET", "PATCH", "PATCH", "POST", "DELETE"};
    constexpr const char* paths[] = {"/api/pools/a", "/api/pools",   "/api/pools/a/rollback",
                                     "/api/samples", "/api/history", "/api/pools/b/c",
                                     "/metrics"};
    for (int i = 0; i < 4 && !from.empty(); ++i) {
        manage::detail::http_request request{.method = methods[from.below(5)],
                                             .host = "localhost",
                                             .authorization = "Bearer " + token,
                                             .content_type = "application/json",
                                             .peer = "127.0.0.1"};
        const unsigned path = from.below(8);
        request.path = path < 7 ? paths[path] : std::string(from.line());
        if (from.below(4) == 0) request.if_match = from.line();
        if (from.below(4) == 0) request.query["since"] = from.line();
        if (from.below(4) == 0) request.query["dry_run"] = from.line();
        request.body = from.line();
        const auto answer = api.answer(request);
        require(answer.status >= 200 && answer.status < 500, "a status that blames the server");
        if (answer.content_type == "application/json")
            require(nlohmann::json::accept(answer.body), "an answer that is no JSON");
    }
    require(registry->at("a")->snapshot().maximum_pool_size <= 4, "beyond the guard rails");
}

/// Any bytes on a connection: it is answered or closed, and the next client is served.
void play_request(std::string_view input) {
    static auto& registry = *two_pools().release();  // never destroyed: it has threads
    static auto& server = *new http_server(registry, {.port = 0,
                                                      .token = token,
                                                      .sample_interval = std::chrono::hours(1),
                                                      .log = [](const std::string&) {}});
    {
        testing::raw_http client(server.port());
        client.send(input);
        client.send("\r\n\r\n");
        client.finish_sending();
        const auto answer = client.read_all();
        require(answer.empty() || answer.starts_with("HTTP/1."), "an answer that is not HTTP");
    }
    testing::raw_http next(server.port());
    next.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    require(next.read_all().find("200 OK") != std::string::npos, "nobody is served any more");
}

/// Commands of cadrectl on whatever a server may say: an exit code, or a failure that is told.
void play_cadrectl(std::string_view input) {
    static std::string said;
    static auto& server = *new testing::loopback_http(
        [](const auto&) { return testing::served_answer{.body = said}; });
    choices from(input);
    const unsigned which = from.below(8);
    const bool as_json = from.below(2) == 0;
    const std::string word(from.line());
    said = from.rest();
    std::ostringstream out;
    try {
        const cadrectl::client client(server.url(), token, 5);
        const cadrectl::context c{client, out, as_json};
        switch (which) {
            case 0:
                cadrectl::list(c);
                break;
            case 1:
                cadrectl::show(c, word);
                break;
            case 2:
                cadrectl::history(c, word);
                break;
            case 3:
                cadrectl::advise(c);
                break;
            case 4:
                cadrectl::set(c, word, {word}, false, word);
                break;
            case 5:
                cadrectl::rollback(c, word, 1, false);
                break;
            case 6:
                cadrectl::top(c, {.rounds = 1, .wait = [](auto) { return false; }});
                break;
            default: {
                static const testing::fake_root root;
                const auto file = root.path() / "pools.yaml";
                std::ofstream(file, std::ios::binary) << said;
                cadrectl::validate(out, as_json, file.string());
                cadrectl::apply(c, file.string(), true);
                break;
            }
        }
    } catch (const cadrectl::failure& ended) {
        require(ended.code() != cadrectl::success, "a failure that is a success");
    } catch (const nlohmann::json::exception&) {
        require(which != 7, "the document broke the tool");  // else the server did, and is blamed
    }
    for (const char c : out.str())
        require(as_json || c == '\n' || static_cast<unsigned char>(c) >= 0x20,
                "a terminal would obey this");
}

constexpr target all[] = {
    {"api", play_api}, {"request", play_request}, {"cadrectl", play_cadrectl}};

}  // namespace

std::span<const target> http_targets() { return all; }

}  // namespace cadre::fuzz
