// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/config_problem.hpp>
#include <cadre/manage/config_source.hpp>
#include <cadre/manage/configuration.hpp>
#include <cadre/manage/pool_registry.hpp>

namespace cadre::manage {

namespace detail {
class config_core;
}

/// Where the document of a source that is in force comes from.
enum class document_origin {
    none,     ///< there is none
    source,   ///< from the source itself
    snapshot  ///< from the disk: the source has not answered yet
};
CADRE_API std::string_view to_text(document_origin origin);

/// One source of a config_manager.
struct source_status {
    std::string name = {};
    source_health health = {};
    document_origin origin = document_origin::none;
    std::string revision = {};          ///< of the document that is in force
    std::string refused_revision = {};  ///< of a newer one that was refused; empty: none was
    /// For how long it has not answered; since start() if it never has. Zero before that and after
    /// stop().
    std::chrono::nanoseconds silent_for = {};
};

/// A setting that a pool does not have as the documents say, and why.
struct setting_not_applied {
    std::string pool = {};
    field_not_applied field = {};
};

/// What a config_manager knows at one instant.
struct config_status {
    std::vector<source_status> sources = {};
    std::uint64_t applied = 0;  ///< how often the documents were applied
    std::uint64_t refused = 0;  ///< how often one was refused
    std::chrono::system_clock::time_point last_applied = {};
    /// Of the documents that were refused last; empty once a newer one of that source is in force.
    std::vector<config_problem> problems = {};
    /// Of the documents in force:
    std::vector<config_problem> ignored = {};
    std::vector<std::string> unmatched = {};  ///< pools they speak of, and nobody has registered
    std::vector<std::string> orphans = {};  ///< pools that are registered, and they do not speak of
    std::vector<setting_not_applied> not_applied = {};
    std::vector<alarm_entry> alarms = {};  ///< for the alarm_engine whose options have the manager
    /// Why the snapshot could not be read or written, or what of it does not fit any more.
    std::string snapshot_error = {};
};

/// Which instance this is, and where the last good documents are kept.
struct config_manager_options {
    instance_identity instance = instance_identity::of_this_process();
    /// Where the documents in force are kept, for a start without the sources. Empty: nowhere.
    std::filesystem::path snapshot = {};
    /// How long start() waits for the first documents. A source that fails is not waited for.
    std::chrono::milliseconds start_wait = std::chrono::seconds(3);
    /// Called after documents were applied or refused, on the thread of a source or in start(),
    /// under no lock. What it throws is dropped.
    std::function<void(const config_status&)> on_result = {};
};

/// Applies the documents of its sources to the pools of a registry: all of it, or, if anything is
/// wrong with a new document, nothing, and the last good one stays in force. Of two sources that
/// speak of the same key, the later in the list wins. A key that leaves the documents takes its
/// effect with it: the pool has again what its code gave it, or, if a document made it, the
/// default. Pools that are registered later get their settings then, each on its own; what others
/// change in between stays until the next document.
///
/// All members may be called from any thread.
///
///     std::vector<std::unique_ptr<config_source>> sources;
///     sources.push_back(embedded_source(defaults, document_format::yaml));
///     sources.push_back(file_source({.path = "/etc/shop/pools.yaml"}));
///     config_manager manager(pool_registry::global(), std::move(sources));
///     manager.start();
class CADRE_API config_manager {
public:
    config_manager(pool_registry& registry, std::vector<std::unique_ptr<config_source>> sources,
                   config_manager_options options = {});
    /// Stops. The registry must still be there.
    ~config_manager();
    config_manager(const config_manager&) = delete;
    config_manager& operator=(const config_manager&) = delete;

    /// Starts the sources, waits a little for their documents, and applies what there is: for a
    /// source that has not answered, its document from the snapshot. Does not throw because a
    /// source is down or a document is wrong: status() says so. Throws illegal_state if it was
    /// called before.
    void start();
    /// Stops the sources; the pools keep their settings. A start() under way returns. Not to be
    /// called by a listener.
    void stop();
    config_status status() const;
    /// For how long the source that has been silent longest has not answered; since start() if it
    /// never has. Zero before that and after stop().
    std::chrono::nanoseconds age() const;

private:
    const std::shared_ptr<detail::config_core> core_;
};

}  // namespace cadre::manage
