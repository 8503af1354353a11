// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cadrectl/commands.hpp"
#include "cadrectl/table.hpp"
#include <cadre/version.hpp>

using namespace cadre::cadrectl;

namespace {

std::string environment(const char* name, const char* otherwise) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : otherwise;
}

/// All that the command line says.
struct arguments {
    std::string url = environment("CADRE_URL", "http://127.0.0.1:7077");
    std::string token = environment("CADRE_TOKEN", "");
    std::string token_file;
    bool as_json = false;
    int timeout = 10;
    std::string pool, file, if_revision, comment;
    std::vector<std::string> pairs;
    std::uint64_t revision = 0;
    bool dry_run = false;
    double interval = 1;
    std::uint64_t rounds = 0;
};

/// Nobody, if what the environment says is no name.
std::string this_user() {
    constexpr std::size_t longest = 64;
    auto name = environment("USER", "");
    return name.size() > longest || harmless(name) != name ? std::string() : name;
}

client connect(const arguments& a) {
    std::string token = a.token;
    if (!a.token_file.empty()) {
        std::ifstream in(a.token_file);
        if (!std::getline(in, token))
            throw failure(usage, "--token-file (" + a.token_file + ") cannot be read");
        if (token.ends_with('\r')) token.pop_back();  // a file of Windows
    }
    return {a.url, token, a.timeout, {this_user(), a.comment}};
}

/// Waits for the time or a signal that ends the program; false for the latter.
bool wait_for_signal(std::chrono::milliseconds time) {
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    const timespec limit = {.tv_sec = time.count() / 1000,
                            .tv_nsec = time.count() % 1000 * 1'000'000};
    return ::sigtimedwait(&ending, nullptr, &limit) < 0;
}

