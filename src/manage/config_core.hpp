// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <cadre/manage/config_manager.hpp>

#include "manage/config_applier.hpp"

namespace cadre::manage::detail {

/// A config_manager without its public face. How it decides is told in config_decisions.cpp.
class config_core : public std::enable_shared_from_this<config_core> {
public:
    config_core(pool_registry& registry, std::vector<std::unique_ptr<config_source>> sources,
                config_manager_options options)
        : registry_(registry),
          options_(std::move(options)),
          sources_(std::move(sources)),
          names_(names_of(sources_)),
          applier_(registry),
          slots_(sources_.size()) {}

    void start();
    void stop();
    config_status status() const;
    std::chrono::nanoseconds age() const;

private:
    struct slot {
        std::optional<config_document> latest = {};    ///< as the source gave it
        bool is_news = false;                          ///< latest has not been tried yet
        std::optional<config_document> in_force = {};  ///< as it was applied
        document_origin origin = document_origin::none;
        std::vector<config_problem> problems = {};     ///< of latest, if it was refused
        std::vector<config_problem> unusable = {};     ///< news of what nobody could read
        std::optional<std::string> refused_text = {};  ///< that is in the history
        std::optional<config_document> unfit = {};     ///< from the snapshot, and not in force
        std::string unfit_because = {};
    };
    /// What to try: of each slot the document in force, or for some of them the latest.
    struct attempt {
        std::vector<std::optional<config_document>> documents = {};
        std::vector<bool> uses_latest = {};
        change_origin origin = {};
    };

    static std::vector<std::string> names_of(
        const std::vector<std::unique_ptr<config_source>>& sources);
    void load_snapshot();
    void wait_for_first_documents();
    void arrived(std::size_t index, const config_document& document);
    void unusable(std::size_t index, const std::vector<config_problem>& problems);
    void pool_registered();
    bool take_work(bool& new_documents, bool& new_pools);
    void work();
    void decide_all_together();
    void decide_without_snapshot();
    void decide_one_by_one();
    void refuse_unusable();
    void note_refusal(const change_origin& origin, const std::vector<config_problem>& problems);
    void refused(std::size_t index, const attempt& what,
                 const std::vector<config_problem>& problems);
    attempt make_attempt(const std::vector<bool>& with_latest) const;
    std::vector<config_problem> try_out(const attempt& what);
    void succeeded(const attempt& what, configuration wanted, apply_result result);
    void configure_new_pools();
    configuration read(const attempt& what) const;
    change_origin in_force_of(std::size_t index, const std::lock_guard<std::mutex>&) const;
    void keep_snapshot();
    void tell();

    pool_registry& registry_;
    const config_manager_options options_;
    const std::vector<std::unique_ptr<config_source>> sources_;
    const std::vector<std::string> names_;  ///< each another

    // Used by whoever works.
    config_applier applier_;
    configuration applied_;
    bool is_first_ = true;  ///< nothing was decided on yet

    mutable std::mutex mutex_;      // guards all below
    std::condition_variable news_;  ///< of a document, or of the end of work
    subscription registrations_;
    std::vector<slot> slots_;
    config_status status_;  ///< but for its sources, and the problems of their latest documents
    std::string snapshot_unread_;  ///< why
    bool started_ = false;
    std::chrono::steady_clock::time_point started_at_;
    bool ready_ = false;  ///< start() has waited: news may be worked on
    bool stopped_ = false;
    bool working_ = false;
    bool pools_changed_ = false;
};

}  // namespace cadre::manage::detail
