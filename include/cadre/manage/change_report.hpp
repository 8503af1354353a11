// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cadre/detail/export.hpp>
#include <cadre/manage/pool_settings.hpp>

namespace cadre::manage {

/// Who wants a change, for the history.
struct change_origin {
    std::string source = "code";  ///< where it came from: code, `file:/etc/pools.yaml`, http, ...
    std::string source_revision = {};  ///< what that source calls its version
    std::string author = {};           ///< empty if the source does not say
    std::string comment = {};
    /// If given, the change is refused unless the pool is still at this revision, so that of two
    /// people who looked at the same values only the first changes them.
    std::optional<std::uint64_t> only_if_revision = {};
};

/// A field that has another value now.
struct field_change {
    std::string field;
    std::string before;
    std::string after;
    friend bool operator==(const field_change&, const field_change&) = default;
};

/// A field that was asked for and is not as wished.
struct field_not_applied {
    std::string field;
    std::string wished;
    std::string effective;
    std::string reason;
    friend bool operator==(const field_not_applied&, const field_not_applied&) = default;
};

/// What came of a change. The values are those that the pool has, never those that were wished.
struct change_report {
    std::string pool = {};
    /// Of the pool, after the change; that of before if nothing changed or in a preview.
    std::uint64_t revision = 0;
    std::vector<field_change> changes = {};
    std::vector<field_not_applied> not_applied = {};
    /// What went wrong without making the change undone: a thread that could not be started.
    std::vector<std::string> warnings = {};
    pool_settings before = {};
    pool_settings after = {};

    bool changed() const { return !changes.empty(); }
};

enum class change_kind { registered, changed, rolled_back, removed, refused };
/// registered, changed, rolled_back, removed, refused.
CADRE_API const char* to_text(change_kind kind);

/// A line of the history.
struct change_record {
    /// Grows by one with each record that is not a refusal; a refusal has 0.
    std::uint64_t revision = 0;
    change_kind kind = change_kind::changed;
    std::string pool = {};  ///< empty: none, for a document was refused
    std::chrono::system_clock::time_point at = {};
    change_origin origin = {};
    std::vector<field_change> changes = {};
    std::vector<field_not_applied> not_applied = {};
    std::vector<std::string> warnings = {};
    std::string error = {};       ///< of a refusal: why
    pool_settings settings = {};  ///< as they were after it
};

}  // namespace cadre::manage
