// SPDX-License-Identifier: Apache-2.0
#include "manage/atomic_file.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "support/fake_root.hpp"

namespace cadre::manage::detail {
namespace {

TEST(small_file, is_read_up_to_a_limit_and_not_beyond) {
    const testing::fake_root root;
    for (const std::size_t size : std::initializer_list<std::size_t>{1, 4095, 4096, 4097, 20'000}) {
        const std::string text(size, 'x');
        root.write("file", text);
        const auto file = root.path() / "file";
        EXPECT_EQ(read_small_file(file, size), text);
        EXPECT_EQ(read_small_file(file, size - 1), std::nullopt);
    }
}

TEST(small_file, takes_no_room_for_the_largest_there_may_be) {
    const testing::fake_root root;
    root.write("file", "few");
    const auto read = read_small_file(root.path() / "file", std::size_t{32} << 20);
    ASSERT_TRUE(read);
    EXPECT_LT(read->capacity(), 1000U);
}

TEST(small_file, that_is_no_file_has_no_text) {
    const testing::fake_root root;
    EXPECT_EQ(read_small_file(root.path(), 1000), std::nullopt);
    EXPECT_EQ(read_small_file(root.path() / "none", 1000), std::nullopt);
}

}  // namespace
}  // namespace cadre::manage::detail
