// SPDX-License-Identifier: Apache-2.0
#include "manage/http_guard.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "manage/failed_guesses.hpp"

namespace cadre::manage::detail {

TEST(same_secret, is_true_for_the_secret_alone) {
    EXPECT_TRUE(same_secret("correct horse", "correct horse"));
    EXPECT_FALSE(same_secret("correct horsf", "correct horse"));
    EXPECT_FALSE(same_secret("correct", "correct horse"));
    EXPECT_FALSE(same_secret("correct horsecorrect horse", "correct horse"));
    EXPECT_FALSE(same_secret("", "correct horse"));
}

TEST(same_secret, is_never_true_without_a_secret) {
    EXPECT_FALSE(same_secret("", ""));
    EXPECT_FALSE(same_secret("x", ""));
}

TEST(bearer_token, is_what_follows_the_scheme) {
    EXPECT_EQ(bearer_token("Bearer abc"), "abc");
    EXPECT_EQ(bearer_token("bEARER abc"), "abc");
    EXPECT_EQ(bearer_token("Bearer "), "");
    EXPECT_EQ(bearer_token("Basic abc"), "");
    EXPECT_EQ(bearer_token("abc"), "");
    EXPECT_EQ(bearer_token(""), "");
}

TEST(host_name, is_without_port_and_brackets) {
    EXPECT_EQ(host_name("LocalHost:7077"), "localhost");
    EXPECT_EQ(host_name("127.0.0.1"), "127.0.0.1");
    EXPECT_EQ(host_name("[::1]:7077"), "::1");
}

TEST(host_name, is_empty_for_what_is_no_host) {
    for (const char* bad : {"", ":80", "a b", "localhost:", "localhost:x", "localhost:123456",
                            "[::1", "[::1]x", "[]", "a/b", "user@localhost", "localhost:80:80"})
        EXPECT_EQ(host_name(bad), "") << bad;
    EXPECT_EQ(host_name(std::string(300, 'a')), "");
}

TEST(host_is_known, knows_loopback_and_the_names_it_was_given) {
    EXPECT_TRUE(host_is_known("127.0.0.1:7077", {}));
    EXPECT_TRUE(host_is_known("localhost", {}));
    EXPECT_TRUE(host_is_known("[::1]:1", {}));
    EXPECT_TRUE(host_is_known("Pools.Example:80", {"pools.example"}));
    EXPECT_TRUE(host_is_known("pools.example:80", {"Pools.Example"}));
    EXPECT_FALSE(host_is_known("evil.example:7077", {"pools.example"}));
    EXPECT_FALSE(host_is_known("localhost.evil.example", {}));
    EXPECT_FALSE(host_is_known("127.0.0.1.evil.example", {}));
}

TEST(origin_is_ours, takes_the_page_that_was_served_here) {
    EXPECT_TRUE(origin_is_ours("", "localhost:7077"));
    EXPECT_TRUE(origin_is_ours("http://localhost:7077", "localhost:7077"));
    EXPECT_TRUE(origin_is_ours("https://Pools.example", "pools.example"));
    EXPECT_FALSE(origin_is_ours("http://localhost:8080", "localhost:7077"));
    EXPECT_FALSE(origin_is_ours("http://localhost.evil.example", "localhost"));
    EXPECT_FALSE(origin_is_ours("http://localhost:70770", "localhost:7077"));
    EXPECT_FALSE(origin_is_ours("http://evil.example", "localhost:7077"));
    EXPECT_FALSE(origin_is_ours("null", "localhost:7077"));
    EXPECT_FALSE(origin_is_ours("file://localhost:7077", "localhost:7077"));
}

TEST(refusal_of, echoes_nothing_that_was_sent) {
    const auto refusal = refusal_of({.host = "evil.example"}, {});
    EXPECT_EQ(refusal.status, 403);
    EXPECT_EQ(refusal.body.find("evil"), std::string::npos);
    EXPECT_EQ(refusal_of({.host = "localhost", .origin = "http://evil.example"}, {}).status, 403);
    EXPECT_EQ(refusal_of({.host = "localhost"}, {}).status, 0);
}

class guesses_of_many : public ::testing::Test {
protected:
    void guess(const std::string& peer, int times) {
        for (int i = 0; i < times; ++i) guesses.add(peer, now);
    }
    bool is_silenced(const std::string& peer) const { return guesses.is_silenced(peer, now); }

    failed_guesses guesses;
    failed_guesses::time now = failed_guesses::time(std::chrono::hours(1));
};

TEST_F(guesses_of_many, are_counted_anew_after_each_window) {
    for (int window = 0; window < 3; ++window) {
        guess("a", failed_guesses::most - 1);
        EXPECT_FALSE(is_silenced("a"));
        guess("a", 1);
        EXPECT_TRUE(is_silenced("a"));
        EXPECT_FALSE(is_silenced("b"));
        now += failed_guesses::window;
        EXPECT_FALSE(is_silenced("a"));
    }
}

TEST_F(guesses_of_many, are_of_one_another_once_there_are_too_many_peers) {
    for (std::size_t i = 0; i < failed_guesses::most_peers; ++i) guess(std::to_string(i), 1);
    guess("late", failed_guesses::most / 2);
    guess("later", failed_guesses::most / 2);
    EXPECT_TRUE(is_silenced("late"));
    EXPECT_TRUE(is_silenced("never seen"));
    EXPECT_FALSE(is_silenced("0"));
    now += failed_guesses::window;
    guess("late", 1);
    guess("later", failed_guesses::most);
    EXPECT_TRUE(is_silenced("later")) << "there is room for it again";
    EXPECT_FALSE(is_silenced("late"));
}

}  // namespace cadre::manage::detail
