// SPDX-License-Identifier: Apache-2.0
//
// oracle_driver FILE plays a scenario against this library and prints its trace, byte for byte
// the one that Oracle.java prints for the JDK. The language is described in README.md.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "commands.hpp"
#include "pool_commands.hpp"
#include "queue_commands.hpp"
#include "tasks.hpp"
#include "trace.hpp"
#include "words.hpp"

namespace oracle {

namespace {

/// Lines end as the reference's do: with \n, \r\n or \r.
bool read_line(std::istream& file, std::string& line) {
    line.clear();
    for (char c; file.get(c);) {
        if (c == '\r' && file.peek() == '\n') file.get(c);
        if (c == '\r' || c == '\n') return true;
        line += c;
    }
    return !line.empty();
}

/// The next line without its comment and the blanks around it.
bool next_line(std::istream& file, std::string& line) {
    if (!read_line(file, line)) return false;
    line.resize(std::min(line.find('#'), line.size()));
    const auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
    while (!line.empty() && is_blank(line.back())) line.pop_back();
    std::size_t begin = 0;
    while (begin < line.size() && is_blank(line[begin])) ++begin;
    line.erase(0, begin);
    return true;
}

std::string snapshot() {
    const auto of_pool = pool_snapshot_text();
    return of_pool.empty() ? queue_snapshot() : of_pool;
}

void play(const command_table& commands, const std::string& line) {
    std::cout << "> " << line << '\n';
    std::string result;
    try {
        result = commands.play(words(line));
    } catch (const not_understood&) {
        throw;
    } catch (...) {
        result = fail(std::current_exception());
    }
    settle(snapshot);
    for (const auto& happened : take_events()) std::cout << "  " << happened << '\n';
    if (!result.empty()) std::cout << "  " << result << '\n';
    const auto now = snapshot();
    if (!now.empty()) std::cout << "  " << now << '\n';
    std::cout.flush();
}

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: oracle_driver FILE\n";
        return 2;
    }
    std::ifstream file(argv[1]);
    file.peek();  // a directory can be opened, but not read
    if (!file.is_open() || file.bad()) {
        std::cerr << argv[1] << ": cannot be read\n";
        return 2;
    }
    command_table commands;
    add_pool_commands(commands);
    add_queue_commands(commands);
    add_future_commands(commands);
    add_future_task_commands(commands);
    try {
        for (std::string line; next_line(file, line);)
            if (!line.empty()) play(commands, line);
    } catch (const not_understood& e) {
        std::cout.flush();
        std::cerr << argv[1] << ": " << e.what() << '\n';
        return 2;
    }
    return 0;
}

}  // namespace

}  // namespace oracle

int main(int argc, char** argv) {
    // Without destructors: tasks may wait at gates that nobody will ever open.
    const int code = oracle::main(argc, argv);
    std::cout.flush();
    std::_Exit(code);
}
