// SPDX-License-Identifier: Apache-2.0
// The service behind `make run`: three pools under load, configured by demo/pools.yaml, with the
// dashboard at http://127.0.0.1:7077.

#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "service.hpp"
#include <cadre/manage/config_manager.hpp>
#include <cadre/manage/file_source.hpp>
#include <cadre/manage/http_server.hpp>

namespace {

struct arguments {
    int seconds = 0;  // 0: until it is interrupted
    int port = 7077;
    std::string config = "demo/pools.yaml";
};

/// False if they make no sense.
bool read(int argc, char** argv, arguments& to) {
    const auto number = [](const char* text, int most, int& value) {
        const char* const end = text + std::strlen(text);
        const auto read = std::from_chars(text, end, value);
        return read.ec == std::errc() && read.ptr == end && value >= 0 && value <= most;
    };
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        if (name == "--config")
            to.config = argv[i + 1];
        else if (!(name == "--seconds" && number(argv[i + 1], 86'400, to.seconds)) &&
                 !(name == "--port" && number(argv[i + 1], 65'535, to.port)))
            return false;
    }
    return argc % 2 == 1;
}

/// From the environment, or a new one for each run.
std::string make_token() {
    if (const char* given = std::getenv("CADRE_TOKEN"); given != nullptr && *given != '\0')
        return given;
    std::random_device random;
    std::string token;
    for (int i = 0; i < 24; ++i) token += "0123456789abcdef"[random() % 16];
    return token;
}

void print_what_to_try(const cadre::manage::http_server& server, const std::string& token,
                       const arguments& a) {
    std::printf(
        "The dashboard:        %s\n"
        "The token for it:     %s\n\n"
        "Things to try while it runs\n"
        "  - see the pool `requests` overflow in the rush, once a minute\n"
        "  - unlock the dashboard with the token, give `requests` 8 core and maximum threads:\n"
        "    preview, apply, undo\n"
        "  - edit %s and save\n"
        "  - in another terminal:\n"
        "      export CADRE_TOKEN=%s CADRE_URL=%s\n"
        "      build/release/src/cadrectl/cadrectl top\n"
        "      build/release/src/cadrectl/cadrectl set requests core_pool_size=6 "
        "maximum_pool_size=8\n"
        "      build/release/src/cadrectl/cadrectl rollback requests\n"
        "      curl %s/metrics\n\n",
        server.url().c_str(), token.c_str(), a.config.c_str(), token.c_str(), server.url().c_str(),
        server.url().c_str());
    if (a.seconds > 0)
        std::printf("It ends by itself in %d s; Ctrl-C ends it sooner.\n\n", a.seconds);
    else
        std::printf("Ctrl-C ends it.\n\n");
}

void print_summary(const cadre::manage::pool_registry& registry) {
    std::printf("\n  %-10s %10s %13s %10s %10s\n", "pool", "tasks run", "most threads", "rejected",
                "changes");
    for (const auto& pool : registry.pools()) {
        const auto s = pool->snapshot();
        int changes = -1;  // its registration is none
        for (const auto& record : registry.history())
            if (record.pool == pool->name() && record.revision != 0) ++changes;
        std::printf("  %-10s %10ld %13d %10ld %10d\n", pool->name().c_str(),
                    static_cast<long>(s.completed_task_count), s.largest_pool_size,
                    static_cast<long>(s.rejected_task_count), changes);
    }
}

/// What came of the file, whenever it was read.
void tell(const cadre::manage::config_status& status) {
    bool is_there = false;
    for (const auto& source : status.sources) {
        const bool has_answered = source.origin == cadre::manage::document_origin::source;
        is_there = is_there || has_answered;
        if (!has_answered && !source.health.last_error.empty() && source.health.problems.empty())
            std::printf("  no configuration, the pools are as the code made them: %s\n",
                        source.health.last_error.c_str());
    }
    if (status.problems.empty() && is_there) std::printf("  the configuration is applied\n");
    for (const auto& [pool, field] : status.not_applied)
        std::printf("  %s of %s stays %s, not %s: %s\n", field.field.c_str(), pool.c_str(),
                    field.effective.c_str(), field.wished.c_str(), field.reason.c_str());
    for (const auto& pool : status.unmatched)
        std::printf("  there is no pool %s; with auto_create: true it would be made\n",
                    pool.c_str());
    for (const auto& problem : status.problems)
        std::printf("  refused, nothing is changed: %s\n", to_text(problem).c_str());
}

void run(const arguments& a, const sigset_t& ending) {
    cadre::manage::pool_registry registry;
    {
        demo::service service(registry);
        std::vector<std::unique_ptr<cadre::manage::config_source>> sources;
        sources.push_back(cadre::manage::file_source({.path = a.config}));
        cadre::manage::config_manager config(registry, std::move(sources), {.on_result = tell});
        config.start();
        const auto token = make_token();
        const cadre::manage::alarm_engine alarms(registry, {.config = &config}, {});
        const cadre::manage::http_server server(
            registry,
            {.port = a.port,
             .token = token,
             .sample_interval = std::chrono::seconds(2),
             .alarms = &alarms,
             .metrics = {.dynamictp_names = true, .application = "demo", .config = &config},
             .log = [](const std::string& line) { std::printf("  %s\n", line.c_str()); }});
        print_what_to_try(server, token, a);
        const std::jthread clients(
            [&](const std::stop_token& stop) { service.send_requests(stop); });
        if (a.seconds == 0) {
            int which = 0;
            sigwait(&ending, &which);
        } else {
            const timespec limit = {.tv_sec = a.seconds, .tv_nsec = 0};
            sigtimedwait(&ending, nullptr, &limit);
        }
        std::printf("\nstopping: what was accepted is finished\n");
    }
    print_summary(registry);
}

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // what happens is told at once, also to a pipe
    arguments a;
    if (!read(argc, argv, a)) {
        std::fprintf(stderr, "demo: takes --seconds N, --port N and --config FILE\n");
        return 2;
    }
    sigset_t ending;  // blocked before any thread is made, and waited for
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ending, nullptr);
    try {
        run(a, ending);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "demo: %s\n", error.what());
        return 1;
    }
    return 0;
}
