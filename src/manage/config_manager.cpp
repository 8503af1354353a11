// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/config_manager.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include <cadre/errors.hpp>

#include "manage/config_core.hpp"
#include "manage/config_snapshot.hpp"

namespace cadre::manage {

std::string_view to_text(document_origin origin) {
    switch (origin) {
        case document_origin::none:
            return "none";
        case document_origin::source:
            return "source";
        case document_origin::snapshot:
            break;
    }
    return "snapshot";
}

namespace detail {

/// Of several sources with the same name, each but the first has its number behind it.
std::vector<std::string> config_core::names_of(
    const std::vector<std::unique_ptr<config_source>>& sources) {
    std::vector<std::string> names;
    std::map<std::string, int> seen;
    for (const auto& source : sources) {
        const int number = ++seen[source->name()];
        names.push_back(source->name() + (number == 1 ? "" : "#" + std::to_string(number)));
    }
    return names;
}

void config_core::start() {
    {
        const std::lock_guard lock(mutex_);
        if (started_) throw illegal_state("the config_manager was started before");
        started_ = true;
        started_at_ = std::chrono::steady_clock::now();
    }
    load_snapshot();
    // Of a core that is gone nobody is told: a call may outlast the subscription.
    auto registrations =
        registry_.on_change([weak = weak_from_this()](const change_record& record) {
            if (record.kind != change_kind::registered) return;
            if (const auto core = weak.lock()) core->pool_registered();
        });
    {
        const std::lock_guard lock(mutex_);
        registrations_ = std::move(registrations);
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        sources_[i]->on_unusable([this, i](const auto& problems) { unusable(i, problems); });
        try {
            sources_[i]->start(
                [this, i](const config_document& document) { arrived(i, document); });
        } catch (const illegal_state&) {
            const std::lock_guard lock(mutex_);
            if (!stopped_) throw;
            return;  // stop() was there first
        }
    }
    wait_for_first_documents();
    {
        const std::lock_guard lock(mutex_);
        if (stopped_) return;
        ready_ = true;
        working_ = true;
    }
    work();
}

void config_core::stop() {
    subscription ended;
    {
        const std::lock_guard lock(mutex_);
        started_ = true;
        stopped_ = true;
        ended = std::move(registrations_);
        news_.notify_all();
    }
    ended.reset();
    for (const auto& source : sources_) source->stop();
    // Somebody who registers a pool may be at work.
    std::unique_lock lock(mutex_);
    news_.wait(lock, [this] { return !working_; });
}

void config_core::load_snapshot() {
    if (options_.snapshot.empty()) return;
    try {
        auto snapshot = read_snapshot(options_.snapshot);
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            const auto found = snapshot.find(names_[i]);
            if (found == snapshot.end()) continue;
            slots_[i].in_force = found->second;
            slots_[i].origin = document_origin::snapshot;
        }
    } catch (const std::exception& damaged) {
        const std::lock_guard lock(mutex_);
        snapshot_unread_ = damaged.what();
    }
}

void config_core::wait_for_first_documents() {
    using namespace std::chrono_literals;
    const auto deadline = std::chrono::steady_clock::now() + options_.start_wait;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        const auto has_come = [&] { return slots_[i].latest.has_value() || stopped_; };
        // In steps, for a failure does not call us.
        while (sources_[i]->health().failures == 0 && std::chrono::steady_clock::now() < deadline) {
            std::unique_lock lock(mutex_);
            if (news_.wait_for(lock, 10ms, has_come)) break;
        }
    }
}

void config_core::keep_snapshot() {
    if (options_.snapshot.empty()) return;
    config_snapshot snapshot;
    bool any_answer = false;
    {
        const std::lock_guard lock(mutex_);
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            const auto& s = slots_[i];
            any_answer = any_answer || s.in_force;
            const auto& kept = s.in_force ? s.in_force : s.unfit;
            if (kept && kept->exists) snapshot[names_[i]] = *kept;
        }
    }
    // A file that could not be read may be the last copy there is.
    if (!any_answer) return;
    std::string error;
    try {
        write_snapshot(options_.snapshot, snapshot);
    } catch (const std::exception& failed) {
        error = failed.what();
    }
    const std::lock_guard lock(mutex_);
    status_.snapshot_error = error;
    if (error.empty()) snapshot_unread_.clear();
}

namespace {

/// For how long the source has been silent. The wall clock, which may have been set since, is only
/// for sources of others that know no better.
std::chrono::nanoseconds silence_of(const source_health& health,
                                    std::chrono::steady_clock::time_point started_at) {
    const auto now = std::chrono::steady_clock::now();
    if (health.answered_at != std::chrono::steady_clock::time_point())
        return now - health.answered_at;
    if (health.last_success == std::chrono::system_clock::time_point()) return now - started_at;
    return std::chrono::system_clock::now() - health.last_success;
}

}  // namespace

config_status config_core::status() const {
    std::vector<source_health> health;
    for (const auto& source : sources_) health.push_back(source->health());
    const std::lock_guard lock(mutex_);
    config_status result = status_;
    if (result.snapshot_error.empty()) result.snapshot_error = snapshot_unread_;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        const auto& s = slots_[i];
        source_status one{.name = names_[i], .health = health[i], .origin = s.origin};
        if (started_ && !stopped_) one.silent_for = silence_of(health[i], started_at_);
        const auto& unusable = health[i].problems;
        result.problems.insert(result.problems.end(), unusable.begin(), unusable.end());
        if (s.in_force) one.revision = s.in_force->revision;
        if (!s.problems.empty() && s.latest) one.refused_revision = s.latest->revision;
        result.problems.insert(result.problems.end(), s.problems.begin(), s.problems.end());
        if (s.unfit && result.snapshot_error.empty())
            result.snapshot_error =
                "the document of " + names_[i] + " in it was refused: " + s.unfit_because;
        result.sources.push_back(std::move(one));
    }
    return result;
}

std::chrono::nanoseconds config_core::age() const {
    std::chrono::steady_clock::time_point started_at;
    {
        const std::lock_guard lock(mutex_);
        if (!started_ || stopped_) return {};
        started_at = started_at_;
    }
    std::chrono::nanoseconds longest(0);
    for (const auto& source : sources_)
        longest = std::max(longest, silence_of(source->health(), started_at));
    return longest;
}

}  // namespace detail

config_manager::config_manager(pool_registry& registry,
                               std::vector<std::unique_ptr<config_source>> sources,
                               config_manager_options options)
    : core_(std::make_shared<detail::config_core>(registry, std::move(sources),
                                                  std::move(options))) {}

config_manager::~config_manager() { core_->stop(); }

void config_manager::start() { core_->start(); }
void config_manager::stop() { core_->stop(); }
config_status config_manager::status() const { return core_->status(); }
std::chrono::nanoseconds config_manager::age() const { return core_->age(); }

}  // namespace cadre::manage
