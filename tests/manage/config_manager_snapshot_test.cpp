// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manage/support/managed_fixture.hpp"

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class config_manager_snapshot : public managed_fixture {
protected:
    config_manager_snapshot() {
        std::string name = (std::filesystem::temp_directory_path() / "cadre_snap_XXXXXX").string();
        directory_ = mkdtemp(name.data());
        write("");
        std::filesystem::remove(file_());
    }
    ~config_manager_snapshot() override {
        manager_.reset();
        std::filesystem::remove_all(directory_);
    }
    std::filesystem::path file_() const { return directory_ / "last_good"; }
    void write(const std::string& text) const { std::ofstream(file_()) << text; }
    std::string read() const {
        std::stringstream text;
        text << std::ifstream(file_()).rdbuf();
        return text.str();
    }
    void restart() {
        new_sources("base", "site");
        base_->fail();
        site_->fail();
        orders_->reconfigure({.core_pool_size = 2, .maximum_pool_size = 4});
        manage({.snapshot = file_()});
    }
    std::filesystem::path directory_;
};

TEST_F(config_manager_snapshot, serves_a_start_without_the_sources) {
    base_->first("pools: {orders: {core_pool_size: 3}} # é \"\\\n");
    site_->fail();
    manage({.snapshot = file_()});
    base_->give("pools: {orders: {core_pool_size: -1}}");  // refused, and so not kept
    restart();
    EXPECT_EQ(settings().core_pool_size, 3);
    EXPECT_EQ(manager_->status().sources[0].origin, document_origin::snapshot);
    EXPECT_EQ(manager_->status().sources[0].revision, "1");
    EXPECT_EQ(manager_->status().sources[0].health.last_error, "down");
    EXPECT_EQ(manager_->status().snapshot_error, "");
    base_->give("pools: {orders: {core_pool_size: 1}}");
    EXPECT_EQ(settings().core_pool_size, 1);
    EXPECT_EQ(manager_->status().sources[0].origin, document_origin::source);
}

TEST_F(config_manager_snapshot, is_left_alone_when_it_is_damaged) {
    for (const std::string text : {"", "no line", "0000\n[]\n"}) {
        base_->fail();
        site_->fail();
        write(text);
        restart();
        EXPECT_EQ(settings().core_pool_size, 2);
        EXPECT_THAT(manager_->status().sources[0].health.last_error, "down");
        EXPECT_THAT(manager_->status().snapshot_error, HasSubstr("last_good"));
        EXPECT_EQ(read(), text);
    }
    base_->give("pools: {orders: {core_pool_size: 3}}");
    EXPECT_EQ(manager_->status().snapshot_error, "");
    EXPECT_THAT(read(), HasSubstr("core_pool_size: 3"));
}

TEST_F(config_manager_snapshot, forgets_a_document_that_its_source_has_no_more) {
    base_->first("pools: {orders: {core_pool_size: 3}}");
    site_->fail();
    manage({.snapshot = file_()});
    base_->give(config_document{.exists = false});
    restart();
    EXPECT_EQ(settings().core_pool_size, 2);
    EXPECT_EQ(manager_->status().sources[0].origin, document_origin::none);
}

TEST_F(config_manager_snapshot, keeps_revisions_of_any_bytes) {
    base_->fail();
    site_->fail();
    manage({.snapshot = file_()});
    base_->give(
        config_document{.text = "pools: {orders: {core_pool_size: 3}}", .revision = "\xff\n"});
    restart();
    EXPECT_EQ(settings().core_pool_size, 3);
    EXPECT_EQ(manager_->status().snapshot_error, "");
}

TEST_F(config_manager_snapshot, that_does_not_fit_any_more_holds_up_no_source) {
    base_->first("pools: {orders: {core_pool_size: 20, maximum_pool_size: 30}}");
    site_->first("pools: {orders: {keep_alive: 5s}}");
    manage({.snapshot = file_()});
    registry_.set_rails({.max_threads_per_pool = 10});
    new_sources("base", "site");
    base_->fail();
    site_->first("pools: {orders: {keep_alive: 7s}}");
    orders_->reconfigure({.core_pool_size = 2, .maximum_pool_size = 4});
    manage({.snapshot = file_()});
    EXPECT_EQ(settings().keep_alive, 7s);
    EXPECT_EQ(settings().core_pool_size, 2);
    EXPECT_EQ(problems(), "");
    const auto status = manager_->status();
    EXPECT_EQ(status.sources[0].origin, document_origin::none);
    EXPECT_EQ(status.sources[1].origin, document_origin::source);
    EXPECT_THAT(status.snapshot_error, HasSubstr("the document of base in it was refused: "));
    EXPECT_THAT(read(), HasSubstr("core_pool_size: 20")) << "it may fit the next program";
    base_->give("pools: {orders: {core_pool_size: 3}}");
    EXPECT_EQ(settings().core_pool_size, 3);
    EXPECT_EQ(manager_->status().snapshot_error, "");
}

TEST_F(config_manager_snapshot, is_in_force_where_what_a_source_says_needs_it) {
    base_->first("pools: {orders: {maximum_pool_size: 30}}");
    site_->first("pools: {orders: {core_pool_size: -1}}");
    manage({.snapshot = file_()});
    new_sources("base", "site");
    base_->fail();
    site_->first("pools: {orders: {core_pool_size: 20}}");
    orders_->reconfigure({.core_pool_size = 2, .maximum_pool_size = 4});
    manage({.snapshot = file_()});
    EXPECT_EQ(settings().core_pool_size, 20);
    EXPECT_EQ(problems(), "");
}

TEST_F(config_manager_snapshot, keeps_sources_of_the_same_name_apart) {
    new_sources("same", "same");
    base_->first("pools: {orders: {core_pool_size: 3}}");
    site_->first("pools: {orders: {keep_alive: 5s}}");
    manage({.snapshot = file_()});
    new_sources("same", "same");
    base_->fail();
    site_->fail();
    orders_->reconfigure({.core_pool_size = 2, .keep_alive = 10s});
    manage({.snapshot = file_()});
    EXPECT_EQ(settings().core_pool_size, 3);
    EXPECT_EQ(settings().keep_alive, 5s);
    EXPECT_EQ(manager_->status().sources[0].name, "same");
    EXPECT_EQ(manager_->status().sources[1].name, "same#2");
}

TEST_F(config_manager_snapshot, is_named_in_the_history) {
    base_->first("pools: {orders: {core_pool_size: 3}}");
    site_->fail();
    manage({.snapshot = file_()});
    restart();
    const auto last = registry_.history().back();
    EXPECT_EQ(last.origin.source, "snapshot:base");
    EXPECT_EQ(last.origin.source_revision, "1");
}

TEST_F(config_manager_snapshot, tells_when_it_cannot_be_written) {
    base_->first("pools: {orders: {core_pool_size: 3}}");
    site_->fail();
    manage({.snapshot = directory_ / "nowhere/last_good"});
    EXPECT_EQ(settings().core_pool_size, 3);
    EXPECT_THAT(manager_->status().snapshot_error, HasSubstr("nowhere"));
}

TEST_F(config_manager_snapshot, is_not_waited_for_longer_than_said_when_a_source_is_silent) {
    manage({.start_wait = 20ms});  // neither an answer nor a failure
    EXPECT_EQ(manager_->status().sources[0].origin, document_origin::none);
    base_->give("pools: {orders: {core_pool_size: 3}}");
    EXPECT_EQ(settings().core_pool_size, 3);
}

}  // namespace
}  // namespace cadre::manage