/// Of the terminal that is written to, which may be another size each time; 0 if there is none.
int rows_of_terminal() {
    winsize size = {};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

exit_code watch(const context& c, const arguments& a) {
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
    return top(c, {.interval = std::chrono::milliseconds(static_cast<int>(a.interval * 1000)),
                   .rounds = a.rounds,
                   .on_terminal = ::isatty(STDOUT_FILENO) != 0 && !a.as_json,
                   .rows = rows_of_terminal,
                   .wait = wait_for_signal});
}

using command = std::function<exit_code(const context&)>;

/// CLI11's own tells of its bounds with three hundred digits.
CLI::Validator whole_number(std::uint64_t least) {
    const std::string rule = "a whole number of " + std::to_string(least) + " or more";
    return {[least, rule](const std::string& given) {
                std::uint64_t number = 0;
                const auto* end = given.data() + given.size();
                const auto read = std::from_chars(given.data(), end, number);
                const bool is_right = read.ec == std::errc() && read.ptr == end && number >= least;
                return is_right ? std::string() : given + " is not " + rule;
            },
            rule, "whole_number"};
}

void add_commands(CLI::App& app, arguments& a, command& chosen) {
    const auto add = [&](const char* name, const char* what, command run) {
        auto* sub = app.add_subcommand(name, what);
        sub->fallthrough();
        sub->callback([&chosen, run = std::move(run)] { chosen = run; });
        return sub;
    };
    const auto changes = [&](CLI::App* sub) {
        sub->add_flag("--dry-run", a.dry_run, "say what would change, and change nothing");
        sub->add_option("--comment", a.comment, "why, for the history");
    };
    auto* live = add("top", "all pools, again and again", [&](auto& c) { return watch(c, a); });
    live->add_option("--interval", a.interval, "seconds between two looks")
        ->check(CLI::Range(0.1, 3600.0));
    live->add_option("--rounds", a.rounds, "end after so many looks; 0: never")
        ->check(whole_number(0));
    add("list", "all pools, once", [](auto& c) { return list(c); });
    add("show", "a pool: settings, workers, queue, tasks, history",
        [&](auto& c) { return show(c, a.pool); })
        ->add_option("POOL", a.pool)
        ->required();
    add("validate", "whether a document is right",
        [&](auto& c) { return validate(c.out, c.as_json, a.file); })
        ->add_option("FILE", a.file)
        ->required();
    add("diff", "what a document would change; ends with 1 if anything",
        [&](auto& c) { return diff(c, a.file); })
        ->add_option("FILE", a.file)
        ->required();
    auto* put = add("apply", "make all pools of a document as it says, or none",
                    [&](auto& c) { return apply(c, a.file, a.dry_run); });
    put->add_option("FILE", a.file)->required();
    changes(put);
    auto* change = add("set", "change settings of a pool",
                       [&](auto& c) { return set(c, a.pool, a.pairs, a.dry_run, a.if_revision); });
    change->add_option("POOL", a.pool)->required();
    change->add_option("SETTINGS", a.pairs, "key=value ...")->required();
    change->add_option("--if-revision", a.if_revision,
                       "only if the pool is still at this revision");
    changes(change);
    add("history", "who changed what, latest first", [&](auto& c) {
        return history(c, a.pool);
    })->add_option("POOL", a.pool);
    auto* back = add("rollback", "settings back to those of a revision (default: before the last)",
                     [&](auto& c) { return rollback(c, a.pool, a.revision, a.dry_run); });
    back->add_option("POOL", a.pool)->required();
    back->add_option("REVISION", a.revision)->check(whole_number(1));
    changes(back);
    add("advise", "what could be better; ends with 1 if anything",
        [](auto& c) { return advise(c); });
    add("sources", "where the configuration comes from; ends with 1 if one fails or was refused",
        [](auto& c) { return sources(c); });
}

/// Of a command line that could not be read, so nothing else knows.
bool wants_json(int argc, char** argv) {
    return std::any_of(argv + 1, argv + argc,
                       [](const char* argument) { return argument == std::string_view("--json"); });
}

int run(int argc, char** argv) {
    CLI::App app("Looks at the thread pools of a running program, and changes them.", "cadrectl");
    arguments a;
    command chosen;
    app.set_version_flag("--version", std::to_string(cadre::version_major) + "." +
                                          std::to_string(cadre::version_minor) + "." +
                                          std::to_string(cadre::version_patch));
    app.add_option("--url", a.url, "the program's management address (CADRE_URL)")
        ->capture_default_str();
    app.add_option("--token", a.token, "for changes (better: CADRE_TOKEN or --token-file)");
    app.add_option("--token-file", a.token_file, "its first line is the token");
    app.add_option("--timeout", a.timeout, "seconds to wait for an answer")
        ->capture_default_str()
        ->check(CLI::Range(1, 3600));
    app.add_flag("--json", a.as_json, "the answer as JSON");
    // Not one at least: a word that is no command would only be told of as a command that is
    // missing.
    app.require_subcommand(0, 1);
    app.footer(
        "Ends with 0: done, 1: differences, advice or a source that fails, 2: bad usage,\n"
        "3: nobody answers, 4: refused, 5: the document has mistakes.");
    add_commands(app, a, chosen);
    try {
        app.parse(argc, argv);
        if (!chosen) throw CLI::RequiredError("A command");
    } catch (const CLI::ParseError& error) {
        const bool is_question = error.get_exit_code() == 0;  // --help
        if (is_question || !wants_json(argc, argv)) return app.exit(error) == 0 ? success : usage;
        std::cout << dumped({{"error", error.what()}, {"exit_code", usage}}) << "\n";
        return usage;
    }
    try {
        const auto server = connect(a);
        const auto code = chosen({server, std::cout, a.as_json});
        if (!std::cout.flush()) throw failure(unreachable, "the answer cannot be written");
        return code;
    } catch (const failure& ended) {
        if (!a.as_json) throw;
        std::cout << dumped({{"error", ended.what()}, {"exit_code", ended.code()}}) << "\n";
        return ended.code();
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const failure& ended) {
        std::cerr << "cadrectl: " << ended.what() << "\n";
        return ended.code();
    } catch (const std::exception& broken) {
        std::cerr << "cadrectl: " << broken.what() << "\n";
        return unreachable;
    }
}
