// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include <cadre/manage/config_source.hpp>

#include "manage/stop_signal.hpp"

namespace cadre::manage::detail {

/// What is particular to one kind of source. Used by one thread.
class document_fetcher {
public:
    virtual ~document_fetcher() = default;
    /// Waits for news, in its own manner, and returns what there is now; nothing if that is what
    /// it returned last. Called again and again. Throws source_stopped when `stop` is raised, and
    /// whatever is a failure: then it is called again after a pause.
    virtual std::optional<config_document> fetch(const stop_signal& stop) = 0;
    /// True if fetch() waits for news also while there is no document: a pause before it that grows
    /// would only keep the news.
    virtual bool waits_for_the_absent() const { return false; }
    /// The listener refused what fetch() returned: it is to be returned again.
    virtual void forget() {}
};

/// The thread of a source: calls fetch(), pauses after failures, gives to the listener what is new,
/// and keeps the books that health() shows.
class source_loop final : public config_source {
public:
    source_loop(std::string name, std::unique_ptr<document_fetcher> fetcher, bool required,
                source_backoff backoff);
    ~source_loop() override;

    const std::string& name() const override { return name_; }
    void start(listener to) override;
    void stop() override;
    source_health health() const override;
    void on_unusable(problem_listener told) override;

private:
    void run() noexcept;
    void round();
    void failed(const std::string& why, std::vector<config_problem> problems);
    void tell_of_unusable(const std::string& why, const std::vector<config_problem>& problems);
    std::chrono::milliseconds pause(int failures);

    const std::string name_;
    const bool required_;
    const source_backoff backoff_;
    stop_signal stop_;

    // Used by the thread only.
    const std::unique_ptr<document_fetcher> fetcher_;
    std::string last_hash_;
    std::string last_unusable_;  ///< that was told of; empty: what came last could be used
    std::minstd_rand random_;

    mutable std::mutex mutex_;  // guards all below
    source_health health_;
    listener listener_;
    problem_listener unusable_;
    bool started_ = false;

    std::mutex joining_;  // held to join: a second stop() waits for the first
    std::thread thread_;
};

/// Throws std::invalid_argument otherwise: a source would ask without a pause, or wait for ever.
void check_above_zero(std::chrono::milliseconds time, const char* option);

}  // namespace cadre::manage::detail
