// SPDX-License-Identifier: Apache-2.0
//
// The management plane in a storm: six configuration centres behind proxies that refuse, stall,
// cut, truncate and lie at random, and publish new settings all the while; a manager that follows
// them; a server that is scraped; and the pools of it all, which are given tasks. A pool only ever
// has settings that were published, and never those of two documents at once; when the storm is
// over it has the last ones. Each task runs once. How long one waited at most is told.
//
//     plane_storm [--seconds S] [--seed X]
//
// The last line has the figures. Anything wrong, or nothing moving for a minute: says what, and
// fails.

#include <cadre/cadre.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cadre/manage/config_manager.hpp>
#include <cadre/manage/http_server.hpp>
#include <cadre/manage/pool_registry.hpp>

#include "manage/raw_http.hpp"
#include "manage/support/centres.hpp"
#include "manage/support/chaos_proxy.hpp"
#include "support/ledger.hpp"
#include "support/watchdog.hpp"
#include "support/watched.hpp"

namespace cadre::testing {
namespace {

using clock = std::chrono::steady_clock;

constexpr int cores = 4;

[[noreturn]] void fail(const std::string& what, unsigned seed) {
    std::cout << "plane: " << what << ", seed " << seed << std::endl;
    std::_Exit(1);
}

/// A centre that publishes one document after the other for a pool of its own.
class followed {
public:
    followed(std::string pool, centre from)
        : pool_(std::move(pool)), centre_(std::move(from)), proxy_(centre_.url) {
        publish_next();
    }
    const std::string& pool() const { return pool_; }
    chaos_proxy& proxy() { return proxy_; }
    std::unique_ptr<manage::config_source> source() { return centre_.source(proxy_.url()); }
    int published() const { return published_; }

    /// Core and keep-alive of a document belong together.
    void publish_next() {
        const int number = published_ + 1;
        published_ = number;  // who reads it may see it at once
        centre_.publish(R"({"pools": {")" + pool_ + R"(": {"core_pool_size": )" +
                        std::to_string(1 + number % cores) + R"(, "keep_alive": ")" +
                        std::to_string(number) + R"(ms"}}})");
    }
    static int number_of(const manage::pool_settings& settings) {
        return static_cast<int>(settings.keep_alive.value_or(0ms) / 1ms);
    }
    std::string what_is_wrong_with(const manage::pool_settings& settings) const {
        const int number = number_of(settings);
        if (number < 1 || number > published_)
            return pool_ + " has a keep-alive that nobody published: " + std::to_string(number);
        if (settings.core_pool_size.value_or(0) != 1 + number % cores)
            return pool_ + " has settings of two documents, the later one at most " +
                   std::to_string(number);
        return {};
    }

private:
    const std::string pool_;
    const centre centre_;
    chaos_proxy proxy_;
    std::atomic<int> published_ = 0;
};

struct figures {
    std::atomic<std::uint64_t> steps = 0;  ///< anything that moved
    std::atomic<std::uint64_t> applied = 0;
    std::atomic<std::uint64_t> scrapes = 0;
    std::atomic<std::uint64_t> tasks = 0;
    std::atomic<std::int64_t> longest_wait = 0;  ///< nanoseconds, from a task's giving to its run
    std::atomic<std::uint64_t> mischief = 0;
};

class storm {
public:
    explicit storm(unsigned seed) : seed_(seed), random_(seed) {
        const std::array<centre, 6> centres{http_centre(),       consul_centre(),
                                            nacos_centre(false), nacos_centre(true),
                                            apollo_centre(),     etcd_centre()};
        for (const auto& each : centres) {
            auto& one = followed_.emplace_back("pool-" + std::to_string(followed_.size()), each);
            pools_.push_back(
                registry_.create({.name = one.pool(),
                                  .settings = {.core_pool_size = 1, .maximum_pool_size = cores}}));
        }
        changes_ = registry_.on_change([this](const manage::change_record& record) {
            ++sum_.applied;
            ++sum_.steps;
            for (const auto& each : followed_)
                if (each.pool() == record.pool)
                    if (auto wrong = each.what_is_wrong_with(record.settings); !wrong.empty())
                        fail(wrong, seed_);
        });
    }

    void play(std::chrono::seconds time) {
        const watchdog dog(
            60s, [&] { return sum_.steps.load(); }, [&] { return told(); });
        std::vector<std::unique_ptr<manage::config_source>> sources;
        for (auto& each : followed_) sources.push_back(each.source());
        manage::config_manager manager(registry_, std::move(sources), {.start_wait = 1ms});
        manager.start();
        std::atomic<bool> over = false;
        std::thread scraper([&] {
            while (!over) {
                raw_http client(server_.port());
                for (int i = 0; i < 100 && !over; ++i) scrape(client);
            }
        });
        std::vector<std::thread> givers;
        for (unsigned i = 0; i < 2; ++i)
            givers.emplace_back([&, i] {
                while (!over) give(i);
            });
        const auto until = clock::now() + time;
        while (clock::now() < until) disturb();
        over = true;
        scraper.join();
        for (auto& each : givers) each.join();
        for (auto& each : followed_) {
            each.proxy().play(mischief::none);
            each.publish_next();
        }
        for (std::size_t i = 0; i < pools_.size(); ++i)
            await_fact([&] {
                return followed::number_of(pools_[i]->settings()) == followed_[i].published();
            });
        manager.stop();
        for (std::size_t i = 0; i < pools_.size(); ++i)
            if (auto wrong = followed_[i].what_is_wrong_with(pools_[i]->settings()); !wrong.empty())
                fail(wrong, seed_);
    }

