// SPDX-License-Identifier: Apache-2.0
#include "manage/http_api.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <stdexcept>

#include "manage/config_view.hpp"
#include "manage/configuration_reader.hpp"
#include "manage/dashboard_page.hpp"
#include "manage/document_builder.hpp"
#include "manage/harmless.hpp"
#include "manage/http_guard.hpp"
#include "manage/http_views.hpp"
#include "manage/json_value.hpp"
#include "manage/plane_views.hpp"
#include "manage/process_memory.hpp"
#include <cadre/errors.hpp>
#include <cadre/manage/settings_text.hpp>

namespace cadre::manage::detail {
namespace {

constexpr int deepest_body = 4;

http_response ok(const json& body) { return {.body = dump(body)}; }

http_response problem(int status, const std::string& what) {
    return {.status = status, .body = dump({{"error", what}})};
}

/// A request that cannot be understood.
struct bad_request : std::runtime_error {
    using runtime_error::runtime_error;
};

/// A pool that is not there.
struct unknown_pool : std::invalid_argument {
    explicit unknown_pool(const std::string& name)
        : invalid_argument("no pool is named \"" + name + "\"") {}
};

std::shared_ptr<managed_pool> pool_named(const pool_registry& registry, const std::string& name) {
    auto pool = registry.find(name);
    if (!pool) throw unknown_pool(name);
    return pool;
}

json body_of(const http_request& request) {
    if (!request.content_type.starts_with("application/json"))
        throw bad_request("the Content-Type must be application/json");
    std::array<std::set<std::string>, deepest_body + 2> keys;  // of the object at each depth
    const auto check = [&](int depth, json::parse_event_t event, const json& parsed) {
        if (depth > deepest_body) throw bad_request("the body is nested too deeply");
        const auto level = static_cast<std::size_t>(depth);
        if (event == json::parse_event_t::object_start) keys.at(level + 1).clear();
        if (event == json::parse_event_t::key && !keys.at(level).insert(parsed).second)
            throw bad_request("the body has the key " + dump(parsed) + " twice");
        return true;
    };
    json body;
    try {
        body = json::parse(request.body.empty() ? "{}" : request.body, check);
    } catch (const json::exception&) {
        throw bad_request("the body is no JSON");
    }
    if (!body.is_object()) throw bad_request("the body must be a JSON object");
    return body;
}

/// A setting as its text: 8, true and "60s" are all welcome.
std::string text_of(const std::string& field, const json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_integer() || value.is_boolean()) return value.dump();
    constexpr std::size_t enough = 80;
    throw std::invalid_argument(field + ": must be a whole number, true, false or a text, not " +
                                shortened(dump(value), enough));
}

pool_settings settings_of(const json& body) {
    pool_settings settings;
    for (const auto& [field, value] : body.items())
        set_field(settings, field, text_of(field, value));
    return settings;
}

/// As of a document. A pool that has more from its code may keep that.
void check_sizes(const managed_pool& pool, const pool_settings& wished) {
    const auto now = pool.settings();
    const auto check = [](const char* field, std::optional<int> to, std::optional<int> from) {
        if (to && *to > most_threads && *to > from.value_or(0))
            throw std::invalid_argument(std::string(field) + " (" + std::to_string(*to) +
                                        ") is above " + std::to_string(most_threads));
    };
    check("core_pool_size", wished.core_pool_size, now.core_pool_size);
    check("maximum_pool_size", wished.maximum_pool_size, now.maximum_pool_size);
}

std::uint64_t number_of(std::string_view text, const char* what) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
        throw bad_request(std::string(what) + " must be a whole number");
    return number;
}

std::string query_of(const http_request& request, const std::string& key) {
    const auto found = request.query.find(key);
    return found == request.query.end() ? std::string() : found->second;
}

/// A parameter that is not understood may have been meant to be this one, so nothing is changed.
bool is_dry(const http_request& request) {
    bool dry = false;
    for (const auto& [key, value] : request.query) {
        if (key != "dry_run")
            throw bad_request("a change has no parameter \"" + key + "\", only dry_run");
        dry = value == "true" || value == "1";
        if (!dry && value != "false" && value != "0")
            throw bad_request("dry_run must be true or false");
    }
    return dry;
}

/// What people say of themselves and of a change: a line that can be shown anywhere.
const std::string& checked_line(const std::string& text, const char* header, std::size_t most) {
    const bool is_utf8 = json(text).dump(-1, ' ', false, json::error_handler_t::ignore) ==
                         json(text).dump(-1, ' ', false, json::error_handler_t::replace);
    if (text.size() > most || harmless(text) != text || !is_utf8)
        throw bad_request(std::string(header) + " must be one line of UTF-8 without control " +
                          "characters and of at most " + std::to_string(most) + " bytes");
    return text;
}

