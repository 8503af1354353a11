// SPDX-License-Identifier: Apache-2.0
#include "cadrectl/commands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <latch>
#include <sstream>

#include <unistd.h>

#include "cadrectl/table.hpp"
#include "support/pools.hpp"
#include <cadre/manage/http_server.hpp>

namespace cadre::cadrectl {

using cadre::manage::http_server;
using cadre::manage::pool_registry;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace {

const std::string token = "a token for tests only";

class cadrectl_test : public ::testing::Test {
protected:
    ~cadrectl_test() override { std::filesystem::remove(file_); }

    context as(bool json_wanted = false) { return {client_, out_, json_wanted}; }
    std::string output() { return std::exchange(out_, std::ostringstream()).str(); }
    const std::string& document(const std::string& text) {
        std::ofstream(file_) << text;
        return file_;
    }
    template <class Call>
    static int code_of(Call call) {
        try {
            return call();
        } catch (const failure& ended) {
            return ended.code();
        }
    }

    pool_registry registry_;
    const std::shared_ptr<cadre::manage::managed_pool> pool_ = registry_.create(
        {.name = "orders",
         .settings = {.core_pool_size = 2, .maximum_pool_size = 4, .queue_capacity = 100}});
    const http_server server_{registry_,
                              {.port = 0, .token = token, .log = [](const std::string&) {}}};
    const client client_{server_.url(), token, 30};
    const std::string file_ = std::filesystem::temp_directory_path() /
                              ("cadrectl_test_" + std::to_string(::getpid()) + ".yaml");
    std::ostringstream out_;
};

}  // namespace

TEST_F(cadrectl_test, lists_and_shows_pools) {
    EXPECT_EQ(list(as()), success);
    EXPECT_THAT(output(), ::testing::ContainsRegex("orders +running +0/4"));
    EXPECT_EQ(show(as(), "orders"), success);
    EXPECT_THAT(output(), AllOf(HasSubstr("core_pool_size = 2"),
                                HasSubstr("Since it was made: submitted 0, completed 0, failed 0, "
                                          "rejected 0, run_timeouts 0, queue_timeouts 0, "
                                          "threads_started 0, threads_ended 0, threads_failed 0")));
    EXPECT_EQ(list(as(true)), success);
    EXPECT_EQ(json::parse(output())["pools"][0]["name"], "orders");
    EXPECT_EQ(show(as(true), "orders"), success);
    EXPECT_EQ(json::parse(output())["settings"]["core_pool_size"], 2);
    EXPECT_EQ(code_of([&] { return show(as(), "a pool/of nobody"); }), refused);
}

TEST_F(cadrectl_test, tells_the_history_of_a_pool_that_is_gone) {
    registry_.create({.name = "mail", .settings = {.core_pool_size = 1, .maximum_pool_size = 1}});
    registry_.remove("mail");
    EXPECT_EQ(history(as(), "mail"), success);
    EXPECT_THAT(output(), HasSubstr("mail  removed"));
    EXPECT_EQ(code_of([&] { return history(as(), "nobody"); }), refused);
}

TEST_F(cadrectl_test, needs_an_address_only_to_ask) {
    const client elsewhere("https://pools.example", token, 1);
    std::ostringstream out;
    EXPECT_EQ(validate(out, false, document("pools: {orders: {core_pool_size: 1}}")), success);
    EXPECT_EQ(code_of([&] { return list({elsewhere, out, false}); }), usage);
}

TEST_F(cadrectl_test, reads_no_more_of_a_file_than_a_document_may_have) {
    const auto& file = document("");
    std::filesystem::resize_file(file, std::uintmax_t{1} << 40);  // a hole: it takes no room
    EXPECT_EQ(code_of([&] { return validate(out_, false, file); }), bad_file);
    EXPECT_EQ(validate(out_, true, file), bad_file);
    EXPECT_EQ(json::parse(output())["problems"][0], file + ": has more than 1048576 bytes");
}

TEST_F(cadrectl_test, cannot_read_a_directory) {
    std::ostringstream out;
    EXPECT_EQ(code_of([&] { return validate(out, false, std::filesystem::temp_directory_path()); }),
              bad_file);
}

TEST_F(cadrectl_test, sets_and_rolls_back) {
    EXPECT_EQ(set(as(), "orders", {"core_pool_size=3"}, true, ""), success);
    EXPECT_THAT(output(), HasSubstr("would change:\n  core_pool_size: 2 -> 3"));
    EXPECT_EQ(pool_->settings().core_pool_size, 2);
    EXPECT_EQ(set(as(), "orders", {"core_pool_size=3", "keep_alive=5s"}, false, ""), success);
    EXPECT_EQ(pool_->settings().core_pool_size, 3);
    output();
    EXPECT_EQ(rollback(as(), "orders", 0, true), success);
    EXPECT_THAT(output(), HasSubstr("core_pool_size: 3 -> 2"));
    EXPECT_EQ(rollback(as(), "orders", 0, false), success);
    EXPECT_EQ(pool_->settings().core_pool_size, 2);
    EXPECT_EQ(history(as(), ""), success);
    EXPECT_THAT(output(), HasSubstr("rolled_back by http  127.0.0.1"));
    EXPECT_EQ(history(as(true), "orders"), success);
    EXPECT_EQ(json::parse(output())["history"].size(), 3U);
}

TEST_F(cadrectl_test, says_who_makes_a_change_and_why) {
    const client ann(server_.url(), token, 30, {.author = "ann", .comment = "too many rejects"});
    EXPECT_EQ(set({ann, out_, false}, "orders", {"core_pool_size=3"}, false, ""), success);
    EXPECT_EQ(history(as(), "orders"), success);
    EXPECT_THAT(output(), HasSubstr("changed by http  ann (127.0.0.1)  too many rejects"));
    const client sly(server_.url(), token, 30, {.comment = "a\r\nIf-Match: \"1\""});
    EXPECT_EQ(code_of([&] {
                  return set({sly, out_, false}, "orders", {"core_pool_size=2"}, false, "");
              }),
              usage);
}

TEST_F(cadrectl_test, ends_with_a_code_for_each_kind_of_failure) {
    EXPECT_EQ(code_of([&] { return set(as(), "orders", {"nonsense"}, false, ""); }), usage);
    EXPECT_EQ(code_of([&] {
                  return set(as(), "orders", {"core_pool_size=1", "core_pool_size=2"}, true, "");
              }),
              usage);
    EXPECT_EQ(code_of([&] { return set(as(), "orders", {"core_pool_size=99"}, false, ""); }),
              refused);
    EXPECT_EQ(code_of([&] { return set(as(), "orders", {"core_pool_size=1"}, false, "999"); }),
              refused);
    const client stranger(server_.url(), "a wrong token", 30);
    EXPECT_EQ(code_of([&] {
                  return set({stranger, out_}, "orders", {"core_pool_size=1"}, false, "");
              }),
              refused);
    const client torn(server_.url(), token + "\n", 30);
    EXPECT_EQ(code_of([&] {
                  return set({torn, out_}, "orders", {"core_pool_size=1"}, false, "");
              }),
              usage);
    const client lost("http://127.0.0.1:1", "", 30);
    EXPECT_EQ(code_of([&] { return list({lost, out_}); }), unreachable);
    EXPECT_EQ(cadre::testing::message_of<failure>([&] {
                  list({lost, out_});
              }),
              "no answer from http://127.0.0.1:1: nobody listens there, or it cannot be reached");
    EXPECT_EQ(code_of([&] { return client("ftp://x", "", 1).get("/"), success; }), usage);
    EXPECT_EQ(code_of([&] { return validate(out_, false, "/no/such/file.yaml"); }), bad_file);
    EXPECT_EQ(pool_->settings().core_pool_size, 2);
}

TEST_F(cadrectl_test, validates_diffs_and_applies_a_document) {
    const auto& file =
        document("pools:\n  orders:\n    core_pool_size: 3\n    queue_capacity: 50\n");
    EXPECT_EQ(validate(out_, false, file), success);
    EXPECT_THAT(output(), HasSubstr("valid, 1 pools"));
    EXPECT_EQ(diff(as(), file), differs);
    EXPECT_THAT(output(), HasSubstr("core_pool_size: 2 -> 3"));
    EXPECT_EQ(apply(as(), file, true), success);
    EXPECT_EQ(pool_->settings().core_pool_size, 2);
    EXPECT_EQ(apply(as(), file, false), success);
    EXPECT_EQ(pool_->settings().core_pool_size, 3);
    EXPECT_EQ(pool_->settings().queue_capacity, 50U);
    output();
    EXPECT_EQ(diff(as(true), file), success) << "nothing differs any more";
    EXPECT_EQ(json::parse(output())["pools"][0]["changes"].size(), 0U);
}

TEST_F(cadrectl_test, takes_a_key_that_a_document_does_not_have_for_what_the_code_said) {
    using namespace std::chrono_literals;
    pool_->reconfigure({.keep_alive = 7s, .run_timeout = 1s});
    const auto& file = document("pools: {orders: {core_pool_size: 2}}");
    EXPECT_EQ(diff(as(), file), differs);
    const auto text = output();
    EXPECT_THAT(text, HasSubstr("keep_alive: 7s -> "));
    EXPECT_THAT(text, HasSubstr("run_timeout: 1s -> "));
    EXPECT_THAT(text, ::testing::Not(HasSubstr("maximum_pool_size")));
    EXPECT_EQ(apply(as(), file, false), success);
    EXPECT_NE(pool_->settings().keep_alive, 7s);
    output();
    EXPECT_EQ(diff(as(), file), success);
    EXPECT_EQ(output(), "");
}

TEST_F(cadrectl_test, does_not_call_a_difference_what_a_pool_cannot_take) {
    registry_.create({.name = "jobs", .kind = manage::pool_kind::scheduled});
    const auto& file = document("pools: {jobs: {queue_capacity: 5}}");
    EXPECT_EQ(diff(as(), file), success);
    EXPECT_THAT(output(), HasSubstr("queue_capacity stays unbounded"));
}

TEST_F(cadrectl_test, notes_what_a_program_must_have_for_a_document) {
    const auto& file = document("pools:\n  orders: {kind: eager}\n  mail: {rejection: abotr}\n");
    EXPECT_EQ(validate(out_, false, file), success);
    const auto text = output();
    EXPECT_THAT(text, HasSubstr(":2: pools.orders.kind: eager is DynamicTp's"));
    EXPECT_THAT(text, HasSubstr(":3: pools.mail.rejection: abotr must be registered"));
}

TEST_F(cadrectl_test, tells_the_mistakes_of_a_document) {
    const auto& file = document("pools:\n  orders:\n    core_pool_size: many\n");
    EXPECT_EQ(code_of([&] { return validate(out_, false, file); }), bad_file);
    EXPECT_EQ(validate(out_, true, file), bad_file);
    const auto answer = json::parse(output());
    EXPECT_EQ(answer["valid"], false);
    EXPECT_EQ(answer["problems"],
              json::array({file + ":3: pools.orders.core_pool_size: must be a whole number, and is "
                                  "many"}));
    EXPECT_EQ(code_of([&] { return apply(as(), file, false); }), bad_file);
}

// A fuzz target found these: messages that were cut, or quoted, within a character.
TEST_F(cadrectl_test, tells_mistakes_beside_wide_characters_as_json) {
    for (std::size_t length = 55; length < 61; ++length) {
        const auto& file =
            document("pools:\n  orders:\n    core_pool_size: " + std::string(length, 'x') +
                     "\u00e4\u00e4\u00e4\u00e4\n");
        EXPECT_EQ(validate(out_, true, file), bad_file);
        EXPECT_EQ(json::parse(output())["valid"], false);
    }
}

TEST_F(cadrectl_test, refuses_arguments_that_are_not_utf_8) {
    EXPECT_EQ(code_of([&] { return set(as(), "orders", {"rejection=\xff"}, false, ""); }), usage);
}

TEST_F(cadrectl_test, watches_for_so_many_rounds_or_until_told_to_end) {
    int waits = 0;
    const auto never = [&](auto) { return ++waits < 100; };
    EXPECT_EQ(top(as(), {.rounds = 3, .wait = never}), success);
    EXPECT_EQ(waits, 2);
    EXPECT_EQ(top(as(true), {.wait = [](auto) { return false; }}), success);
    EXPECT_THAT(output(), AllOf(HasSubstr("orders"), HasSubstr(", memory "), HasSubstr("iB")));
}

TEST_F(cadrectl_test, has_a_terminal_cut_lines_that_are_too_long_for_it) {
    EXPECT_EQ(top(as(), {.on_terminal = true, .wait = [](auto) { return false; }}), success);
    EXPECT_THAT(output(),
                AllOf(::testing::StartsWith("\033[?7l"), ::testing::EndsWith("\033[?7h")));
}

TEST_F(cadrectl_test, shows_in_a_terminal_what_there_is_room_for) {
    for (const char* more : {"b", "c", "d"}) registry_.create({.name = more});
    const auto shown = [&](int rows) {
        EXPECT_EQ(
            top(as(),
                {.rounds = 1, .on_terminal = true, .rows = [rows] { return rows; }, .wait = {}}),
            success);
        const auto text = output();
        return text.substr(text.find("POOL"));
    };
    EXPECT_THAT(shown(8), AllOf(HasSubstr("\norders"), ::testing::EndsWith("\n\033[?7h")));
    const auto cut = shown(5);  // the time, nothing, the heads, a pool
    EXPECT_THAT(cut, AllOf(HasSubstr("\nb "), ::testing::EndsWith("\n... and 3 more\033[?7h")));
    EXPECT_EQ(std::count(cut.begin(), cut.end(), '\n'), 2);
    EXPECT_THAT(shown(0), HasSubstr("\norders"));
}

TEST_F(cadrectl_test, names_the_task_of_an_alarm) {
    cadre::manage::alarm_engine alarms(
        registry_,
        {.rules = {{.type = cadre::manage::alarm_type::liveness, .threshold = 25}}, .interval = {}},
        {});
    const http_server server(registry_,
                             {.port = 0, .alarms = &alarms, .log = [](const std::string&) {}});
    const client asking(server.url(), "", 30);
    std::latch begun(1);
    std::latch over(1);
    const auto busy = pool_->executor()->submit(named("copy", [&] {
        begun.count_down();
        over.wait();
    }));
    begun.wait();
    alarms.check();
    over.count_down();
    busy.wait();  // it looks at the latches
    EXPECT_EQ(show({asking, out_, false}, "orders"), success);
    EXPECT_THAT(output(),
                HasSubstr("alarm liveness: 1 of 4 threads are active (threshold 25), task copy\n"));
}

TEST_F(cadrectl_test, says_when_there_is_nothing_to_advise) {
    const auto code = advise(as(true));
    EXPECT_EQ(code, json::parse(output())["advice"].empty() ? success : differs);
}

TEST(table, gives_a_character_the_places_it_takes_in_a_terminal) {
    table t({"A", "B"});
    t.add({"注文", "1"});
    t.add({"o\u0308l", "2"});
    t.add({"\U0001F418", "3"});
    EXPECT_EQ(t.to_string(), "A     B\n注文  1\no\u0308l    2\n\U0001F418    3\n");
}

TEST(table, is_as_wide_as_it_needs_and_shows_nothing_that_a_terminal_obeys) {
    table t({"NAME", ">N"});
    t.add({"é", "1"});
    t.add({"long\033[2J", "22"});
    EXPECT_EQ(t.to_string(), "NAME       N\né          1\nlong?[2J  22\n");
    EXPECT_EQ(harmless("\xc2\x9b"
                       "2J \xc2\xa0\xc3\xa9"),
              "?2J \xc2\xa0\xc3\xa9");
    EXPECT_EQ(duration_of(0.0123), "12ms");
    EXPECT_EQ(duration_of(nullptr), "-");
    EXPECT_EQ(rate_of(2.25), "2.2");
    EXPECT_EQ(bytes_of(1023), "1023 B");
    EXPECT_EQ(bytes_of(48 << 20), "48 MiB");
    EXPECT_EQ(bytes_of(std::int64_t{5} << 40), "5.0 TiB");
    EXPECT_EQ(bytes_of(nullptr), "-");
}

}  // namespace cadre::cadrectl