    std::string told() const {
        int published = 0;
        for (const auto& each : followed_) published += each.published();
        return std::to_string(published) + " changes published by 6 centres, " +
               std::to_string(sum_.applied) + " applied, " + std::to_string(sum_.mischief) +
               " times mischief, " + std::to_string(sum_.scrapes) + " scrapes; " +
               std::to_string(sum_.tasks) + " tasks, 0 lost, 0 doubled, none waited longer than " +
               std::to_string(sum_.longest_wait / 1'000) + " us; all as published last";
    }

private:
    /// Something goes wrong somewhere, or stops to, or something new is said; or all at once.
    void disturb() {
        auto& one = followed_[random_() % followed_.size()];
        switch (random_() % 4) {
            case 0: {
                const auto kind = all_mischief[random_() % std::size(all_mischief)];
                // An old answer that keeps coming is believed in the end.
                one.proxy().play(kind, kind == mischief::stale ? 2 : 1'000'000);
                ++sum_.mischief;
                break;
            }
            case 1:
                one.proxy().play(mischief::none);
                break;
            default:
                one.publish_next();
        }
        // So that what happens has time to do harm. Nothing rests on how long it is.
        std::this_thread::sleep_for(std::chrono::milliseconds(random_() % 8));
    }

    /// On one connection: a port of its own for each would be more than there are, in the long run.
    void scrape(raw_http& client) {
        constexpr const char* paths[] = {"/metrics", "/api/pools", "/healthz", "/metrics"};
        client.send(std::string("GET ") + paths[sum_.scrapes % std::size(paths)] +
                    " HTTP/1.1\r\nHost: localhost\r\n\r\n");
        if (raw_http::status(client.read_answer()) != 200) fail("a scrape was not answered", seed_);
        ++sum_.scrapes;
        ++sum_.steps;
    }

    /// Some thousands of tasks for all pools, and their ledger.
    void give(unsigned seed) {
        constexpr std::size_t tasks = 20'000;
        constexpr std::size_t most_under_way = 500;
        ledger books(tasks);
        std::atomic<std::size_t> ran = 0;
        std::minstd_rand random(seed + 1);
        for (std::size_t i = 0; i < tasks; ++i) {
            await_fact([&] { return i - ran < most_under_way; });
            auto& pool = pools_[random() % pools_.size()];
            pool->executor()->execute([&, given = clock::now(), runs = books.task(i)]() mutable {
                note_wait(clock::now() - given);
                runs();
                ++ran;
            });
            books.accept(i);
            ++sum_.steps;
        }
        await_fact([&] { return ran == tasks; });
        const auto balance = books.close();
        if (!balance.error.empty() || balance.ran != tasks)
            fail("of " + std::to_string(tasks) + " tasks " + std::to_string(balance.ran) +
                     " ran; " + balance.error,
                 seed_);
        sum_.tasks += tasks;
    }
    void note_wait(std::chrono::nanoseconds time) {
        auto longest = sum_.longest_wait.load();
        while (time.count() > longest &&
               !sum_.longest_wait.compare_exchange_weak(longest, time.count())) {}
    }

    const unsigned seed_;
    std::mt19937 random_;
    figures sum_;
    std::deque<followed> followed_;
    manage::pool_registry registry_;
    std::vector<std::shared_ptr<manage::managed_pool>> pools_;
    manage::subscription changes_;
    manage::http_server server_{
        registry_, {.port = 0, .request_timeout = 1h, .log = [](const std::string&) {}}};
};

int play_all(std::chrono::seconds time, unsigned seed) {
    std::cout << "seed " << seed << std::endl;
    const auto began = clock::now();
    storm all(seed);
    all.play(time);
    const std::chrono::duration<double> took = clock::now() - began;
    std::cout << "plane: " << all.told() << ", " << took.count() << " s\n";
    return 0;
}

}  // namespace
}  // namespace cadre::testing

int main(int argc, char** argv) {
    long seconds = 10;
    unsigned seed = std::random_device()();
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::stol(argv[i + 1]);
        if (std::strcmp(argv[i], "--seed") == 0)
            seed = static_cast<unsigned>(std::stoul(argv[i + 1]));
    }
    return cadre::testing::play_all(std::chrono::seconds(seconds), seed);
}
