// SPDX-License-Identifier: Apache-2.0
#include "manage/process_memory.hpp"

#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>

#include "support/fake_root.hpp"

namespace cadre::manage {
namespace {

using testing::fake_root;

struct named_text {
    std::string name;
    std::string text;
};
std::optional<std::uint64_t> limit_by(const std::vector<named_text>& files) {
    const fake_root root;
    for (const auto& [name, text] : files) root.write(name, text);
    return detail::memory_of_process(root.path()).limit;
}

const std::string groups = "proc/self/cgroup";
const std::string mounted = "sys/fs/cgroup/";

TEST(process_memory, is_what_the_kernel_tells_in_pages) {
    const fake_root root;
    EXPECT_FALSE(detail::memory_of_process(root.path()).resident);
    root.write("proc/self/statm", "1000 25 3 4 0 5 0\n");
    EXPECT_EQ(detail::memory_of_process(root.path()).resident,
              25U * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    root.write("proc/self/statm", "garbage\n");
    EXPECT_FALSE(detail::memory_of_process(root.path()).resident);
}

TEST(process_memory, of_this_process_is_more_than_nothing) {
    EXPECT_GT(detail::memory_of_process().resident.value_or(0), 100'000U);
}

TEST(process_memory, has_no_limit_unless_a_control_group_has_one) {
    EXPECT_FALSE(limit_by({}));
    EXPECT_FALSE(limit_by({{groups, "0::/a\n"}}));
    for (const char* none : {"max\n", "", "garbage\n", "-1\n", "0\n", "99999999999999999999999\n"})
        EXPECT_FALSE(limit_by({{groups, "0::/a\n"}, {mounted + "a/memory.max", none}})) << none;
    for (const char* none : {"9223372036854771712\n", "9223372036854710272\n", "-1\n", "garbage\n"})
        EXPECT_FALSE(limit_by(
            {{groups, "3:memory:/a\n"}, {mounted + "memory/a/memory.limit_in_bytes", none}}))
            << none;
}

TEST(process_memory, is_limited_by_the_least_of_its_group_and_all_above) {
    EXPECT_EQ(limit_by({{groups, "0::/a/b\n"},
                        {mounted + "memory.max", "max\n"},
                        {mounted + "a/memory.max", "4096000\n"},
                        {mounted + "a/b/memory.max", "8192000\n"},
                        {mounted + "a/c/memory.max", "1\n"}}),
              4'096'000U);
    EXPECT_EQ(limit_by({{groups, "7:memory:/a/b\n4:cpu,cpuacct:/\n"},
                        {mounted + "memory/memory.limit_in_bytes", "9223372036854771712\n"},
                        {mounted + "memory/a/b/memory.limit_in_bytes", "1048576\n"},
                        {mounted + "cpu,cpuacct/memory.limit_in_bytes", "1\n"}}),
              1'048'576U);
    EXPECT_EQ(limit_by({{groups, "0::/of/the/host\n"}, {mounted + "memory.max", "512\n"}}), 512U);
}

TEST(process_memory, is_null_in_json_where_nobody_tells) {
    EXPECT_EQ(detail::dump(detail::json_of(detail::process_memory{.resident = 5})),
              R"({"resident_memory_bytes":5,"memory_limit_bytes":null})");
}

}  // namespace
}  // namespace cadre::manage