/// Who it is nobody has checked: the address stays beside the name.
change_origin origin_of(const http_request& request) {
    const auto& name = checked_line(request.author, "Cadre-Author", 64);
    change_origin origin = {
        .source = "http",
        .author = name.empty() ? request.peer : name + " (" + request.peer + ")",
        .comment = checked_line(request.comment, "Cadre-Comment", 256)};
    if (!request.if_match.empty()) {
        std::string_view tag = request.if_match;
        if (tag.size() >= 2 && tag.front() == '"' && tag.back() == '"')
            tag = tag.substr(1, tag.size() - 2);
        origin.only_if_revision = number_of(tag, "If-Match");
    }
    return origin;
}

/// As for the change itself: who looked at older values shall not take the preview for his.
void check_revision(const managed_pool& pool, const change_origin& origin) {
    if (origin.only_if_revision && *origin.only_if_revision != pool.revision())
        throw illegal_state("pool '" + pool.name() + "' is at revision " +
                            std::to_string(pool.revision()) + ", not " +
                            std::to_string(*origin.only_if_revision));
}

/// The rest of the path after `prefix`, if it begins with that.
std::optional<std::string> after(const std::string& path, std::string_view prefix) {
    if (!path.starts_with(prefix) || path.size() == prefix.size()) return std::nullopt;
    return path.substr(prefix.size());
}

constexpr std::string_view pools_path = "/api/pools/";
constexpr std::string_view rollback_suffix = "/rollback";

}  // namespace

http_api::http_api(pool_registry& registry, const pool_sampler& sampler,
                   const http_server_options& options, clock now)
    : registry_(registry), sampler_(sampler), options_(options), now_(std::move(now)) {}

http_response http_api::answer(const http_request& request) const {
    if (auto refusal = refusal_of(request, options_.allowed_hosts); refusal.status != 0)
        return refusal;
    const auto refused = [&](int status, const char* why) {
        if (request.method != "GET")
            log("http: " + request.peer + " was refused " + request.method + " " + request.path +
                ": " + why);
        return problem(status, why);
    };
    try {
        return request.method == "GET" ? look(request) : change(request);
    } catch (const bad_request& bad) {
        return refused(400, bad.what());
    } catch (const unknown_pool& missing) {
        return refused(404, missing.what());
    } catch (const std::invalid_argument& wrong) {
        return refused(422, wrong.what());
    } catch (const illegal_state& conflict) {
        return refused(409, conflict.what());
    }
}

http_response http_api::look(const http_request& request) const {
    const auto& path = request.path;
    if (path == "/" || path == "/index.html")
        return {.content_type = "text/html; charset=utf-8",
                .body = std::string(dashboard_page()),
                .headers = {{"Content-Security-Policy", "frame-ancestors 'none'"}}};
    if (path == "/healthz") return ok({{"status", "ok"}, {"pools", registry_.pools().size()}});
    if (path == "/metrics")
        return {.content_type = "text/plain; version=0.0.4; charset=utf-8",
                .body = metrics_of(registry_, sampler_, options_) + own_metrics()};
    if (path == "/api/pools") {
        json pools = json::array();
        for (const auto& pool : registry_.pools()) {
            pools.push_back(summary_of(*pool, sampler_));
            pools.back()["alarms"] = firing_alarms(options_, pool->name());
        }
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        return ok({{"time", std::chrono::duration<double>(now).count()},
                   {"writable", !options_.token.empty()},
                   {"sample_interval", std::chrono::duration<double>(sampler_.interval()).count()},
                   {"revision", registry_.revision()},
                   {"alarms", firing_alarms(options_)},
                   {"process", json_of(memory_of_process())},
                   {"pools", std::move(pools)}});
    }
    if (path == "/api/samples") {
        const auto since = query_of(request, "since");
        double time = 0;
        const auto read = std::from_chars(since.data(), since.data() + since.size(), time);
        if (!since.empty() && (read.ec != std::errc() || read.ptr != since.data() + since.size()))
            return problem(400, "since must be a number of seconds");
        return ok(samples_of(sampler_, time));
    }
    if (path == "/api/history")
        return ok({{"history", history_of(registry_.history(), query_of(request, "pool"))}});
    if (path == "/api/config") return ok(config_of(options_.config));
    if (path == "/api/alarms") return ok({{"alarms", alarms_of(options_, "")}});
    if (path == "/api/advice") return ok({{"advice", advice_of(registry_, sampler_.advisers())}});
    if (const auto name = after(path, pools_path)) {
        const auto pool = pool_named(registry_, *name);
        auto all = detail_of(*pool, sampler_, registry_.history());
        all["alarms"] = firing_alarms(options_, *name);
        all["alarm_list"] = alarms_of(options_, *name);
        return ok(all);
    }
    return problem(404, "there is nothing here");
}

