// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <cadre/manage/config_manager.hpp>

namespace cadre::manage {

/// Gives what it is told to, on the thread that tells.
class scripted_source final : public config_source {
public:
    explicit scripted_source(std::string name) : name_(std::move(name)) {}
    const std::string& name() const override { return name_; }
    void start(listener to) override {
        {
            const std::lock_guard lock(mutex_);
            listener_ = std::move(to);
        }
        if (!first_.empty()) give(first_);
    }
    void stop() override {}
    source_health health() const override {
        const std::lock_guard lock(mutex_);
        return health_;
    }

    /// Given in start().
    scripted_source& first(std::string text) {
        first_ = std::move(text);
        return *this;
    }
    void fail() {
        const std::lock_guard lock(mutex_);
        health_ = {.state = source_state::failing, .last_error = "down", .failures = 1};
    }
    void answered(std::chrono::system_clock::time_point when) {
        const std::lock_guard lock(mutex_);
        health_ = {.state = source_state::healthy, .last_success = when};
    }
    void answered(std::chrono::system_clock::time_point by_the_wall,
                  std::chrono::steady_clock::time_point when) {
        const std::lock_guard lock(mutex_);
        health_ = {
            .state = source_state::healthy, .last_success = by_the_wall, .answered_at = when};
    }
    void give(const std::string& text) { give(config_document{.text = text}); }
    void give(config_document document) {
        listener to;
        std::string revision;
        {
            const std::lock_guard lock(mutex_);
            to = listener_;
            revision = std::to_string(++given_);
        }
        if (document.revision.empty()) document.revision = revision;
        to(document);
    }

private:
    const std::string name_;
    std::string first_;
    mutable std::mutex mutex_;  // guards all below
    listener listener_;
    source_health health_;
    int given_ = 0;
};

/// A registry with the pool "orders", and a manager with two sources.
class managed_fixture : public ::testing::Test {
protected:
    managed_fixture() {
        orders_ = registry_.create({.name = "orders",
                                    .settings = {.core_pool_size = 2,
                                                 .maximum_pool_size = 4,
                                                 .keep_alive = std::chrono::seconds(10),
                                                 .queue_capacity = 100}});
    }
    void manage(config_manager_options options = {}) {
        std::vector<std::unique_ptr<config_source>> sources;
        sources.push_back(std::unique_ptr<config_source>(base_));
        sources.push_back(std::unique_ptr<config_source>(site_));
        manager_.emplace(registry_, std::move(sources), std::move(options));
        manager_->start();
    }
    /// Two that have not started; the manager that had the last ones ends.
    void new_sources(const std::string& first, const std::string& second) {
        if (!manager_) manage({.start_wait = {}});  // which owns the sources
        manager_.reset();
        base_ = new scripted_source(first);
        site_ = new scripted_source(second);
    }
    std::string problems() const {
        std::string text;
        for (const auto& p : manager_->status().problems) text += to_text(p) + "\n";
        return text;
    }
    pool_settings settings() const { return orders_->settings(); }

    pool_registry registry_;
    std::shared_ptr<managed_pool> orders_;
    scripted_source* base_ = new scripted_source("base");
    scripted_source* site_ = new scripted_source("site");
    std::optional<config_manager> manager_;
};

}  // namespace cadre::manage
