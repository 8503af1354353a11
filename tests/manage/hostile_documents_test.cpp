// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cadre/manage/config_manager.hpp>
#include <cadre/manage/file_source.hpp>

#include "support/eventually.hpp"

// What somebody may write into a document at three in the morning, or on purpose: each is refused
// whole, with the place and the rule, and the pool keeps what it had.

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using testing::eventually;
using ::testing::HasSubstr;
using format = document_format;

/// Gives what it is told to, on the thread that tells.
class told_source final : public config_source {
public:
    const std::string& name() const override { return name_; }
    void start(listener to) override { listener_ = std::move(to); }
    void stop() override {}
    source_health health() const override {
        return {.state = source_state::failing, .failures = 1};
    }
    void give(const std::string& text, format f) const {
        listener_({.text = text, .format = f, .revision = "r"});
    }

private:
    const std::string name_ = "pools";
    listener listener_;
};

class hostile_documents : public ::testing::Test {
protected:
    hostile_documents() {
        std::vector<std::unique_ptr<config_source>> sources;
        sources.push_back(std::unique_ptr<config_source>(source_));
        manager_.emplace(registry_, std::move(sources));
        manager_->start();
        source_->give("pools: {orders: {core_pool_size: 3, maximum_pool_size: 7}}", format::yaml);
    }
    /// What is said against it; nothing of it may be in force.
    std::string refusal(const std::string& text, format f) {
        source_->give(text, f);
        const auto settings = orders_->settings();
        EXPECT_EQ(settings.core_pool_size, 3);
        EXPECT_EQ(settings.maximum_pool_size, 7);
        EXPECT_EQ(registry_.pools().size(), 1U);
        EXPECT_EQ(registry_.rails().max_threads_per_pool, rails_.max_threads_per_pool);
        std::string problems;
        for (const auto& p : manager_->status().problems) problems += to_text(p) + "\n";
        return problems;
    }
    /// A setting of the pool in the third line, beside two good ones and a pool to be made.
    std::string refusal_of(const std::string& setting) {
        return refusal("limits: {max_threads_per_pool: 50}\npools:\n  orders: {" + setting +
                           ", keep_alive: 1s}\n  new: {auto_create: true}\n",
                       format::yaml);
    }

    pool_registry registry_;
    std::shared_ptr<managed_pool> orders_ = registry_.create(
        {.name = "orders", .settings = {.core_pool_size = 1, .maximum_pool_size = 2}});
    const guard_rails rails_ = registry_.rails();
    told_source* source_ = new told_source;
    std::optional<config_manager> manager_;
};

TEST_F(hostile_documents, numbers_that_cannot_be_are_refused_with_line_key_and_value) {
    const std::string core = "pools:3: pools.orders.core_pool_size: ";
    const std::pair<std::string, std::string> values[] = {
        {"1000000000", "must be from 0 to 100000, and is 1000000000"},
        {"2147483648", "must be from 0 to 100000, and is 2147483648"},
        {"9223372036854775808", "must be from 0 to 100000, and is 9223372036854775808"},
        {"-1", "must be from 0 to 100000, and is -1"},
        {"-9223372036854775809", "must be from 0 to 100000, and is -9223372036854775809"},
        {std::string(1000, '9'), "must be from 0 to 100000"},
        {"1e9", "must be a whole number, and is 1e9"},
        {"1e400", "must be a whole number, and is 1e400"},
        {"4.5", "must be a whole number, and is 4.5"},
        {".nan", "must be a whole number, and is .nan"},
        {".inf", "must be a whole number, and is .inf"},
        {"-0", "must be a whole number, and is -0"},
        {"+3", "must be a whole number, and is +3"},
        {"-010", "must be a whole number, and is -010"},
        {"0x10", "must be a whole number, and is 0x10"},
        {"\"8\"", "must be a whole number, and is \"8\""},
        {"true", "must be a whole number, and is true"},
        {"null", "must be a whole number, and is nothing"},
        {"{}", "must be a whole number, and is a map"}};
    for (const auto& [value, rule] : values)
        EXPECT_THAT(refusal_of("core_pool_size: " + value), HasSubstr(core + rule)) << value;
    EXPECT_THAT(refusal_of("core_pool_size: 9, maximum_pool_size: 8"),
                HasSubstr(core + "9 is above maximum_pool_size (8)"));
    EXPECT_THAT(refusal_of("maximum_pool_size: 0"),
                HasSubstr("pools:3: pools.orders.maximum_pool_size: must be from 1 to 100000"));
    EXPECT_THAT(refusal_of("maximum_pool_size: 51"),
                HasSubstr("pools:3: pools.orders.maximum_pool_size: 51 is above "
                          "max_threads_per_pool (50)"));
    EXPECT_THAT(refusal_of("queue_capacity: 0"),
                HasSubstr("pools:3: pools.orders.queue_capacity: must be from 1 to"));
    EXPECT_THAT(refusal_of("run_timeout: 99999999999999999999h"),
                HasSubstr("pools:3: pools.orders.run_timeout: "));
}

