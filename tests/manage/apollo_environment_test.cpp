// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/apollo_source.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace cadre::manage {
namespace {

/// Variables, and what a machine says in its file, for one test.
class apollo_environment : public ::testing::Test {
protected:
    apollo_environment() {
        std::string name = (std::filesystem::temp_directory_path() / "cadre_env_XXXXXX").string();
        directory_ = mkdtemp(name.data());
        for (const char* own :
             {"APP_ID", "APOLLO_META", "APOLLO_CONFIG_SERVICE", "APOLLO_CLUSTER", "APOLLO_LABEL",
              "APOLLO_ACCESS_KEY_SECRET", "APOLLO_CACHE_DIR", "DEV_META", "PRO_META"})
            set(own, "");
    }
    ~apollo_environment() override {
        for (const auto& [name, value] : set_) ::unsetenv(name.c_str());
        std::filesystem::remove_all(directory_);
    }
    void set(const std::string& name, const std::string& value) {
        set_[name] = value;
        ::setenv(name.c_str(), value.c_str(), 1);
    }
    apollo_source_options options_with(const std::string& machine) const {
        std::ofstream(directory_ / "server.properties") << machine;
        return options();
    }
    apollo_source_options options() const {
        return apollo_source_options::from_environment(directory_ / "server.properties");
    }

private:
    std::filesystem::path directory_;
    std::map<std::string, std::string> set_;
};

TEST_F(apollo_environment, says_where_apollo_is_and_who_asks) {
    set("APP_ID", "shop");
    set("APOLLO_META", "http://meta");
    set("APOLLO_CONFIG_SERVICE", "http://a,http://b");
    set("APOLLO_CLUSTER", "blue");
    set("APOLLO_ACCESS_KEY_SECRET", "s");
    const auto said = options();
    EXPECT_EQ(said.app_id, "shop");
    EXPECT_EQ(said.meta, "http://meta");
    EXPECT_EQ(said.config_services, (std::vector<std::string>{"http://a", "http://b"}));
    EXPECT_EQ(said.cluster, "blue");
    EXPECT_EQ(said.secret, "s");
    EXPECT_EQ(said.data_center, "");
}

TEST_F(apollo_environment, has_the_data_centre_of_the_machine) {
    const auto said = options_with("# of operations\nidc=sh-1 \na=1\na.b=2\na=3\n");
    EXPECT_EQ(said.data_center, "sh-1");
    EXPECT_EQ(said.cluster, "sh-1") << "unless another is named";
    set("APOLLO_CLUSTER", "blue");
    EXPECT_EQ(options().cluster, "blue");
    EXPECT_EQ(options().data_center, "sh-1");
}

TEST_F(apollo_environment, has_the_meta_server_of_the_environment_of_the_machine) {
    set("DEV_META", "http://dev");
    set("PRO_META", "http://pro");
    EXPECT_EQ(options_with("env=dev").meta, "http://dev");
    EXPECT_EQ(options_with("\xef\xbb\xbf"
                           "env = PROD\n")
                  .meta,
              "http://pro");
    EXPECT_EQ(options_with("env=uat").meta, "");
    set("APOLLO_META", "http://named");
    EXPECT_EQ(options_with("env=dev").meta, "http://named");
}

TEST_F(apollo_environment, needs_no_file_but_one_that_can_be_read) {
    EXPECT_EQ(options().cluster, "default");
    EXPECT_EQ(options_with("").data_center, "");
    EXPECT_THROW(options_with("idc=\\u12"), configuration_error);
}

}  // namespace
}  // namespace cadre::manage