http_response http_api::missing_right(const http_request& request) const {
    if (options_.token.empty()) return problem(403, "changes are not switched on");
    const auto now = now_();
    if (guesses_.is_silenced(request.peer, now)) {
        auto refusal = problem(429, "too many wrong tokens");
        const auto wait = std::chrono::seconds(failed_guesses::window);
        refusal.headers.emplace("Retry-After", std::to_string(wait.count()));
        return refusal;
    }
    if (same_secret(bearer_token(request.authorization), options_.token)) return {.status = 0};
    guesses_.add(request.peer, now);
    options_.log("http: a change was refused to " + request.peer + ", who has no valid token");
    auto refusal = problem(401, "a valid token is needed");
    refusal.headers.emplace("WWW-Authenticate", "Bearer");
    return refusal;
}

http_response http_api::change(const http_request& request) const {
    if (auto refusal = missing_right(request); refusal.status != 0) return refusal;
    const auto& path = request.path;
    if (request.method == "POST" && path == "/api/session") return ok(json::object());
    if (request.method == "PATCH" && path == "/api/pools") return change_several(request);
    if (auto name = after(path, pools_path)) {
        if (request.method == "PATCH") return change_pool(request, *name);
        if (name->size() > rollback_suffix.size() && name->ends_with(rollback_suffix)) {
            name->resize(name->size() - rollback_suffix.size());
            return roll_back(request, *name);
        }
    }
    return problem(404, "there is nothing here to change");
}

/// What is refused before the registry hears of it is in its history all the same.
template <class Read>
auto http_api::noted(const http_request& request, const std::string& pool, Read read) const {
    try {
        return read();
    } catch (const std::invalid_argument& refused) {
        if (!is_dry(request)) registry_.note_refusal(origin_of(request), refused.what(), pool);
        throw;
    }
}

http_response http_api::change_pool(const http_request& request, const std::string& name) const {
    const auto body = body_of(request);
    const auto origin = origin_of(request);
    const bool dry = is_dry(request);
    const auto pool = noted(request, name, [&] { return pool_named(registry_, name); });
    const auto wished = noted(request, name, [&] {
        auto settings = settings_of(body);
        check_sizes(*pool, settings);
        return settings;
    });
    if (dry) {
        check_revision(*pool, origin);
        return ok(json_of(pool->preview(wished)));
    }
    const auto report = pool->reconfigure(wished, origin);
    log(origin, {report});
    return ok(json_of(report));
}

http_response http_api::change_several(const http_request& request) const {
    const auto body = body_of(request);
    const bool dry = is_dry(request);
    std::vector<pool_change> changes;
    if (!request.if_match.empty())
        throw bad_request("If-Match is of one pool, and this is for several");
    const auto origin = origin_of(request);
    if (!body.contains("pools") || !body.at("pools").is_object() || body.size() != 1)
        throw bad_request("the body must be {\"pools\": {NAME: {SETTING: VALUE}}}");
    for (const auto& [name, settings] : body.at("pools").items())
        if (!settings.is_object()) throw bad_request("the settings of a pool must be an object");
    for (const auto& [name, settings] : body.at("pools").items())
        changes.push_back(noted(request, name, [&, &pool = name, &said = settings] {
            pool_change wished{pool, settings_of(said)};
            check_sizes(*pool_named(registry_, pool), wished.settings);
            return wished;
        }));
    const auto reports = dry ? registry_.preview(changes) : registry_.reconfigure(changes, origin);
    if (!dry) log(origin, reports);
    json all = json::array();
    for (const auto& report : reports) all.push_back(json_of(report));
    return ok({{"reports", std::move(all)}});
}

http_response http_api::roll_back(const http_request& request, const std::string& name) const {
    const auto body = body_of(request);
    if (!body.contains("revision") || !body.at("revision").is_number_unsigned())
        throw bad_request("the body must be {\"revision\": NUMBER}");
    const auto revision = body.at("revision").get<std::uint64_t>();
    const auto origin = origin_of(request);
    const bool dry = is_dry(request);
    const auto pool = noted(request, name, [&] { return pool_named(registry_, name); });
    if (dry) {
        check_revision(*pool, origin);
        return ok(json_of(pool->preview_rollback(revision)));
    }
    const auto report = pool->rollback(revision, origin);
    log(origin, {report});
    return ok(json_of(report));
}

std::string http_api::own_metrics() const {
    return "# HELP cadre_http_wrong_tokens_total Changes that were refused for want of the token\n"
           "# TYPE cadre_http_wrong_tokens_total counter\n"
           "cadre_http_wrong_tokens_total " +
           std::to_string(guesses_.total()) + "\n";
}

void http_api::log(const std::string& line) const {
    options_.log(harmless(line));  // what people enter may not look like a line of its own
}

void http_api::log(const change_origin& origin, const std::vector<change_report>& reports) const {
    for (const auto& report : reports) {
        if (report.changes.empty() && report.not_applied.empty()) continue;
        std::string line = "http: " + origin.author + " changed " + report.pool + " (revision " +
                           std::to_string(report.revision) + ")";
        for (const auto& c : report.changes)
            line += " " + c.field + ": " + c.before + " -> " + c.after;
        for (const auto& n : report.not_applied)
            line += " " + n.field + " not as wished: " + n.reason;
        log(line);
    }
}

}  // namespace cadre::manage::detail
