// SPDX-License-Identifier: Apache-2.0
// The commands that read a document, by the same reader as the library.

#include <array>
#include <filesystem>
#include <fstream>

#include "cadrectl/commands.hpp"
#include "cadrectl/table.hpp"
#include <cadre/manage/configuration.hpp>
#include <cadre/manage/rejection_policies.hpp>
#include <cadre/manage/settings_text.hpp>

namespace cadre::cadrectl {
namespace {

using manage::configuration;

/// Throws configuration_error with all that is wrong.
configuration read_or_problems(const std::string& file) {
    const auto refuse = [&](std::string rule) {
        throw manage::configuration_error({{.file = file, .rule = std::move(rule)}});
    };
    std::ifstream in(file, std::ios::binary);
    if (!in || std::filesystem::is_directory(file)) refuse("cannot be read");
    constexpr std::size_t most = manage::document_limits{}.bytes;
    std::string text(most + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (in.bad()) refuse("cannot be read");
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > most) refuse("has more than " + std::to_string(most) + " bytes");
    auto format = manage::document_format::yaml;
    try {
        format = manage::format_of(file);
    } catch (const std::invalid_argument& error) {
        refuse(error.what());
    }
    return manage::read_configuration(std::array{manage::parse_document(text, file, format)},
                                      manage::instance_identity::of_this_process());
}

configuration read(const std::string& file) {
    try {
        return read_or_problems(file);
    } catch (const manage::configuration_error& error) {
        throw failure(bad_file, error.what());
    }
}

/// Field by field, as the server takes them.
json settings_of(const manage::pool_settings& settings) {
    json all = json::object();
    for (const auto& field : manage::field_names())
        if (const auto text = manage::field_text(settings, field); !text.empty()) all[field] = text;
    return all;
}

/// What may be right, but not for every program.
json notes_of(const configuration& read_one) {
    json notes = json::array();
    const auto note = [&](const manage::pool_entry& entry, const char* key, std::string rule) {
        const auto& at = entry.places.at(entry.places.contains(key) ? key : "");
        notes.push_back(manage::to_text({at.file, at.line, at.key, std::move(rule)}));
    };
    for (const auto& [name, entry] : read_one.pools) {
        if (entry.kind == "eager" || entry.kind == "ordered")
            note(entry, "kind", entry.kind + " is DynamicTp's; the pool is a common one here");
        const auto& policy = entry.settings.rejection;
        if (!policy || *policy == "custom") continue;
        try {
            static_cast<void>(manage::rejection_policies::make(*policy));
        } catch (const std::invalid_argument&) {
            note(entry, "rejection", *policy + " must be registered by the program");
        }
    }
    return notes;
}

/// True if the pool has this as it is, for its life.
bool is_fixed(const json& pool, const std::string& field) {
    const bool scheduled = pool.at("kind") == "scheduled";
    if (field == "maximum_pool_size") return scheduled;
    return field == "queue_capacity" && (scheduled || pool.at("queue_type") != "linked");
}

/// What a pool shall be by the document, as far as it is not: what that says, and where it says
/// nothing, what the code made the pool with, if the history still has that.
struct pool_difference {
    bool exists = true;
    json changes = json::array();
    json fixed = json::array();  ///< likewise, but nothing can be done about it
};

pool_difference difference(const client& server, const std::string& name,
                           const manage::pool_entry& entry) {
    json pool;
    try {
        pool = server.get(client::pool_path(name));
    } catch (const failure& missing) {
        if (missing.code() != refused) throw;
        return {.exists = false};
    }
    json wished = json::object();
    for (const auto& record : pool.at("history")) {
        if (record.at("kind") != "registered") continue;
        if (record.at("source") == "code") wished = record.at("settings");
        break;
    }
    for (const auto& field : manage::field_names())
        if (is_fixed(pool, field)) wished.erase(field);
    wished.update(settings_of(entry.settings));
    pool_difference result;
    const auto& now = pool.at("settings");
    for (const auto& [field, value] : wished.items()) {
        const auto before = now.contains(field) ? text_of(now.at(field)) : "";
        const auto after = text_of(value);
        if (before == after) continue;
        (is_fixed(pool, field) ? result.fixed : result.changes)
            .push_back({{"field", field}, {"before", before}, {"after", after}});
    }
    return result;
}

}  // namespace

exit_code validate(std::ostream& out, bool as_json, const std::string& file) {
    configuration read_one;
    try {
        read_one = read_or_problems(file);
    } catch (const manage::configuration_error& wrong) {
        if (!as_json) throw failure(bad_file, wrong.what());
        json problems = json::array();
        for (const auto& problem : wrong.problems()) problems.push_back(manage::to_text(problem));
        out << dumped({{"valid", false}, {"problems", problems}}) << "\n";
        return bad_file;
    }
    json ignored = json::array();
    for (const auto& problem : read_one.ignored) ignored.push_back(manage::to_text(problem));
    const json notes = notes_of(read_one);
    if (as_json) {
        out << dumped({{"valid", true},
                       {"pools", read_one.pools.size()},
                       {"ignored", ignored},
                       {"notes", notes}})
            << "\n";
        return success;
    }
    for (const auto& text : notes) out << "note: " << text_of(text) << "\n";
    for (const auto& problem : ignored) out << "ignored: " << text_of(problem) << "\n";
    out << file << ": valid, " << read_one.pools.size() << " pools\n";
    return success;
}

exit_code diff(const context& c, const std::string& file) {
    const auto wished = read(file);
    json pools = json::array();
    bool any = false;
    for (const auto& [name, entry] : wished.pools) {
        const auto found = difference(c.server, name, entry);
        any = any || !found.exists || !found.changes.empty();
        pools.push_back({{"pool", name},
                         {"exists", found.exists},
                         {"changes", found.changes},
                         {"fixed", found.fixed}});
    }
    if (c.as_json) {
        c.out << dumped({{"pools", pools}}) << "\n";
        return any ? differs : success;
    }
    for (const auto& pool : pools) {
        if (!pool.at("exists")) c.out << text_of(pool.at("pool")) << ": there is no such pool\n";
        if (pool.at("changes").empty() && pool.at("fixed").empty()) continue;
        c.out << text_of(pool.at("pool")) << ":\n";
        for (const auto& field : pool.at("fixed"))
            c.out << "  " << text_of(field.at("field")) << " stays " << text_of(field.at("before"))
                  << ": this pool cannot be given another\n";
        for (const auto& change : pool.at("changes"))
            c.out << "  " << text_of(change.at("field")) << ": " << text_of(change.at("before"))
                  << " -> " << text_of(change.at("after")) << "\n";
    }
    return any ? differs : success;
}

exit_code apply(const context& c, const std::string& file, bool dry_run) {
    json pools = json::object();
    for (const auto& [name, entry] : read(file).pools) {
        auto& settings = pools[name] = settings_of(entry.settings);
        for (const auto& change : difference(c.server, name, entry).changes)
            settings[change.at("field").get<std::string>()] = change.at("after");
    }
    const auto answer = c.server.send(
        "PATCH", std::string("/api/pools") + (dry_run ? "?dry_run=true" : ""), {{"pools", pools}});
    if (c.as_json) {
        c.out << dumped(answer) << "\n";
        return success;
    }
    for (const auto& report : answer.at("reports")) {
        c.out << text_of(report.at("pool")) << (report.at("changes").empty() ? ": as it is" : ":")
              << "\n"
              << changes_of(report);
    }
    return success;
}

}  // namespace cadre::cadrectl
