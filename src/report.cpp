// SPDX-License-Identifier: Apache-2.0

#include <cadre/detail/report.hpp>

#include <cstdio>
#include <string>

#include <cadre/detail/thread_control.hpp>

namespace cadre::detail {

namespace {

/// A line of this size fits into one write; what is longer is cut.
constexpr std::size_t longest_message = 400;

/// With blanks for line breaks and the like: names and messages are anybody's, and a reader of the
/// log must be able to tell where ours end.
std::string on_one_line(std::string_view text) {
    std::string shown(text.substr(0, longest_message));
    for (char& c : shown)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
    return shown;
}

void write_line(std::string_view where, const char* what) noexcept {
    try {
        const std::string thread = on_one_line(thread_control::current().name());
        const std::string task = on_one_line(where);
        const std::string message = on_one_line(what ? what : "(no message)");
        std::fprintf(stderr, "cadre: [%s] uncaught in %s: %s\n", thread.c_str(), task.c_str(),
                     message.c_str());
    } catch (...) {
        std::fputs("cadre: uncaught exception (and no memory to tell more)\n", stderr);
    }
}

}  // namespace

void report_uncaught(std::string_view where, const std::exception_ptr& error) noexcept {
    try {
        if (error) std::rethrow_exception(error);
    } catch (const std::exception& e) {
        const char* what = nullptr;
        try {
            what = e.what();
        } catch (...) {
            what = "an exception whose what() throws";
        }
        write_line(where, what);
    } catch (const char* text) {
        write_line(where, text);
    } catch (...) {
        write_line(where, "an exception that is no std::exception");
    }
}

}  // namespace cadre::detail