TEST_F(hostile_documents, numbers_of_every_format_that_are_none_are_refused) {
    const std::string core = "pools.orders.core_pool_size: must be ";
    const std::pair<format, std::string> texts[] = {
        {format::toml, "[pools.orders]\ncore_pool_size = nan"},
        {format::toml, "[pools.orders]\ncore_pool_size = -inf"},
        {format::toml, "[pools.orders]\ncore_pool_size = 1e300"},
        {format::toml, "[pools.orders]\ncore_pool_size = 1e3"},
        {format::toml, "[pools.orders]\ncore_pool_size = 8.0"},
        {format::toml, "[pools.orders]\ncore_pool_size = 8.00000001"},
        {format::toml, "[pools.orders]\ncore_pool_size = 1979-05-27"},
        {format::json, "{\"pools\": {\"orders\":\n{\"core_pool_size\": 1e300}}}"},
        {format::json, "{\"pools\": {\"orders\":\n{\"core_pool_size\": -1}}}"},
        {format::json, "{\"pools\": {\"orders\":\n{\"core_pool_size\": 18446744073709551616}}}"},
        {format::properties, "#\npools.orders.core_pool_size=NaN"},
        {format::properties, "#\npools.orders.core_pool_size=10000000000"}};
    for (const auto& [f, text] : texts)
        EXPECT_THAT(refusal(text, f), HasSubstr("pools:2: " + core)) << text;
    for (const std::string number : {"NaN", "Infinity", "01", "1.", ".5", "0x1", "1e400"})
        EXPECT_THAT(refusal("{\"pools\": {\"orders\":\n{\"core_pool_size\": " + number + "}}}",
                            format::json),
                    AllOf(HasSubstr("pools:2: pools.orders"), HasSubstr(": is not JSON")))
            << number;
    EXPECT_THAT(refusal("[pools.orders]\ncore_pool_size = 9223372036854775808", format::toml),
                HasSubstr("pools:2: pools.orders.core_pool_size: is not TOML"));
}

TEST_F(hostile_documents, a_long_value_is_cut_between_characters_in_what_is_said_of_it) {
    for (const std::string before : {"", "a", "ab"}) {
        std::string value = before;
        for (int i = 0; i < 40; ++i) value += "中";
        const std::string said = refusal_of("core_pool_size: " + value);
        EXPECT_THAT(said, HasSubstr("must be a whole number, and is " + before + "中"));
        EXPECT_THAT(said, HasSubstr("中…"));
    }
}

TEST_F(hostile_documents, bytes_that_are_no_text_are_refused_with_their_line) {
    const std::string good = "pools:\n  orders: {core_pool_size: 1}\n# ";
    EXPECT_THAT(refusal(good + "\xff", format::yaml), HasSubstr("pools:3: is not UTF-8"));
    EXPECT_THAT(refusal(good + "\xed\xa0\x80", format::yaml), HasSubstr("pools:3: is not UTF-8"));
    EXPECT_THAT(refusal(good + std::string(1, '\0'), format::yaml),
                HasSubstr("pools:3: contains a NUL byte"));
    EXPECT_THAT(refusal("\xff\xfep\0o\0", format::yaml), HasSubstr("pools:1: is not UTF-8"));
    EXPECT_THAT(refusal("pools.orders.core_pool_size=1\\u0000", format::properties),
                HasSubstr("pools:1: "));
    EXPECT_THAT(refusal("{\"pools\": {\"a\\u0000b\": {}}}", format::json), HasSubstr("pools:1: "));
    EXPECT_THAT(refusal("pools: {\"or\\0ders\": {}}", format::yaml), HasSubstr("pools:1: "));
}

