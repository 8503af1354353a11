// SPDX-License-Identifier: Apache-2.0

#include "cron_parser.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace cadre::detail {

namespace {

constexpr std::size_t longest_text = 512;  // every value of every field in a list fits

struct field_rule {
    std::string_view name;
    int least;
    int most;
    std::string_view value_names;  // of three letters each, the first for `least`
};

constexpr field_rule minute_rule{"minute", 0, 59, ""};
constexpr field_rule hour_rule{"hour", 0, 23, ""};
constexpr field_rule day_rule{"day of month", 1, 31, ""};
constexpr field_rule month_rule{"month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"};
constexpr field_rule weekday_rule{"day of week", 0, 7, "sunmontuewedthufrisat"};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> nicknames{{
    {"@hourly", "0 * * * *"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"},
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
}};

// Of ASCII only, whatever the locale.
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result) c = lower(c);
    return result;
}

/// One column for each byte, so that a caret finds its place.
std::string printable(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        if (c == '\t')
            c = ' ';
        else if (c < ' ' || c > '~')
            c = '?';
    return result;
}

/// Two lines: the text around the position, and a caret under it.
std::string pointed_at(std::string_view text, std::size_t position) {
    constexpr std::size_t before = 60, width = 100;
    const std::size_t begin = position > before ? position - before : 0;
    std::string line = begin > 0 ? "  ..." : "  ";
    const std::string caret(line.size() + position - begin, ' ');
    line += printable(text.substr(begin, width));
    if (text.size() > begin + width) line += "...";
    return line + "\n" + caret + "^";
}

std::string allowed(const field_rule& rule) {
    const std::string range = std::to_string(rule.least) + " to " + std::to_string(rule.most);
    const auto names = rule.value_names;
    if (names.empty()) return range;
    return range + " or " + std::string(names.substr(0, 3)) + " to " +
           std::string(names.substr(names.size() - 3));
}

class parser {
public:
    explicit parser(std::string_view text) : text_(text) {}

    cron_fields parse() {
        if (text_.size() > longest_text)
            refuse(longest_text, "it is longer than " + std::to_string(longest_text) +
                                     " characters (" + std::to_string(text_.size()) + ")");
        skip_blanks();
        if (at_end()) refuse(at_, "it is empty; five fields or a name like @daily are needed");
        const auto fields = text_[at_] == '@' ? nickname() : five_fields();
        skip_blanks();
        if (!at_end()) refuse(at_, "nothing may follow, but there is " + found());
        return fields;
    }

private:
    [[noreturn]] void refuse(std::size_t position, const std::string& why) const {
        const std::string place =
            position < text_.size() ? "character " + std::to_string(position + 1) : "its end";
        throw std::invalid_argument("cron expression refused at " + place + ": " + why +
                                    hint(position) + "\n" + pointed_at(text_, position));
    }

    /// What somebody may have meant who knows other dialects; with a semicolon before it.
    std::string hint(std::size_t position) const {
        const std::size_t fields = text_.size() > longest_text ? 0 : parts();
        if (fields > 5 && text_.find('@') == std::string_view::npos)
            return "; there are " + std::to_string(fields) +
                   " fields, but five are known, from minute to day of week: none for seconds or "
                   "years";
        if (position >= text_.size()) return "";
        if (text_[position] == '?') return "; write * for any";
        std::size_t end = position;
        while (end < text_.size() && is_letter(text_[end])) ++end;
        const auto letters = lower(text_.substr(position, end - position));
        if (text_[position] == '#' || letters == "l" || letters == "w" || letters == "lw")
            return "; L, W and # of other dialects are not known";
        return "";
    }
    /// How many there are, with blanks between them.
    std::size_t parts() const {
        std::size_t count = 0;
        bool in_one = false;
        for (const char c : text_)
            if (!is_blank(c) && !std::exchange(in_one, true))
                ++count;
            else if (is_blank(c))
                in_one = false;
        return count;
    }

    bool at_end() const { return at_ == text_.size(); }
    void skip_blanks() {
        while (!at_end() && is_blank(text_[at_])) ++at_;
    }
    bool accept(char c) {
        const bool there = !at_end() && text_[at_] == c;
        if (there) ++at_;
        return there;
    }
    template <class Predicate>
    std::string_view take_while(Predicate belongs) {
        const auto start = at_;
        while (!at_end() && belongs(text_[at_])) ++at_;
        return text_.substr(start, at_ - start);
    }

