// SPDX-License-Identifier: Apache-2.0
#include "cadrectl/commands.hpp"

#include <algorithm>
#include <ctime>

#include "cadrectl/table.hpp"

namespace cadre::cadrectl {
namespace {

exit_code print_json(const context& c, const json& value) {
    c.out << value.dump(c.as_json ? -1 : 2, ' ', false, json::error_handler_t::replace) << "\n";
    return success;
}

std::string busy_of(const json& pool) {
    return text_of(pool.at("active")) + "/" + text_of(pool.at("thread_limit"));
}

std::string queue_of(const json& pool) {
    return text_of(pool.at("queue_size")) +
           (pool.at("queue_capacity").is_null() ? "" : "/" + text_of(pool.at("queue_capacity")));
}

table pool_table(const json& pools) {
    table t({"POOL", "STATE", ">BUSY/MAX", ">THREADS", ">QUEUE", ">DONE", ">DONE/S", ">REJECTED",
             ">WAIT p50", ">p99", ">RUN p50", ">p99", ">ALARMS"});
    for (const auto& p : pools)
        t.add({text_of(p.at("name")), text_of(p.at("state")), busy_of(p), text_of(p.at("threads")),
               queue_of(p), text_of(p.at("completed")), rate_of(p.at("completed_rate")),
               text_of(p.at("rejected")), duration_of(p.at("wait").at("p50")),
               duration_of(p.at("wait").at("p99")), duration_of(p.at("run").at("p50")),
               duration_of(p.at("run").at("p99")), text_of(p.at("alarms"))});
    return t;
}

/// ", memory 48 MiB of 512 MiB"; nothing if nobody tells.
std::string memory_of(const json& process) {
    const auto& resident = process.at("resident_memory_bytes");
    const auto& limit = process.at("memory_limit_bytes");
    if (resident.is_null()) return "";
    return ", memory " + bytes_of(resident) + (limit.is_null() ? "" : " of " + bytes_of(limit));
}

/// "Since it was made: submitted 12, completed 12, failed 0, ..."
std::string totals_of(const json& pool) {
    std::string text = "Since it was made:";
    const char* before = " ";
    for (const char* name :
         {"submitted", "completed", "failed", "rejected", "run_timeouts", "queue_timeouts",
          "threads_started", "threads_ended", "threads_failed"}) {
        text.append(before).append(name).append(" ").append(text_of(pool.at(name)));
        before = ", ";
    }
    return text + "\n";
}

void print_history(std::ostream& out, const json& records) {
    for (const auto& r : records) {
        const bool refused_one = r.at("kind") == "refused";
        out << (refused_one ? "refused" : "#" + text_of(r.at("revision"))) << "  "
            << text_of(r.at("at")) << "  "
            << (r.at("pool") == "" ? "a document" : text_of(r.at("pool"))) << "  "
            << text_of(r.at("kind")) << " by " << text_of(r.at("source"));
        for (const char* more : {"author", "comment", "error"})
            if (r.at(more) != "") out << "  " << text_of(r.at(more));
        out << "\n" << changes_of(r);
    }
}

exit_code print_report(const context& c, const json& report, bool dry_run) {
    if (c.as_json) return print_json(c, report);
    if (report.at("changes").empty())
        c.out << text_of(report.at("pool")) << ": nothing "
              << (dry_run ? "would change" : "changed") << "\n";
    else
        c.out << text_of(report.at("pool"))
              << (dry_run ? " would change:" : ": revision " + text_of(report.at("revision")))
              << "\n";
    c.out << changes_of(report);
    return success;
}

}  // namespace

exit_code list(const context& c) {
    const auto pools = c.server.get("/api/pools");
    if (c.as_json) return print_json(c, pools);
    c.out << pool_table(pools.at("pools")).to_string();
    return success;
}

exit_code show(const context& c, const std::string& pool) {
    const auto p = c.server.get(client::pool_path(pool));
    if (c.as_json) return print_json(c, p);
    c.out << pool_table(json::array({p})).to_string() << "\n" << totals_of(p) << "\nSettings\n";
    for (const auto& [key, value] : p.at("settings").items())
        c.out << "  " << key << " = " << text_of(value) << "\n";
    c.out << "\n";
    table workers({"THREAD", "TASK", ">FOR"});
    for (const auto& w : p.at("workers"))
        workers.add({text_of(w.at("thread")),
                     w.at("task").is_null() ? "idle" : text_of(w.at("task")),
                     w.at("task").is_null() ? "" : duration_of(w.at("age"))});
    if (!p.at("workers").empty()) c.out << workers.to_string() << "\n";
    table oldest({"WAITING LONGEST", ">FOR"});
    for (const auto& t : p.at("oldest"))
        oldest.add({text_of(t.at("name")), duration_of(t.at("age"))});
    if (!p.at("oldest").empty()) c.out << oldest.to_string() << "\n";
    table tasks(
        {"TASK", ">COUNT", ">FAILED", ">WAIT p50", ">p99", ">RUN p50", ">p90", ">p99", ">MAX"});
    for (const auto& t : p.at("tasks"))
        tasks.add({text_of(t.at("name")), text_of(t.at("run").at("count")), text_of(t.at("failed")),
                   duration_of(t.at("wait").at("p50")), duration_of(t.at("wait").at("p99")),
                   duration_of(t.at("run").at("p50")), duration_of(t.at("run").at("p90")),
                   duration_of(t.at("run").at("p99")), duration_of(t.at("run").at("max"))});
    if (!p.at("tasks").empty()) c.out << tasks.to_string() << "\n";
    for (const auto& a : p.at("alarm_list"))
        c.out << (a.at("firing").get<bool>() ? "alarm " : "alarm, over: ") << text_of(a.at("type"))
              << ": " << text_of(a.at("message"))
              << (a.at("task") == "" ? "" : ", task " + text_of(a.at("task"))) << "\n";
    if (!p.at("alarm_list").empty()) c.out << "\n";
    print_history(c.out, p.at("history"));
    return success;
}

exit_code history(const context& c, const std::string& pool) {
    const auto all = c.server.get("/api/history" +
                                  (pool.empty() ? "" : "?pool=" + client::percent_encoded(pool)));
    // A pool that is gone has one still; nobody's has none, and the server says so.
    if (!pool.empty() && all.at("history").empty()) c.server.get(client::pool_path(pool));
    if (c.as_json) return print_json(c, all);
    print_history(c.out, all.at("history"));
    return success;
}

exit_code advise(const context& c) {
    const auto answer = c.server.get("/api/advice");
    const auto& advice = answer.at("advice");
    if (c.as_json)
        print_json(c, answer);
    else if (advice.empty())
        c.out << "Nothing to advise.\n";
    else
        for (const auto& a : advice)
            c.out << text_of(a.at("pool")) << ": " << text_of(a.at("message")) << "\n";
    return advice.empty() ? success : differs;
}

exit_code sources(const context& c) {
    const auto config = c.server.get("/api/config");
    bool all_well = config.at("problems").empty();
    for (const auto& s : config.at("sources"))
        all_well = all_well && s.at("state") != "failing" && s.at("refused_revision") == "";
    const auto ends_with = all_well ? success : differs;
    if (c.as_json) {
        print_json(c, config);
        return ends_with;
    }
    if (!config.at("managed")) c.out << "The program shows no sources of configuration.\n";
    table t({"SOURCE", "STATE", "IN FORCE", "REVISION", ">SILENT FOR", ">FAILURES", "LAST ERROR"});
    for (const auto& s : config.at("sources"))
        t.add({text_of(s.at("name")), text_of(s.at("state")), text_of(s.at("origin")),
               text_of(s.at("revision")), duration_of(s.at("silent_for")),
               text_of(s.at("failures")), text_of(s.at("last_error"))});
    if (!config.at("sources").empty()) c.out << t.to_string();
    const auto lines = [&](const char* list, const std::string& before, const std::string& after) {
        for (const auto& one : config.at(list))
            c.out << before << text_of(one.is_object() ? one.at("text") : one) << after << "\n";
    };
    lines("problems", "refused: ", "");
    lines("unmatched", "unmatched: ", " is not registered");
    lines("orphans", "orphan: no document speaks of ", "");
    for (const auto& n : config.at("not_applied"))
        c.out << "not applied: " << text_of(n.at("pool")) << ": " << text_of(n.at("field"))
              << " stays " << text_of(n.at("effective")) << ", not " << text_of(n.at("wished"))
              << ": " << text_of(n.at("reason")) << "\n";
    lines("ignored", "ignored: ", "");
    if (config.at("snapshot_error") != "")
        c.out << "snapshot: " << text_of(config.at("snapshot_error")) << "\n";
    return ends_with;
}

exit_code set(const context& c, const std::string& pool, const std::vector<std::string>& pairs,
              bool dry_run, const std::string& if_revision) {
    json wished = json::object();
    for (const auto& pair : pairs) {
        const auto equals = pair.find('=');
        if (equals == std::string::npos || equals == 0)
            throw failure(usage, "\"" + pair + "\" is not key=value");
        auto& value = wished[pair.substr(0, equals)];
        if (!value.is_null()) throw failure(usage, pair.substr(0, equals) + " is there twice");
        value = pair.substr(equals + 1);
    }
    const auto path = client::pool_path(pool) + (dry_run ? "?dry_run=true" : "");
    return print_report(c, c.server.send("PATCH", path, wished, if_revision), dry_run);
}

exit_code rollback(const context& c, const std::string& pool, std::uint64_t revision,
                   bool dry_run) {
    if (revision == 0) {
        const auto history = c.server.get(client::pool_path(pool)).at("history");
        int found = 0;
        for (const auto& record : history)
            if (record.at("kind") != "refused" && ++found == 2)
                revision = record.at("revision").get<std::uint64_t>();
        if (revision == 0) throw failure(refused, pool + " was never changed");
    }
    const auto path = client::pool_path(pool) + "/rollback" + (dry_run ? "?dry_run=true" : "");
    return print_report(c, c.server.send("POST", path, {{"revision", revision}}), dry_run);
}

namespace {

/// The first lines, as many as there is room for. One more would move the first out of sight.
std::string fitted(const std::string& text, int rows) {
    const auto lines = std::count(text.begin(), text.end(), '\n');
    if (rows < 2 || lines < rows) return text;
    std::size_t end = 0;
    for (int i = 1; i < rows; ++i) end = text.find('\n', end) + 1;
    return text.substr(0, end) + "... and " + std::to_string(lines - rows + 1) + " more";
}

}  // namespace

exit_code top(const context& c, const top_options& options) {
    for (std::uint64_t round = 1;; ++round) {
        const auto pools = c.server.get("/api/pools");
        if (c.as_json) {
            print_json(c, pools);
        } else {
            const auto now = static_cast<std::time_t>(pools.at("time").get<double>());
            std::tm parts = {};
            ::localtime_r(&now, &parts);
            std::array<char, 16> clock = {};
            std::strftime(clock.data(), clock.size(), "%H:%M:%S", &parts);
            // What is wider than the terminal it cuts, for the time of this table.
            if (options.on_terminal) c.out << "\033[?7l\033[H\033[2J";
            const auto text = std::string(clock.data()) + "  " +
                              std::to_string(pools.at("pools").size()) + " pools, revision " +
                              text_of(pools.at("revision")) + memory_of(pools.at("process")) +
                              (options.on_terminal ? "; Ctrl-C ends" : "") + "\n\n" +
                              pool_table(pools.at("pools")).to_string();
            c.out << fitted(text, options.rows ? options.rows() : 0)
                  << (options.on_terminal ? "\033[?7h" : "\n");
        }
        c.out.flush();
        if (round == options.rounds || !options.wait(options.interval)) return success;
    }
}

}  // namespace cadre::cadrectl
