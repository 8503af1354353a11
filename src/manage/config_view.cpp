// SPDX-License-Identifier: Apache-2.0
#include "manage/config_view.hpp"

namespace cadre::manage::detail {
namespace {

/// Seconds since 1970; null if it never was.
json moment(std::chrono::system_clock::time_point t) {
    if (t == std::chrono::system_clock::time_point()) return nullptr;
    return std::chrono::duration<double>(t.time_since_epoch()).count();
}

json problems_of(const std::vector<config_problem>& problems) {
    json all = json::array();
    for (const auto& p : problems)
        all.push_back({{"file", p.file},
                       {"line", p.line},
                       {"key", p.key},
                       {"rule", p.rule},
                       {"text", to_text(p)}});
    return all;
}

json json_of(const source_status& source) {
    return {{"name", source.name},
            {"state", to_text(source.health.state)},
            {"origin", to_text(source.origin)},
            {"revision", source.revision},
            {"refused_revision", source.refused_revision},
            {"last_success", moment(source.health.last_success)},
            {"silent_for", seconds(source.silent_for)},
            {"failures", source.health.failures},
            {"last_error", source.health.last_error},
            {"documents", source.health.documents}};
}

}  // namespace

json config_of(const config_manager* manager) {
    const auto status = manager == nullptr ? config_status() : manager->status();
    json sources = json::array();
    for (const auto& source : status.sources) sources.push_back(json_of(source));
    json not_applied = json::array();
    for (const auto& [pool, field] : status.not_applied)
        not_applied.push_back({{"pool", pool},
                               {"field", field.field},
                               {"wished", field.wished},
                               {"effective", field.effective},
                               {"reason", field.reason}});
    return {{"managed", manager != nullptr},
            {"applied", status.applied},
            {"refused", status.refused},
            {"last_applied", moment(status.last_applied)},
            {"sources", std::move(sources)},
            {"problems", problems_of(status.problems)},
            {"ignored", problems_of(status.ignored)},
            {"unmatched", status.unmatched},
            {"orphans", status.orphans},
            {"not_applied", std::move(not_applied)},
            {"snapshot_error", status.snapshot_error}};
}

}  // namespace cadre::manage::detail
