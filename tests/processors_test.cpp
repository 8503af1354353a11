// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <sched.h>

#include <ostream>
#include <string>
#include <vector>

#include "processors.hpp"
#include "support/fake_root.hpp"
#include <cadre/thread.hpp>

namespace cadre::testing {
namespace {

struct file {
    std::string name;
    std::string text;
};
struct quota_case {
    std::string says;
    std::vector<file> files;
    int processors;  // of 8
};
std::ostream& operator<<(std::ostream& out, const quota_case& each) { return out << each.says; }

const std::string cgroup = "proc/self/cgroup";
const std::string root = "sys/fs/cgroup/";
const std::string v1 = "sys/fs/cgroup/cpu,cpuacct/";

quota_case version_2(std::string says, std::string cpu_max, int processors) {
    return {std::move(says), {{cgroup, "0::/\n"}, {root + "cpu.max", cpu_max}}, processors};
}
quota_case version_1(std::string says, std::string quota, std::string period, int processors) {
    return {std::move(says),
            {{cgroup, "3:memory:/\n4:cpu,cpuacct:/\n"},
             {v1 + "cpu.cfs_quota_us", quota},
             {v1 + "cpu.cfs_period_us", period}},
            processors};
}

class processors_within_quota : public ::testing::TestWithParam<quota_case> {};

TEST_P(processors_within_quota, are_counted) {
    const fake_root files;
    for (const auto& [name, text] : GetParam().files) files.write(name, text);
    EXPECT_EQ(detail::processors_within_quota(8, files.path()), GetParam().processors);
}

INSTANTIATE_TEST_SUITE_P(
    groups, processors_within_quota,
    ::testing::Values(
        quota_case{"no_files", {}, 8}, quota_case{"group_without_files", {{cgroup, "0::/\n"}}, 8},
        quota_case{"empty_list_of_groups", {{cgroup, ""}, {root + "cpu.max", "1 1\n"}}, 8},
        quota_case{"garbage_list_of_groups",
                   {{cgroup, "garbage\n:\n0:\n::::\n"}, {"cpu.max", "1 1\n"}},
                   8},
        version_2("v2_no_limit", "max 100000\n", 8),
        version_2("v2_whole_processors", "200000 100000\n", 2),
        version_2("v2_part_of_a_processor", "150000 100000\n", 2),
        version_2("v2_less_than_one", "1000 100000\n", 1),
        version_2("v2_more_than_allowed", "1600000 100000\n", 8),
        version_2("v2_zero_quota", "0 100000\n", 8),
        version_2("v2_negative_quota", "-1 100000\n", 8),
        version_2("v2_zero_period", "100000 0\n", 8),
        version_2("v2_negative_period", "100000 -5\n", 8), version_2("v2_no_period", "100000\n", 8),
        version_2("v2_empty", "", 8), version_2("v2_garbage", "many 100000\n", 8),
        version_2("v2_binary", "\x01\xff\x02", 8),
        version_2("v2_too_large_for_a_number", "99999999999999999999999 100000\n", 8),
        version_2("v2_largest_number", "9223372036854775807 1\n", 8),
        version_2("v2_largest_period", "1 9223372036854775807\n", 1),
        version_1("v1_no_limit", "-1\n", "100000\n", 8),
        version_1("v1_whole_processors", "300000\n", "100000\n", 3),
        version_1("v1_part_of_a_processor", "250000\n", "100000\n", 3),
        version_1("v1_zero_quota", "0\n", "100000\n", 8),
        version_1("v1_zero_period", "100000\n", "0\n", 8),
        version_1("v1_negative_period", "100000\n", "-100000\n", 8),
        version_1("v1_garbage_quota", "lots\n", "100000\n", 8),
        version_1("v1_garbage_period", "100000\n", "often\n", 8), version_1("v1_empty", "", "", 8),
        quota_case{"v1_quota_without_period",
                   {{cgroup, "4:cpu,cpuacct:/\n"}, {v1 + "cpu.cfs_quota_us", "100000\n"}},
                   8},
        quota_case{"v1_mounted_as_cpu",
                   {{cgroup, "4:cpu,cpuacct:/\n"},
                    {root + "cpu/cpu.cfs_quota_us", "100000\n"},
                    {root + "cpu/cpu.cfs_period_us", "100000\n"}},
                   1},
        quota_case{"v1_other_controllers_do_not_count",
                   {{cgroup, "5:cpuset:/\n6:cpuacct:/\n"},
                    {root + "cpuset/cpu.cfs_quota_us", "100000\n"},
                    {root + "cpuset/cpu.cfs_period_us", "100000\n"},
                    {root + "cpuacct/cpu.cfs_quota_us", "100000\n"},
                    {root + "cpuacct/cpu.cfs_period_us", "100000\n"}},
                   8},
        quota_case{"nested_group_binds",
                   {{cgroup, "0::/a/b\n"}, {root + "a/b/cpu.max", "100000 100000\n"}},
                   1},
        quota_case{"group_above_binds",
                   {{cgroup, "0::/a/b\n"},
                    {root + "a/cpu.max", "300000 100000\n"},
                    {root + "a/b/cpu.max", "500000 100000\n"}},
                   3},
        quota_case{"tightest_group_binds",
                   {{cgroup, "0::/a/b\n"},
                    {root + "cpu.max", "400000 100000\n"},
                    {root + "a/cpu.max", "max 100000\n"},
                    {root + "a/b/cpu.max", "600000 100000\n"}},
                   4},
        quota_case{"group_beside_does_not_bind",
                   {{cgroup, "0::/a/b\n"}, {root + "a/c/cpu.max", "100000 100000\n"}},
                   8},
        quota_case{"group_of_the_host_inside_a_container",
                   {{cgroup, "0::/docker/1234\n"}, {root + "cpu.max", "200000 100000\n"}},
                   2},
        quota_case{"v1_group_above_binds",
                   {{cgroup, "4:cpu,cpuacct:/a/b\n"},
                    {v1 + "a/cpu.cfs_quota_us", "200000\n"},
                    {v1 + "a/cpu.cfs_period_us", "100000\n"}},
                   2},
        quota_case{"both_versions",
                   {{cgroup, "4:cpu,cpuacct:/\n0::/\n"},
                    {v1 + "cpu.cfs_quota_us", "300000\n"},
                    {v1 + "cpu.cfs_period_us", "100000\n"},
                    {root + "unified/cpu.max", "500000 100000\n"}},
                   3},
        quota_case{"group_with_a_colon_in_its_name",
                   {{cgroup, "0::/a:b\n"}, {root + "a:b/cpu.max", "100000 100000\n"}},
                   1}),
    [](const auto& each) { return each.param.says; });

TEST(available_processors, are_at_least_one_whatever_is_allowed) {
    const fake_root no_files;
    EXPECT_EQ(detail::processors_within_quota(0, no_files.path()), 1);
    EXPECT_EQ(detail::processors_within_quota(-5, no_files.path()), 1);
}

TEST(available_processors, are_within_the_affinity_mask) {
    cpu_set_t allowed;
    ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    EXPECT_GE(available_processors(), 1);
    EXPECT_LE(available_processors(), CPU_COUNT(&allowed));
    int first = 0;
    while (!CPU_ISSET(first, &allowed)) ++first;
    int on_one = 0;
    cadre::thread({.cpus = {first}}, [&] { on_one = available_processors(); }).join();
    EXPECT_EQ(on_one, 1);
}

}  // namespace
}  // namespace cadre::testing
