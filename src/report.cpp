// SPDX-License-Identifier: Apache-2.0

#include <cadre/detail/report.hpp>

#include <algorithm>
#include <cstdio>
#include <string>

#include <cadre/detail/thread_control.hpp>

namespace cadre::detail {

namespace {

/// A line of this size fits into one write; what is longer is cut.
constexpr std::size_t longest_message = 400;

void write_line(std::string_view where, const char* what) noexcept {
    try {
        const std::string thread = thread_control::current().name();
        const std::string_view message(what ? what : "(no message)");
        const std::string_view shown = message.substr(0, longest_message);
        std::fprintf(stderr, "cadre: [%s] uncaught in %.*s: %.*s\n", thread.c_str(),
                     static_cast<int>(std::min(where.size(), longest_message)), where.data(),
                     static_cast<int>(shown.size()), shown.data());
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
