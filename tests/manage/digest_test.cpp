// SPDX-License-Identifier: Apache-2.0
#include "manage/digest.hpp"

#include <string>

#include <gtest/gtest.h>

namespace cadre::manage::detail {
namespace {

// The examples of FIPS 180, RFC 1321 and RFC 2202.
TEST(digest, is_that_of_the_standards) {
    const std::string long_text = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    EXPECT_EQ(to_hex(sha1("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(to_hex(sha1(long_text)), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    EXPECT_EQ(to_hex(sha256("abc")),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(to_hex(sha256(long_text)),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(to_hex(md5("")), "d41d8cd98f00b204e9800998ecf8427e");
    EXPECT_EQ(to_hex(md5("abcdefghijklmnopqrstuvwxyz")), "c3fcd3d76192e4007dfb496cca67e13b");
    EXPECT_EQ(to_hex(hmac_sha1("Jefe", "what do ya want for nothing?")),
              "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
    EXPECT_EQ(to_hex(hmac_sha1(std::string(80, '\xaa'),
                               "Test Using Larger Than Block-Size Key - Hash Key First")),
              "aa4ae5e15272d00e95705637ce8a3b55ed402112");
}

TEST(digest, reads_and_writes_base64) {
    const std::pair<std::string, std::string> pairs[] = {
        {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
        {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {std::string("\0\xff\xfe", 3), "AP/+"}};
    for (const auto& [plain, encoded] : pairs) {
        EXPECT_EQ(to_base64(plain), encoded);
        EXPECT_EQ(from_base64(encoded), plain);
    }
    for (const std::string text :
         {"Zg=", "Z===", "Zg==Zg==", "Z-8=", "====", "Zm8\n", "Zh==", "Zm9=", "WYWIIY=="})
        EXPECT_EQ(from_base64(text), std::nullopt) << text;
}

TEST(digest, encodes_for_urls_and_json) {
    EXPECT_EQ(percent_encoded("a b/\x01+é~"), "a%20b%2F%01%2B%C3%A9~");
    EXPECT_EQ(json_quoted("a\"\\\n中"), "\"a\\\"\\\\\\u000a中\"");
}

}  // namespace
}  // namespace cadre::manage::detail
