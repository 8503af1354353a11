// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "cadrectl/client.hpp"

/// What cadrectl can do. Each writes its result to `out`, as JSON if asked, and returns how the
/// program should end; throws failure.
namespace cadre::cadrectl {

struct context {
    const client& server;
    std::ostream& out;
    bool as_json = false;
};

exit_code list(const context& c);
exit_code show(const context& c, const std::string& pool);
exit_code history(const context& c, const std::string& pool);
exit_code advise(const context& c);
/// The sources of the configuration, and what became of their documents.
exit_code sources(const context& c);

/// `pairs` are key=value.
exit_code set(const context& c, const std::string& pool, const std::vector<std::string>& pairs,
              bool dry_run, const std::string& if_revision);
/// To the settings after that revision; without one, to those before the last change.
exit_code rollback(const context& c, const std::string& pool, std::uint64_t revision, bool dry_run);

// With a document: docs/configuration.md.
exit_code validate(std::ostream& out, bool as_json, const std::string& file);
exit_code diff(const context& c, const std::string& file);
exit_code apply(const context& c, const std::string& file, bool dry_run);

struct top_options {
    std::chrono::milliseconds interval = std::chrono::seconds(1);
    std::uint64_t rounds = 0;  ///< 0: until `wait` says so
    bool on_terminal = false;  ///< draws over what it drew before
    /// Lines that the terminal has room for now; empty, or 0: any number.
    std::function<int()> rows = {};
    /// Waits that long; false if it should end.
    std::function<bool(std::chrono::milliseconds)> wait;
};
exit_code top(const context& c, const top_options& options);

}  // namespace cadre::cadrectl
