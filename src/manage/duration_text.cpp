// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/duration_text.hpp>

#include <array>
#include <charconv>
#include <limits>
#include <stdexcept>
#include <string>

namespace cadre::manage {
namespace {

using std::chrono::nanoseconds;

struct unit {
    std::string_view name;
    std::int64_t nanoseconds;
};

constexpr std::int64_t second = 1'000'000'000;
// Largest first, for to_text.
constexpr std::array units{unit{"d", 86'400 * second},
                           unit{"h", 3'600 * second},
                           unit{"m", 60 * second},
                           unit{"s", second},
                           unit{"ms", 1'000'000},
                           unit{"us", 1'000},
                           unit{"ns", 1}};

[[noreturn]] void refuse(std::string_view text, const char* rule) {
    throw std::invalid_argument("duration \"" + std::string(text) + "\": " + rule);
}

}  // namespace

nanoseconds parse_duration(std::string_view text) {
    std::int64_t total = 0;
    std::string_view rest = text;
    if (rest.empty()) refuse(text, "must be a number and a unit, as 60s or 500ms");
    while (!rest.empty()) {
        std::int64_t number = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
        if (error == std::errc::result_out_of_range) refuse(text, "is longer than 292 years");
        if (error != std::errc() || number < 0)
            refuse(text, "must be a number and a unit, as 60s or 500ms");
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        const auto letters = rest.substr(0, rest.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
        if (letters.empty() && number == 0 && rest.empty() && total == 0) return {};
        const unit* found = nullptr;
        for (const auto& u : units)
            if (u.name == letters) found = &u;
        if (found == nullptr) refuse(text, "needs a unit: ns, us, ms, s, m, h or d");
        std::int64_t part = 0;
        if (__builtin_mul_overflow(number, found->nanoseconds, &part) ||
            __builtin_add_overflow(total, part, &total))
            refuse(text, "is longer than 292 years");
        rest.remove_prefix(letters.size());
    }
    return nanoseconds(total);
}

std::string to_text(nanoseconds d) {
    const std::int64_t count = d.count();
    if (count == 0) return "0s";
    for (const auto& u : units)
        if (count % u.nanoseconds == 0)
            return std::to_string(count / u.nanoseconds) + std::string(u.name);
    return std::to_string(count) + "ns";
}

}  // namespace cadre::manage
