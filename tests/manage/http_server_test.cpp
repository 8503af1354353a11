// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/http_server.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "manage/http_api.hpp"
#include "manage/http_listener.hpp"
#include "manage/raw_http.hpp"
#include "support/held_task.hpp"

namespace cadre::manage {
namespace http_server_tests {

using namespace cadre::testing;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

const std::string token = "a token for tests only";

/// A registry with one pool, and a server that shows it.
class http_server_test : public ::testing::Test {
protected:
    struct reply {
        int status = 0;
        std::string text;
    };

    http_server_test() { start({.port = 0, .token = token}); }

    void start(http_server_options options) {
        server_.reset();
        options.log = [this](const std::string& line) {
            const std::lock_guard lock(mutex_);
            log_.push_back(line);
        };
        server_ = std::make_unique<http_server>(registry_, std::move(options));
    }

    std::string log() const {
        const std::lock_guard lock(mutex_);
        std::string all;
        for (const auto& line : log_) all += line + "\n";
        return all;
    }

    reply send(const std::string& request) const {
        raw_http client(server_->port());
        client.send(request);
        auto text = client.read_answer();
        const int status = raw_http::status(text);
        return {status, std::move(text)};
    }

    reply get(const std::string& path) const {
        return send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }

    reply change(const std::string& method, const std::string& path, const std::string& body,
                 const std::string& headers) const {
        return send(method + " " + path +
                    " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + headers +
                    "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    }

    reply patch(const std::string& path, const std::string& body,
                const std::string& more = {}) const {
        return change("PATCH", path, body, "Authorization: Bearer " + token + "\r\n" + more);
    }

    pool_registry registry_;
    const std::shared_ptr<managed_pool> pool_ = registry_.create(
        {.name = "orders",
         .settings = {.core_pool_size = 2, .maximum_pool_size = 4, .queue_capacity = 100}});
    mutable std::mutex mutex_;  // guards log_
    std::vector<std::string> log_;
    std::unique_ptr<http_server> server_;
};

}  // namespace

TEST_F(http_server_test, shows_the_pools) {
    const auto all = get("/api/pools");
    EXPECT_EQ(all.status, 200);
    EXPECT_THAT(all.text, HasSubstr(R"("name":"orders")"));
    EXPECT_THAT(all.text, HasSubstr(R"("writable":true)"));
    EXPECT_THAT(all.text, HasSubstr(R"("process":{"resident_memory_bytes":)"));
    EXPECT_THAT(all.text, HasSubstr(R"("submitted":0)"));
    EXPECT_THAT(all.text, HasSubstr(R"("submitted_rate":)"));
    const auto one = get("/api/pools/orders");
    EXPECT_EQ(one.status, 200);
    EXPECT_THAT(one.text, HasSubstr(R"("settings":{"core_pool_size":2,"maximum_pool_size":4)"));
    EXPECT_THAT(one.text, HasSubstr(R"("workers":[)"));
    EXPECT_THAT(one.text, HasSubstr(R"("oldest":[)"));
    EXPECT_THAT(one.text, HasSubstr(R"("kind":"registered")"));
    EXPECT_EQ(get("/api/pools/none").status, 404);
}

TEST_F(http_server_test, shows_what_only_a_monitor_counts_where_there_is_one) {
    pool_->executor()->submit([] {}).get();
    ASSERT_TRUE(eventually([&] { return pool_->monitor()->metrics().threads_started == 1; }));
    const auto counts = R"("run_timeouts":0,"queue_timeouts":0,"threads_started":1,)"
                        R"("threads_ended":0,"threads_failed":0)";
    EXPECT_THAT(get("/api/pools").text, HasSubstr(counts));
    EXPECT_THAT(get("/api/pools/orders").text, HasSubstr(counts));
    thread_pool_executor unwatched({.core_pool_size = 1});
    const auto registered = registry_.add("unwatched", unwatched);
    EXPECT_THAT(get("/api/pools/unwatched").text,
                HasSubstr(R"("run_timeouts":null,"queue_timeouts":null,"threads_started":null,)"
                          R"("threads_ended":null,"threads_failed":null)"));
}

TEST_F(http_server_test, shows_health_metrics_samples_and_the_page) {
    EXPECT_THAT(get("/healthz").text, HasSubstr(R"({"status":"ok","pools":1})"));
    EXPECT_THAT(get("/metrics").text, HasSubstr(R"(pool="orders")"));
    ASSERT_TRUE(
        eventually([&] { return get("/api/samples").text.find("orders") != std::string::npos; }));
    EXPECT_THAT(get("/api/samples?since=99999999999").text, HasSubstr(R"("times":[])"));
    EXPECT_EQ(get("/api/samples?since=x").status, 400);
    EXPECT_EQ(get("/api/history").status, 200);
    EXPECT_EQ(get("/api/alarms").status, 200);
    EXPECT_EQ(get("/api/advice").status, 200);
    const auto page = get("/");
    EXPECT_THAT(page.text, HasSubstr("text/html"));
    EXPECT_THAT(page.text, HasSubstr("<!doctype html>"));
    EXPECT_THAT(page.text, Not(HasSubstr("src=\"http"))) << "no resource from elsewhere";
}

TEST_F(http_server_test, shows_alarms_that_fire_and_those_that_are_over) {
    alarm_engine engine(registry_,
                        {.rules = {{.type = alarm_type::liveness, .threshold = 25}},
                         .interval = std::chrono::seconds(0)},
                        {});
    start({.port = 0, .alarms = &engine});
    held_task held(*pool_->executor());
    engine.check();
    const auto firing = get("/api/alarms").text;
    EXPECT_THAT(firing, HasSubstr(R"("type":"liveness","pool":"orders")"));
    EXPECT_THAT(firing, HasSubstr(R"("firing":true)"));
    EXPECT_THAT(firing, HasSubstr(R"("until":null)"));
    EXPECT_THAT(get("/api/pools").text, HasSubstr(R"("alarms":1)"));
    EXPECT_THAT(get("/metrics").text,
                HasSubstr("cadre_alarms_firing{type=\"liveness\",pool=\"orders\"} 1\n"));
    held.let_go();
    ASSERT_TRUE(eventually([&] { return pool_->snapshot().active_count == 0; }));
    engine.check();
    const auto over = get("/api/pools/orders").text;
    EXPECT_THAT(over, HasSubstr(R"("alarms":0)"));
    EXPECT_THAT(over, HasSubstr(R"("firing":false)"));
    EXPECT_THAT(over, HasSubstr("1 of 4 threads are active (threshold 25)"));
    EXPECT_THAT(get("/metrics").text,
                HasSubstr("cadre_alarms_firing{type=\"liveness\",pool=\"orders\"} 0\n"));
    server_.reset();
}

TEST_F(http_server_test, reaches_no_file) {
    for (const char* path : {"/etc/passwd", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
                             "//etc/passwd", "/api/pools/../../../etc/passwd", "/dashboard.html",
                             "/.", "/api/pools/%00", "/index.html%00"})
        EXPECT_EQ(get(path).status, 404) << path;
}

TEST_F(http_server_test, refuses_a_foreign_host_or_origin) {
    EXPECT_EQ(send("GET /api/pools HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 403);
    EXPECT_EQ(send("GET /api/pools HTTP/1.1\r\n\r\n").status, 403);
    EXPECT_EQ(patch("/api/pools/orders", "{}", "Origin: http://evil.example\r\n").status, 403);
    EXPECT_EQ(patch("/api/pools/orders", "{}", "Origin: null\r\n").status, 403);
    EXPECT_EQ(patch("/api/pools/orders", "{}", "Origin: http://localhost\r\n").status, 200);
    EXPECT_EQ(patch("/api/pools/orders", "{}",
                    "Origin: http://localhost\r\nOrigin: http://evil.example\r\n")
                  .status,
              403);
    start({.port = 0, .allowed_hosts = {"pools.example"}});
    EXPECT_EQ(send("GET /healthz HTTP/1.1\r\nHost: pools.example\r\n\r\n").status, 200);
}

TEST_F(http_server_test, takes_the_host_of_a_target_in_absolute_form) {
    const auto ask = [&](const std::string& target, const std::string& host) {
        return send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n").status;
    };
    EXPECT_EQ(ask("http://localhost:1234/api/pools/orders", "localhost"), 200);
    EXPECT_EQ(ask("http://localhost/api/pools/orders", "evil.example"), 200);
    EXPECT_EQ(ask("http://evil.example/api/pools/orders", "localhost"), 403);
    EXPECT_EQ(ask("http://me@localhost/api/pools/orders", "localhost"), 404);
}

TEST_F(http_server_test, changes_nothing_without_the_token) {
    const std::string body = R"({"core_pool_size":3})";
    for (const std::string header :
         {"", "Authorization: Bearer wrong\r\n", "Authorization: Bearer \r\n",
          "Authorization: Basic YTpi\r\n"}) {
        EXPECT_EQ(change("PATCH", "/api/pools/orders", body, header).status, 401) << header;
        EXPECT_EQ(change("PATCH", "/api/pools/orders?dry_run=true", body, header).status, 401);
        EXPECT_EQ(change("PATCH", "/api/pools", "{}", header).status, 401);
        EXPECT_EQ(change("POST", "/api/pools/orders/rollback", "{}", header).status, 401);
        EXPECT_EQ(change("POST", "/api/session", "{}", header).status, 401);
    }
    EXPECT_THAT(log(), HasSubstr("refused to 127.0.0.1"));
    start({.port = 0});
    EXPECT_EQ(patch("/api/pools/orders", body).status, 403) << "not switched on";
    EXPECT_EQ(pool_->settings().core_pool_size, 2);
}

// With a clock of its own: a hundred requests may take longer than those ten seconds.
TEST_F(http_server_test, does_not_listen_to_who_guesses_tokens) {
    const detail::pool_sampler sampler(registry_, 1h);
    const http_server_options options{.token = token, .log = [](const std::string&) {}};
    auto now = std::chrono::steady_clock::now();
    const detail::http_api api(registry_, sampler, options, [&] { return now; });
    detail::http_request asked{.method = "POST",
                               .path = "/api/session",
                               .host = "localhost",
                               .content_type = "application/json",
                               .body = "{}",
                               .peer = "127.0.0.1"};
    const auto status_with = [&](const std::string& sent) {
        asked.authorization = "Bearer " + sent;
        return api.answer(asked).status;
    };
    for (int i = 0; i < 100; ++i) ASSERT_EQ(status_with("wrong"), 401) << i;
    now += 9s;
    EXPECT_EQ(status_with("wrong"), 429);
    EXPECT_EQ(status_with(token), 429) << "a right one neither";
    const auto look = [&](const std::string& path) {
        return api.answer({.method = "GET", .path = path, .host = "localhost"});
    };
    EXPECT_EQ(look("/healthz").status, 200);
    EXPECT_THAT(look("/metrics").body, HasSubstr("cadre_http_wrong_tokens_total 100\n"));
    asked.peer = "127.0.0.2";
    EXPECT_EQ(status_with(token), 200) << "who has guessed nothing";
    asked.peer = "127.0.0.1";
    now += 1s;
    EXPECT_EQ(status_with(token), 200) << "the ten seconds are over";
}

TEST_F(http_server_test, previews_a_rollback_that_is_further_than_a_step) {
    const auto before = pool_->revision();
    pool_->reconfigure({.maximum_pool_size = 30});
    registry_.set_rails({.max_step = 4});
    const auto answer = change("POST", "/api/pools/orders/rollback?dry_run=true",
                               R"({"revision":)" + std::to_string(before) + "}",
                               "Authorization: Bearer " + token + "\r\n");
    EXPECT_EQ(answer.status, 200) << answer.text;
    EXPECT_EQ(pool_->settings().maximum_pool_size, 30);
}

TEST_F(http_server_test, tells_the_log_of_changes_that_are_refused) {
    patch("/api/pools/orders", R"({"core_pool_size":-1})");
    EXPECT_THAT(log(), HasSubstr("127.0.0.1 was refused PATCH /api/pools/orders: pool 'orders'"));
}

TEST_F(http_server_test, tells_the_log_of_no_change_where_there_was_none) {
    EXPECT_EQ(patch("/api/pools/orders", R"({"core_pool_size":2})").status, 200);
    EXPECT_EQ(log(), "");
}

TEST_F(http_server_test, has_every_refused_change_in_the_history) {
    const auto refusals = [&] {
        std::vector<std::string> all;
        for (const auto& record : registry_.history())
            if (record.kind == change_kind::refused) {
                EXPECT_EQ(record.origin.source, "http");
                EXPECT_EQ(record.origin.author, "127.0.0.1");
                all.push_back(record.pool + ": " + record.error);
            }
        return all;
    };
    const auto roll_back = [&](const std::string& path) {
        return change("POST", path, R"({"revision":99})", "Authorization: Bearer " + token + "\r\n")
            .status;
    };
    const auto all_of_them = [&](const std::string& dry) {
        EXPECT_EQ(patch("/api/pools/orders" + dry, R"({"no_such_setting":1})").status, 422);
        EXPECT_EQ(patch("/api/pools/orders" + dry, R"({"core_pool_size":1.5})").status, 422);
        EXPECT_EQ(patch("/api/pools/orders" + dry, R"({"core_pool_size":1000000000})").status, 422);
        EXPECT_EQ(patch("/api/pools/orders" + dry, R"({"core_pool_size":-1})").status, 422);
        EXPECT_EQ(patch("/api/pools/none" + dry, "{}").status, 404);
        EXPECT_EQ(patch("/api/pools" + dry, R"({"pools":{"nor":{}}})").status, 404);
        EXPECT_EQ(roll_back("/api/pools/orders/rollback" + dry), 422);
        EXPECT_EQ(roll_back("/api/pools/neither/rollback" + dry), 404);
    };
    all_of_them("?dry_run=true");
    EXPECT_EQ(patch("/api/pools/orders", "no JSON").status, 400);
    EXPECT_EQ(change("PATCH", "/api/pools/orders", R"({"core_pool_size":1.5})", "").status, 401);
    EXPECT_EQ(change("PATCH", "/api/pools/orders", R"({"core_pool_size":1.5})",
                     "Authorization: Bearer wrong\r\n")
                  .status,
              401);
    EXPECT_THAT(refusals(), ::testing::IsEmpty());
    all_of_them("");
    EXPECT_THAT(
        refusals(),
        ::testing::ElementsAre(HasSubstr("orders: field (no_such_setting)"),
                               HasSubstr("orders: core_pool_size: must be a"),
                               HasSubstr("orders: core_pool_size (1000000000) is above"),
                               HasSubstr("orders: pool"), R"(none: no pool is named "none")",
                               R"(nor: no pool is named "nor")", HasSubstr("orders: revision (99)"),
                               R"(neither: no pool is named "neither")"));
    EXPECT_THAT(log(), HasSubstr(R"(/api/pools/none: no pool is named "none")"));
}

TEST_F(http_server_test, keeps_who_made_a_change_and_why) {
    const auto with = [&](const std::string& headers) {
        return patch("/api/pools/orders", R"({"core_pool_size":3})", headers).status;
    };
    for (const std::string& wrong :
         {"Cadre-Author: " + std::string(65, 'a'), std::string("Cadre-Author: \xff"),
          "Cadre-Comment: " + std::string(257, 'c'), std::string("Cadre-Comment: a\xc2\x9b b")})
        EXPECT_EQ(with(wrong + "\r\n"), 400) << wrong;
    EXPECT_EQ(pool_->settings().core_pool_size, 2);
    EXPECT_EQ(with("Cadre-Author: Zoë\r\nCadre-Comment: too many rejects\r\n"), 200);
    const auto origin = registry_.history().back().origin;
    EXPECT_EQ(origin.author, "Zoë (127.0.0.1)");
    EXPECT_EQ(origin.comment, "too many rejects");
    EXPECT_THAT(log(), HasSubstr("Zoë (127.0.0.1) changed orders"));
    EXPECT_EQ(patch("/api/pools", R"({"pools":{"orders":{"core_pool_size":-1}}})",
                    "Cadre-Author: ann\r\n")
                  .status,
              422);
    EXPECT_EQ(registry_.history().back().origin.author, "ann (127.0.0.1)");
}

TEST_F(http_server_test, previews_applies_and_rolls_back) {
    const auto before = pool_->revision();
    const std::string body = R"({"core_pool_size":3,"maximum_pool_size":"6","keep_alive":"5s"})";

    const auto preview = patch("/api/pools/orders?dry_run=true", body);
    EXPECT_EQ(preview.status, 200);
    EXPECT_THAT(preview.text, HasSubstr(R"({"field":"core_pool_size","before":"2","after":"3"})"));
    EXPECT_EQ(pool_->settings().core_pool_size, 2);

    const auto applied = patch("/api/pools/orders", body);
    EXPECT_EQ(applied.status, 200);
    EXPECT_EQ(pool_->settings().core_pool_size, 3);
    EXPECT_EQ(pool_->settings().maximum_pool_size, 6);
    EXPECT_EQ(registry_.history().back().origin.source, "http");
    EXPECT_EQ(registry_.history().back().origin.author, "127.0.0.1");
    EXPECT_THAT(log(), HasSubstr("127.0.0.1 changed orders"));
    EXPECT_THAT(log(), HasSubstr("core_pool_size: 2 -> 3"));

    const auto back = R"({"revision":)" + std::to_string(before) + "}";
    const auto dry = change("POST", "/api/pools/orders/rollback?dry_run=1", back,
                            "Authorization: Bearer " + token + "\r\n");
    EXPECT_THAT(dry.text, HasSubstr(R"("after":"2")"));
    EXPECT_EQ(pool_->settings().core_pool_size, 3);
    EXPECT_EQ(change("POST", "/api/pools/orders/rollback", back,
                     "Authorization: Bearer " + token + "\r\n")
                  .status,
              200);
    EXPECT_EQ(pool_->settings().core_pool_size, 2);
}

TEST_F(http_server_test, changes_nothing_if_it_may_have_been_meant_as_a_preview) {
    for (const char* unclear : {"?dry_run", "?dry_run=", "?dryrun=true", "?Dry_Run=true",
                                "?dry_run=false&dry_run=true", "?dry_run=true&verbose=1"})
        EXPECT_EQ(
            patch(std::string("/api/pools/orders") + unclear, R"({"core_pool_size":3})").status,
            400)
            << unclear;
    EXPECT_EQ(pool_->settings().core_pool_size, 2);
}

TEST_F(http_server_test, changes_several_pools_or_none) {
    registry_.create({.name = "mail", .settings = {.core_pool_size = 1, .maximum_pool_size = 1}});
    EXPECT_EQ(patch("/api/pools", R"({"pools":{"orders":{"core_pool_size":3},
                                              "mail":{"core_pool_size":5}}})")
                  .status,
              422)
        << "5 is above the maximum of mail";
    EXPECT_EQ(pool_->settings().core_pool_size, 2);
    const auto done = patch("/api/pools", R"({"pools":{"orders":{"core_pool_size":3},
                                              "mail":{"maximum_pool_size":5}}})");
    EXPECT_EQ(done.status, 200) << done.text;
    EXPECT_EQ(pool_->settings().core_pool_size, 3);
    EXPECT_EQ(patch("/api/pools", R"({"pools":{"none":{}}})").status, 404);
    EXPECT_EQ(patch("/api/pools", R"({"orders":{}})").status, 400);
}

TEST_F(http_server_test, refuses_a_billion_threads) {
    const auto many = R"({"core_pool_size":1000000000,"maximum_pool_size":1000000000})";
    EXPECT_EQ(patch("/api/pools/orders", many).status, 422);
    EXPECT_EQ(patch("/api/pools/orders?dry_run=true", many).status, 422);
    const auto several =
        patch("/api/pools", R"({"pools":{"orders":{"maximum_pool_size":100001}}})");
    EXPECT_EQ(several.status, 422);
    EXPECT_THAT(several.text, HasSubstr("maximum_pool_size (100001) is above 100000"));
    EXPECT_EQ(pool_->settings().maximum_pool_size, 4);
    // What the code gave it may be said again.
    registry_.create({.name = "cached",
                      .queue = queue_kind::synchronous,
                      .settings = {.core_pool_size = 0, .maximum_pool_size = 2'000'000'000}});
    EXPECT_EQ(
        patch("/api/pools/cached", R"({"maximum_pool_size":2000000000,"keep_alive":"1s"})").status,
        200);
}

TEST_F(http_server_test, says_what_is_wrong_with_a_change) {
    const auto wrong = patch("/api/pools/orders", R"({"core_pool_size":-1})");
    EXPECT_EQ(wrong.status, 422);
    EXPECT_THAT(wrong.text, HasSubstr("core_pool_size"));
    EXPECT_EQ(patch("/api/pools/orders", R"({"no_such_setting":1})").status, 422);
    const auto half = patch("/api/pools/orders", R"({"core_pool_size":1.5})");
    EXPECT_EQ(half.status, 422);
    EXPECT_THAT(half.text, HasSubstr("a text, not 1.5"));
    EXPECT_EQ(patch("/api/pools/orders", R"({"core_pool_size":{}})").status, 422);
    EXPECT_EQ(patch("/api/pools/orders", "not JSON").status, 400);
    EXPECT_EQ(patch("/api/pools/orders", "[]").status, 400);
    EXPECT_EQ(patch("/api/pools/orders", std::string(5000, '[')).status, 400);
    EXPECT_EQ(patch("/api/pools/orders?dry_run=perhaps", "{}").status, 400);
    EXPECT_EQ(patch("/api/pools/none", "{}").status, 404);
    EXPECT_EQ(patch("/api/nothing", "{}").status, 404);
    const auto form = send(
        "PATCH /api/pools/orders HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
        "Authorization: Bearer " +
        token + "\r\nContent-Length: 2\r\n\r\n{}");
    EXPECT_EQ(form.status, 400);
    EXPECT_EQ(pool_->settings().core_pool_size, 2);
}

TEST_F(http_server_test, refuses_a_key_that_is_there_twice) {
    const auto twice = patch("/api/pools/orders", R"({"core_pool_size":3,"core_pool_size":4})");
    EXPECT_EQ(twice.status, 400);
    EXPECT_THAT(twice.text, HasSubstr("core_pool_size"));
    EXPECT_EQ(patch("/api/pools", R"({"pools":{"orders":{},"orders":{}}})").status, 400);
    EXPECT_EQ(pool_->settings().core_pool_size, 2);
    registry_.create({.name = "mail"});
    const auto of_two = R"({"pools":{"orders":{"core_pool_size":1},"mail":{"core_pool_size":1}}})";
    EXPECT_EQ(patch("/api/pools?dry_run=true", of_two).status, 200);
}

TEST_F(http_server_test, refuses_a_change_to_what_somebody_else_has_changed) {
    const auto seen = std::to_string(pool_->revision());
    pool_->reconfigure({.core_pool_size = 1});
    EXPECT_EQ(
        patch("/api/pools/orders", R"({"core_pool_size":3})", "If-Match: \"" + seen + "\"\r\n")
            .status,
        409);
    EXPECT_EQ(patch("/api/pools/orders", "{}", "If-Match: x\r\n").status, 400);
    EXPECT_EQ(pool_->settings().core_pool_size, 1);
}

TEST_F(http_server_test, refuses_the_preview_of_what_it_would_refuse) {
    const auto seen = std::to_string(pool_->revision());
    const auto if_seen = "If-Match: \"" + seen + "\"\r\n";
    const auto preview = "/api/pools/orders?dry_run=true";
    EXPECT_EQ(patch(preview, R"({"core_pool_size":3})", if_seen).status, 200);
    pool_->reconfigure({.core_pool_size = 1});
    EXPECT_EQ(patch(preview, R"({"core_pool_size":3})", if_seen).status, 409);
    EXPECT_EQ(patch(preview, R"({"core_pool_size":3})", "If-Match: x\r\n").status, 400);
    EXPECT_EQ(
        change("POST", "/api/pools/orders/rollback?dry_run=true", "{\"revision\":" + seen + "}",
               "Authorization: Bearer " + token + "\r\n" + if_seen)
            .status,
        409);
}

TEST_F(http_server_test, refuses_a_revision_of_several_pools_instead_of_ignoring_it) {
    const auto both = R"({"pools":{"orders":{"core_pool_size":1}}})";
    EXPECT_EQ(patch("/api/pools", both, "If-Match: \"7\"\r\n").status, 400);
    EXPECT_EQ(pool_->settings().core_pool_size, 2);
}

TEST_F(http_server_test, answers_ten_thousand_requests_while_its_pools_work) {
    // The parts of a server, but one that waits for a client that gets no processor.
    const detail::pool_sampler sampler(registry_, 1h);
    const http_server_options options;
    const detail::http_api api(registry_, sampler, options);
    const detail::http_listener listener(
        {.request_timeout = 1h, .idle_timeout = 1h},
        [&](const detail::http_request& request) { return api.answer(request); });
    auto executor = pool_->executor();
    std::atomic<bool> enough = false;
    std::atomic<int> runs = 0;
    int accepted = 0;
    std::thread submitting([&] {
        while (!enough) {
            try {
                executor->execute([&] { ++runs; });
                ++accepted;
            } catch (const cadre::rejected_execution&) {
                std::this_thread::yield();
            }
        }
    });
    constexpr int clients = 4;
    std::atomic<int> good = 0;
    std::vector<std::thread> asking;
    for (int c = 0; c < clients; ++c)
        asking.emplace_back([&, c] {
            for (int batch = 0; batch < 25; ++batch) {
                raw_http client(listener.port());
                for (int i = 0; i < 100; ++i) {
                    const char* path = (c + i) % 3 == 0 ? "/metrics" : "/api/pools";
                    client.send(std::string("GET ") + path +
                                " HTTP/1.1\r\nHost: localhost\r\n\r\n");
                    if (raw_http::status(client.read_answer()) == 200) ++good;
                }
            }
        });
    for (auto& thread : asking) thread.join();
    const int meanwhile = runs;
    enough = true;
    submitting.join();
    EXPECT_EQ(good, clients * 25 * 100);
    EXPECT_GT(meanwhile, good) << "whoever looks holds up those who work";
    EXPECT_TRUE(testing::eventually([&] { return runs == accepted; }));
}

TEST_F(http_server_test, refuses_a_token_that_can_be_guessed) {
    EXPECT_THROW(http_server(registry_, {.port = 0, .token = "short"}), std::invalid_argument);
    EXPECT_THROW(http_server(registry_, {.port = 0, .sample_interval = std::chrono::seconds(0)}),
                 std::invalid_argument);
}

}  // namespace http_server_tests
}  // namespace cadre::manage
