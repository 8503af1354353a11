// SPDX-License-Identifier: Apache-2.0
//
// docs/metrics.md against what is printed. CADRE_METRICS_PAGE is where the page is.

#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "manage/http_api.hpp"
#include "support/eventually.hpp"
#include "support/held_task.hpp"
#include <cadre/manage/alarm_engine.hpp>
#include <cadre/manage/config_manager.hpp>
#include <cadre/manage/metrics_text.hpp>
#include <cadre/manage/notifiers.hpp>

namespace cadre::manage {
namespace {

using namespace std::chrono_literals;

/// Of metrics: type and labels, "gauge pool, task".
using metric_table = std::map<std::string, std::string>;

/// Rows of tables with four columns; of those with three, all labels are DynamicTp's.
metric_table table_of(std::istream& page) {
    const std::regex row(R"(\| `(\w+)` \| (\w+) \| (?:([\w, ]*?) ?\| )?\S.* \|)");
    metric_table all;
    for (std::string line; std::getline(page, line);) {
        std::smatch parts;
        if (!std::regex_match(line, parts, row)) continue;
        const bool ours = parts[1].str().starts_with("cadre_");
        const auto labels = ours ? parts[3].str() : "app_name, thread_pool_name, thread_pool_alias";
        EXPECT_TRUE(all.emplace(parts[1], parts[2].str() + " " + labels).second) << line;
    }
    return all;
}

/// Of the text format: the labels are those of a metric's first line, without le of a histogram.
metric_table table_of(const std::string& text) {
    const std::regex type(R"(# TYPE (\w+) (\w+))");
    const std::regex label(R"re((\w+)="[^"]*")re");
    metric_table all;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::smatch parts;
        if (!std::regex_match(line, parts, type)) continue;
        std::string labels;
        std::string first;
        std::getline(lines, first);
        for (std::sregex_iterator l(first.begin(), first.end(), label), end; l != end; ++l)
            if ((*l)[1] != "le") labels += (labels.empty() ? "" : ", ") + (*l)[1].str();
        all.emplace(parts[1], parts[2].str() + " " + labels);
    }
    return all;
}

TEST(metrics_page, has_every_metric_with_its_type_and_labels_and_no_other) {
    pool_registry registry;
    const auto pool = registry.create({.name = "p", .settings = {.core_pool_size = 1}});
    alarm_engine alarms(registry,
                        {.rules = {{.type = alarm_type::liveness, .threshold = 1}}, .interval = 0s},
                        {std::make_shared<log_notifier>()});
    std::vector<std::unique_ptr<config_source>> sources;
    sources.push_back(embedded_source("pools: {p: {core_pool_size: 1}}", document_format::yaml));
    config_manager config(registry, std::move(sources), {.start_wait = testing::guard});
    config.start();
    pool->executor()->execute(named("load", [] {}));
    ASSERT_TRUE(testing::eventually([&] { return !pool->monitor()->metrics().tasks.empty(); }));
    testing::held_task held(*pool->executor());
    alarms.check();

    const detail::pool_sampler sampler(registry, 1h);
    const http_server_options options{
        .alarms = &alarms,
        .metrics = {.dynamictp_names = true, .application = "shop", .config = &config},
        .log = [](const std::string&) {}};
    const detail::http_api api(registry, sampler, options);
    auto printed =
        table_of(api.answer({.method = "GET", .path = "/metrics", .host = "localhost"}).body);
    printed.emplace("cadre_process_memory_limit_bytes", "gauge ");  // if there is one here

    std::ifstream page(CADRE_METRICS_PAGE);
    ASSERT_TRUE(page) << CADRE_METRICS_PAGE;
    EXPECT_THAT(table_of(page), ::testing::ContainerEq(printed));
}

}  // namespace
}  // namespace cadre::manage
