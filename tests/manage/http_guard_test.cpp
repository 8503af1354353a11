// SPDX-License-Identifier: Apache-2.0
#include "manage/http_guard.hpp"

#include <gtest/gtest.h>

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
    EXPECT_FALSE(host_is_known("evil.example:7077", {"pools.example"}));
    EXPECT_FALSE(host_is_known("localhost.evil.example", {}));
    EXPECT_FALSE(host_is_known("127.0.0.1.evil.example", {}));
}

TEST(origin_is_ours, takes_the_page_that_was_served_here) {
    EXPECT_TRUE(origin_is_ours("", "localhost:7077"));
    EXPECT_TRUE(origin_is_ours("http://localhost:7077", "localhost:7077"));
    EXPECT_TRUE(origin_is_ours("https://Pools.example", "pools.example"));
    EXPECT_FALSE(origin_is_ours("http://localhost:8080", "localhost:7077"));
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

}  // namespace cadre::manage::detail