    /// What is at the current position, for a message.
    std::string found() const {
        if (at_end()) return "the end";
        const char c = text_[at_];
        if (c == '\n' || c == '\r') return "the end of a line";
        return is_blank(c) ? "a blank" : quoted(text_.substr(at_, 1));
    }
    static std::string quoted(std::string_view token) {
        constexpr std::size_t most = 20;
        return "'" + printable(token.substr(0, most)) + (token.size() > most ? "...'" : "'");
    }

    cron_fields nickname() {
        const auto start = at_;
        const auto name = take_while([](char c) { return !is_blank(c); });
        for (const auto& [known, meaning] : nicknames)
            if (lower(name) == known) return parser(meaning).parse();
        refuse(start,
               "the name must be @hourly, @daily, @midnight, @weekly, @monthly, @yearly or "
               "@annually, not " +
                   quoted(name));
    }

    cron_fields five_fields() {
        cron_fields fields;
        fields.minutes = field(minute_rule);
        fields.fixed_time = !starts_with_star();
        fields.hours = field(hour_rule);
        const bool any_day = starts_with_star();
        fields.days = field(day_rule);
        fields.months = field(month_rule);
        fields.either_day = !any_day && !starts_with_star();
        const auto weekdays = field(weekday_rule);
        fields.weekdays = (weekdays | weekdays >> 7) & 0x7f;
        return fields;
    }

    bool starts_with_star() {
        skip_blanks();
        return !at_end() && text_[at_] == '*';
    }

    std::uint64_t field(const field_rule& rule) {
        skip_blanks();
        const std::string name(rule.name);
        if (at_end())
            refuse(at_, name + " (" + allowed(rule) +
                            ") is missing; the fields are minute, hour, day of month, month and "
                            "day of week");
        std::uint64_t values = 0;
        do values |= list_item(rule);
        while (accept(','));
        if (!at_end() && !is_blank(text_[at_]))
            refuse(at_, name + " must be " + allowed(rule) +
                            ", *, or these joined by , - and /, not " + found());
        return values;
    }

    std::uint64_t list_item(const field_rule& rule) {
        int first = rule.least, last = rule.most;
        bool is_range = accept('*');
        if (!is_range) {
            first = last = value(rule);
            is_range = accept('-');
            if (is_range) last = range_end(rule, first);
        }
        int step = 1;
        if (accept('/')) {
            if (!is_range)
                refuse(at_ - 1, std::string(rule.name) +
                                    " has a step after a single value; a step needs a range or *");
            step = this->step(rule);
        }
        std::uint64_t values = 0;
        for (int i = first; i <= last; i += step) values |= std::uint64_t{1} << i;
        return values;
    }

    int range_end(const field_rule& rule, int first) {
        const auto start = at_;
        int last = value(rule);
        // A week that ends on Sunday: fri-sun.
        if (&rule == &weekday_rule && last == 0 && first > 0 && is_letter(text_[start])) last = 7;
        if (last < first)
            refuse(start, std::string(rule.name) + " range must not end before it starts: " +
                              quoted(text_.substr(start, at_ - start)));
        return last;
    }

    int step(const field_rule& rule) {
        return number(std::string(rule.name) + " step", 1, rule.most,
                      "1 to " + std::to_string(rule.most));
    }

    int value(const field_rule& rule) {
        const auto start = at_;
        const auto letters = take_while(is_letter);
        if (letters.empty())
            return number(std::string(rule.name), rule.least, rule.most, allowed(rule));
        const auto place =
            letters.size() == 3 ? rule.value_names.find(lower(letters)) : std::string_view::npos;
        if (place == std::string_view::npos || place % 3 != 0)
            refuse(start, std::string(rule.name) + " must be " + allowed(rule) + ", not " +
                              quoted(letters));
        return rule.least + static_cast<int>(place / 3);
    }

    int number(const std::string& name, int least, int most, const std::string& range) {
        const auto start = at_;
        const auto digits = take_while(is_digit);
        int result = 0;
        for (const char c : digits) result = std::min(result * 10 + (c - '0'), 1000);
        if (digits.empty() || result < least || result > most)
            refuse(start, name + " must be " + range + ", not " +
                              (digits.empty() ? found() : quoted(digits)));
        return result;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

cron_fields parsed_cron(std::string_view text) { return parser(text).parse(); }

}  // namespace cadre::detail
