// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>

#include "fuzz/targets.hpp"
#include "manage/apollo_release.hpp"
#include "manage/centre.hpp"
#include "manage/digest.hpp"
#include "manage/http_guard.hpp"
#include <cadre/cron.hpp>
#include <cadre/manage/configuration.hpp>
#include <cadre/manage/duration_text.hpp>
#include <cadre/manage/pool_spec.hpp>
#include <cadre/manage/settings_text.hpp>

namespace cadre::fuzz {
namespace {

using namespace manage;

bool is_utf8(std::string_view text) {
    try {  // the reader of documents has a strict one
        parse_document("key: \"" + std::string(text) + "\"", "", document_format::json);
    } catch (const configuration_error& refused) {
        return std::string_view(refused.what()).find("UTF-8") == std::string_view::npos;
    }
    return true;
}

void check_limits(const document_node& node, int depth, std::size_t& nodes) {
    const document_limits limits;
    require(depth <= limits.depth + 1, "a document deeper than its limit");
    require(++nodes <= limits.nodes, "a document of more nodes than its limit");
    for (const auto& item : node.items) check_limits(item, depth + 1, nodes);
    for (const auto& member : node.members) check_limits(member.value, depth + 1, nodes);
}

/// A document is refused with all that is wrong in it, or means something; nothing else.
void play_document(std::string_view input, document_format format) {
    try {
        const auto read = parse_document(input, "fuzz", format);
        std::size_t nodes = 0;
        check_limits(read.root, 0, nodes);
        const instance_identity here{
            .environment = "test", .host = "a1", .address = "10.0.0.7:80", .labels = {"blue"}};
        const auto meant = read_configuration(std::array{read}, here);
        for (const auto& [name, entry] : meant.pools) {
            require(!name.empty() && is_utf8(name), "a pool has no proper name");
            for (const auto& field : field_names()) {
                const auto text = field_text(entry.settings, field);
                if (text.empty()) continue;
                pool_settings again;
                set_field(again, field, text);
                require(field_text(again, field) == text, "a setting is not what it is read as");
            }
        }
        for (const auto& ignored : meant.ignored) (void)to_text(ignored);
    } catch (const configuration_error& refused) {
        require(!refused.problems().empty(), "refused for nothing");
        for (const auto& problem : refused.problems()) {
            require(!problem.rule.empty() && problem.line >= 0, "a problem without a rule");
            require(is_utf8(problem.rule), "a rule that is not UTF-8: " + problem.rule);
        }
    }
}
void play_yaml(std::string_view input) { play_document(input, document_format::yaml); }
void play_json(std::string_view input) { play_document(input, document_format::json); }
void play_toml(std::string_view input) { play_document(input, document_format::toml); }
void play_properties(std::string_view input) { play_document(input, document_format::properties); }

void play_duration(std::string_view input) {
    try {
        const auto read = parse_duration(input);
        require(read.count() >= 0, "a negative duration");
        require(parse_duration(to_text(read)) == read, "a duration does not come back");
    } catch (const std::invalid_argument&) {
        return;
    }
}

void play_settings(std::string_view input) {
    choices from(input);
    pool_settings settings;
    while (!from.empty()) {
        const auto& field = field_names()[from.below(static_cast<unsigned>(field_names().size()))];
        const auto text = from.line();
        try {
            set_field(settings, field, text);
        } catch (const std::invalid_argument&) {
            continue;
        }
        const auto shown = field_text(settings, field);
        pool_settings again;
        set_field(again, field, shown);
        require(field_text(again, field) == shown, "a setting does not come back");
    }
    require(merged(settings, {}) == settings, "merged with nothing it is another");
    try {
        (void)parse_pool_kind(input);
        (void)parse_queue_kind(input);
    } catch (const std::invalid_argument&) {
        return;
    }
}

/// The obvious way to match, which takes long for long patterns.
bool fits(std::string_view pattern, std::string_view text) {
    if (pattern.empty()) return text.empty();
    if (pattern.front() == '*')
        return fits(pattern.substr(1), text) || (!text.empty() && fits(pattern, text.substr(1)));
    return !text.empty() && (pattern.front() == '?' || pattern.front() == text.front()) &&
           fits(pattern.substr(1), text.substr(1));
}
void play_selector(std::string_view input) {
    choices from(input);
    const auto pattern = from.line();
    const bool matches = matches_glob(pattern, from.rest());
    if (pattern.size() < 8 && from.rest().size() < 12 && is_utf8(input) &&
        std::all_of(input.begin(), input.end(), [](char c) { return c > 0; }))
        require(matches == fits(pattern, from.rest()), "a pattern is matched wrongly");
}

void play_cron(std::string_view input) {
    choices from(input);
    const auto zone = from.below(2) == 0 ? cron_zone::utc : cron_zone::local;
    const std::chrono::sys_time<std::chrono::seconds> start(
        std::chrono::seconds(from.byte() * 86'400LL * 90 + from.byte() * 977LL));
    try {
        const cron_expression read(from.rest(), zone);
        require(read == cron_expression(read.text(), zone), "an expression does not come back");
        std::chrono::system_clock::time_point at = start;
        for (int i = 0; i < 8; ++i) {
            const auto next = read.next_after(at);
            if (!next) return;
            require(*next > at, "the next run is not later");
            require(read.next_after(*next - std::chrono::nanoseconds(1)) == next,
                    "a run is missed");
            if (zone == cron_zone::utc)
                require(next->time_since_epoch() % std::chrono::minutes(1) ==
                            std::chrono::system_clock::duration::zero(),
                        "a run within a minute");
            at = *next;
        }
    } catch (const std::invalid_argument& refused) {
        require(std::string_view(refused.what()).find("cron") != std::string_view::npos,
                "a message that does not say what is refused");
    }
}

void play_encodings(std::string_view input) {
    using namespace manage::detail;
    require(from_base64(to_base64(input)) == input, "base64 does not come back");
    if (const auto read = from_base64(input))
        require(to_base64(*read) == input, "base64 that is not the only one");
    (void)percent_encoded(input);
    (void)shown_url(input);
    (void)to_number(input, -1);
    (void)host_name(input);
    (void)bearer_token(input);
    require(same_secret(input, "a secret") == (input == "a secret"), "the secret is told wrongly");
    const auto quoted = json_quoted(input);
    if (is_utf8(input) && input.find('\0') == std::string_view::npos && !input.empty()) {
        const auto read = parse_document("{\"a\":" + quoted + "}", "", document_format::json);
        require(read.root.find("a")->value == input, "a quoted text does not come back");
    }
}

/// Answers of Apollo one after the other, each on a line.
void play_apollo(std::string_view input) {
    using namespace manage::detail;
    choices from(input);
    const char* const spaces[] = {"cadre.yaml", "application", "pools.json", "x.toml"};
    const std::string space = spaces[from.below(4)];
    apollo_release release;
    while (!from.empty()) try {
            auto next = release.after(json_answer(from.line(), "http://fuzz"));
            const auto document = next.document(space);
            play_document(document.text, document.format);
            release = std::move(next);
        } catch (const http_failure&) {
            release = {};
        }
}

constexpr target all[] = {
    {"yaml", play_yaml},           {"json", play_json},
    {"toml", play_toml},           {"properties", play_properties},
    {"duration", play_duration},   {"settings", play_settings},
    {"selector", play_selector},   {"cron", play_cron},
    {"encodings", play_encodings}, {"apollo", play_apollo},
};

}  // namespace

std::span<const target> text_targets() { return all; }

}  // namespace cadre::fuzz