TEST_F(hostile_documents, keys_that_are_there_twice_or_unknown_are_refused) {
    EXPECT_THAT(refusal("pools:\n  orders: {core_pool_size: 1}\n  orders: {core_pool_size: 2}\n",
                        format::yaml),
                HasSubstr("pools:3: pools.orders: the key \"orders\" is there twice"));
    EXPECT_THAT(refusal_of("core_pool_size: 1, core_pool_size: 1"),
                HasSubstr("pools:3: pools.orders.core_pool_size: the key"));
    EXPECT_THAT(refusal_of("core: 1"), HasSubstr("pools:3: pools.orders.core: is not a key here"));
    EXPECT_THAT(refusal("{\"pools\": {},}", format::json), HasSubstr("pools:1: is not JSON"));
    EXPECT_THAT(refusal("{\"pools\": {}} x", format::json), HasSubstr("pools:1: is not JSON"));
}

TEST_F(hostile_documents, bombs_are_refused_before_they_cost_anything) {
    const std::string brackets(100'000, '[');
    const std::string deep = "pools:\n  orders: " + brackets + std::string(100'000, ']') + "\n";
    EXPECT_THAT(refusal(deep, format::yaml), AllOf(HasSubstr("pools:2: pools.orders[0][0]"),
                                                   HasSubstr("nested deeper than 32")));
    EXPECT_THAT(refusal("{\"pools\":\n" + brackets, format::json),
                AllOf(HasSubstr("pools:2: pools[0][0]"), HasSubstr("nested deeper than 32")));

    std::string laughs = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i <= 9; ++i) {
        laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int j = 0; j < 10; ++j) laughs += (j == 0 ? "*a" : ", *a") + std::to_string(i - 1);
        laughs += "]\n";
    }
    EXPECT_THAT(
        refusal(laughs, format::yaml),
        HasSubstr("pools:4: a4[7]: has more than 100000 values, with all that its aliases"));

    std::string many = "{\"pools\":\n[0";
    for (int i = 0; i < 100'000; ++i) many += ",0";
    EXPECT_THAT(refusal(many + "]}", format::json),
                HasSubstr("pools:2: pools[99998]: has more than 100000"));
    EXPECT_THAT(
        refusal("{\"pools\":\n{\"" + std::string(1'000'000, 'x') + "\": {}}}", format::json),
        HasSubstr("pools:2: pools: the name of a pool must have 1 to 128 bytes"));
    EXPECT_THAT(refusal("{\"pools\":\n{\"..\": {}}}", format::json),
                HasSubstr("pools:2: pools: the name of a pool must"));
    EXPECT_THAT(refusal(std::string(2 << 20, ' ') + "pools: {}", format::yaml),
                HasSubstr("pools: has 2097161 bytes, more than 1048576"));
}

TEST_F(hostile_documents, a_long_string_that_ends_in_quotes_hides_no_depth) {
    std::string deep = ", {a";
    for (int i = 0; i < 400'000; ++i) deep += ".a";
    for (const std::string text :
         {"'''a''''", "'''a'''''", "''''''''", R"("""a"""")", R"("""a""""")"})
        EXPECT_THAT(refusal("x = [" + text + deep + " = 1}]\n", format::toml),
                    HasSubstr("pools:1: x: is nested deeper than 32"))
            << text;
}

TEST_F(hostile_documents, a_document_that_says_nothing_is_not_a_reset) {
    for (const std::string text : {"", " \n", "# nothing\n"})
        EXPECT_THAT(refusal(text, format::yaml), HasSubstr("pools: is empty")) << text;
    for (const std::string text : {"---\n", "~\n"})
        EXPECT_THAT(refusal(text, format::yaml), HasSubstr("must be a map, and is nothing"));
    for (const std::string text : {"null", "[]", "\"\"", "7"})
        EXPECT_THAT(refusal(text, format::json), HasSubstr("pools:1: must be a map")) << text;
    EXPECT_THAT(refusal("{}\n", format::yaml), HasSubstr("pools: is empty"));
    EXPECT_THAT(refusal("{ }", format::json), HasSubstr("pools: is empty"));
    EXPECT_THAT(refusal("# nothing\n", format::toml), HasSubstr("pools: is empty"));
    EXPECT_THAT(refusal("# nothing\n", format::properties), HasSubstr("pools: is empty"));
}

TEST_F(hostile_documents, one_bad_pool_among_ten_keeps_all_as_they_are) {
    std::string text = "pools:\n";
    for (int i = 0; i < 9; ++i) text += "  p" + std::to_string(i) + ": {auto_create: true}\n";
    EXPECT_THAT(
        refusal(text + "  orders: {core_pool_size: 2, maximum_pool_size: -2}\n", format::yaml),
        HasSubstr("pools:11: pools.orders.maximum_pool_size: must be from 1"));
    source_->give(text + "  orders: {core_pool_size: 2}\n", format::yaml);
    EXPECT_EQ(registry_.pools().size(), 10U);
}

TEST_F(hostile_documents, marks_and_line_ends_of_other_systems_are_no_offence) {
    source_->give("\xef\xbb\xbfpools:\r\n  orders: {core_pool_size: 5, maximum_pool_size: 6}\r\n",
                  format::yaml);
    EXPECT_EQ(orders_->settings().core_pool_size, 5);
    EXPECT_TRUE(manager_->status().problems.empty());
}

/// A result, a line of the history, and no more of that when the next one is good.
TEST(hostile_files, an_empty_file_is_told_of_once_and_not_when_it_is_over) {
    std::string name = (std::filesystem::temp_directory_path() / "cadre_empty_XXXXXX").string();
    const std::filesystem::path directory = mkdtemp(name.data());
    const auto file = directory / "pools.yaml";
    {
        std::ofstream(file) << "pools: {a: {core_pool_size: 3}}";
        pool_registry registry;
        const auto pool = registry.create(
            {.name = "a", .settings = {.core_pool_size = 1, .maximum_pool_size = 9}});
        std::mutex mutex;  // guards results
        std::vector<std::size_t> results;
        std::vector<std::unique_ptr<config_source>> sources;
        sources.push_back(file_source({.path = file, .settle = 1ms, .backoff = {1ms, 5ms}}));
        config_manager manager(registry, std::move(sources),
                               {.start_wait = testing::guard, .on_result = [&](const auto& status) {
                                    const std::lock_guard lock(mutex);
                                    results.push_back(status.problems.size());
                                }});
        manager.start();
        std::ofstream(file).flush();
        EXPECT_TRUE(eventually([&] {
            return manager.status().sources[0].health.failures > 3 && manager.status().refused == 1;
        }));
        const auto refused = registry.history().back();
        EXPECT_EQ(refused.kind, change_kind::refused);
        EXPECT_EQ(refused.origin.source, "file:" + file.string());
        EXPECT_THAT(refused.error, HasSubstr("pools.yaml: is empty"));
        EXPECT_EQ(pool->settings().core_pool_size, 3);
        std::ofstream(file) << "pools: {a: {core_pool_size: 4}}";
        EXPECT_TRUE(eventually([&] { return pool->settings().core_pool_size == 4; }));
        manager.stop();
        EXPECT_EQ(manager.status().refused, 1U);
        EXPECT_EQ(results, (std::vector<std::size_t>{0, 1, 0}));
    }
    std::filesystem::remove_all(directory);
}

/// 100 MB, of which not more than a little is read.
TEST(hostile_files, a_huge_file_is_refused_and_the_last_good_one_stays) {
    std::string name = (std::filesystem::temp_directory_path() / "cadre_huge_XXXXXX").string();
    const std::filesystem::path directory = mkdtemp(name.data());
    const auto file = directory / "pools.yaml";
    const auto save = [&](const std::string& text, std::uintmax_t size) {
        const auto beside = directory / "beside";
        std::ofstream(beside) << text;
        std::filesystem::resize_file(beside, std::max<std::uintmax_t>(size, text.size()));
        std::filesystem::rename(beside, file);
    };
    {
        save("pools: {a: {core_pool_size: 3}}", 0);
        pool_registry registry;
        const auto pool = registry.create(
            {.name = "a", .settings = {.core_pool_size = 1, .maximum_pool_size = 9}});
        std::vector<std::unique_ptr<config_source>> sources;
        sources.push_back(file_source({.path = file, .settle = 1ms, .backoff = {1ms, 5ms}}));
        config_manager manager(registry, std::move(sources), {.start_wait = testing::guard});
        manager.start();
        ASSERT_EQ(pool->settings().core_pool_size, 3);
        save("pools: {a: {core_pool_size: 4}}\n", 100 << 20);
        EXPECT_TRUE(eventually([&] {
            return manager.status().sources[0].health.last_error.find("more than 1048576 bytes") !=
                   std::string::npos;
        }));
        EXPECT_EQ(pool->settings().core_pool_size, 3);
        ASSERT_EQ(manager.status().problems.size(), 1U);
        EXPECT_EQ(manager.status().problems[0].rule, "has more than 1048576 bytes");
        save("", 0);
        EXPECT_TRUE(eventually([&] {
            const auto problems = manager.status().problems;
            return problems.size() == 1 && problems[0].rule == "is empty";
        }));
        save("pools: {a: {core_pool_size: 5}}", 0);
        EXPECT_TRUE(eventually([&] { return pool->settings().core_pool_size == 5; }));
        EXPECT_TRUE(eventually([&] { return manager.status().problems.empty(); }));
    }
    std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace cadre::manage
