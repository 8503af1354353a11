// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/document.hpp>

namespace cadre::manage {

/// A whole document, as a source has it. Not parsed: it may be anything.
struct config_document {
    std::string text = {};
    document_format format = document_format::yaml;
    /// What the source calls this version; where it has no name for it, a hash of the text.
    std::string revision = {};
    /// False if a source that need not have a document has none.
    bool exists = true;
    /// From a cache: the source itself has not answered.
    bool is_stale = false;
    std::string author = {};  ///< whose version it is; empty if the source does not say
};

enum class source_state {
    starting,  ///< has had no success yet, and no failure
    healthy,   ///< its last attempt succeeded
    failing,   ///< its last attempt failed; it tries again
    stopped
};
CADRE_API std::string_view to_text(source_state state);

/// How a source fares.
struct source_health {
    source_state state = source_state::starting;
    /// When the source last answered, whether or not with something new; the epoch: never.
    std::chrono::system_clock::time_point last_success = {};
    std::string last_error = {};  ///< kept after a success, to look at
    int failures = 0;             ///< in a row
    std::uint64_t documents = 0;  ///< given to the listener
    /// If the last attempt found a document that nobody can use, as an empty file: why.
    std::vector<config_problem> problems = {};
    /// last_success by a clock that nobody sets, for how long ago that is. The epoch: not known.
    std::chrono::steady_clock::time_point answered_at = {};
};

/// How a source waits between attempts that fail: first, doubled each time up to longest, each
/// anywhere between half and the whole of it, so that a fleet does not come back all at once.
struct source_backoff {
    std::chrono::milliseconds first = std::chrono::seconds(1);
    std::chrono::milliseconds longest = std::chrono::minutes(2);
};

/// Where documents come from: a file, or a configuration centre. Each has one thread of its own
/// while it is started. Gives whole documents, each at least once, the newest last; not one that
/// has the same text as the one before. Members may be called from any thread.
class CADRE_API config_source {
public:
    using listener = std::function<void(const config_document&)>;

    /// Stops.
    virtual ~config_source() = default;
    /// For messages, as `file:/etc/pools.yaml`; without passwords.
    virtual const std::string& name() const = 0;
    /// Starts its thread, on which `to` is called. What that throws counts as a failure,
    /// and it is given the document again. Throws illegal_state if it was started before.
    virtual void start(listener to) = 0;
    /// Returns when the thread has ended, within a second unless the listener takes longer. Not to
    /// be called by the listener.
    virtual void stop() = 0;
    virtual source_health health() const = 0;

    /// Who is told, on the source's thread, of a document that nobody can use, as an empty file:
    /// once, however often it is looked at. To be set before start(). A source of your own that
    /// gives all it has to the listener need not tell.
    using problem_listener = std::function<void(const std::vector<config_problem>&)>;
    virtual void on_unusable(problem_listener) {}
};

/// A document that is part of the program, and never changes.
CADRE_API std::unique_ptr<config_source> embedded_source(std::string text, document_format format,
                                                         std::string name = "embedded");

}  // namespace cadre::manage
