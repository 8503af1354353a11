// SPDX-License-Identifier: Apache-2.0
#include "cadrectl/table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace cadre::cadrectl {
namespace {

using range = std::pair<char32_t, char32_t>;

/// Those of East Asia and pictures take two places each,
constexpr std::array<range, 11> wide{{{0x1100, 0x115F},
                                      {0x2E80, 0x303E},
                                      {0x3041, 0xA4CF},
                                      {0xA960, 0xA97C},
                                      {0xAC00, 0xD7A3},
                                      {0xF900, 0xFAFF},
                                      {0xFE30, 0xFE6F},
                                      {0xFF00, 0xFF60},
                                      {0xFFE0, 0xFFE6},
                                      {0x1F300, 0x1FAFF},
                                      {0x20000, 0x3FFFD}}};
/// and marks on the character before them none.
constexpr std::array<range, 3> none{{{0x0300, 0x036F}, {0x200B, 0x200F}, {0xFE00, 0xFE0F}}};

template <std::size_t N>
bool is_in(const std::array<range, N>& ranges, char32_t character) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const range& r) {
        return r.first <= character && character <= r.second;
    });
}

/// Places in a terminal, not bytes.
std::size_t width_of(std::string_view text) {
    std::size_t width = 0;
    for (std::size_t i = 0; i < text.size();) {
        const auto first = static_cast<unsigned char>(text[i++]);
        char32_t character = first < 0xC0U ? first
                                           : first & (first < 0xE0U   ? 0x1FU
                                                      : first < 0xF0U ? 0x0FU
                                                                      : 0x07U);
        for (; i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0U) == 0x80U; ++i)
            character = character << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
        if (!is_in(none, character)) width += is_in(wide, character) ? 2 : 1;
    }
    return width;
}

std::string with_digits(double value, const char* unit) {
    std::array<char, 32> text = {};
    std::snprintf(text.data(), text.size(), value < 10 ? "%.1f%s" : "%.0f%s", value, unit);
    return text.data();
}

}  // namespace

table::table(std::vector<std::string> heads) {
    for (auto& head : heads) {
        right_.push_back(head.starts_with('>'));
        if (right_.back()) head.erase(0, 1);
    }
    rows_.push_back(std::move(heads));
}

void table::add(std::vector<std::string> row) {
    for (auto& cell : row) cell = harmless(cell);
    rows_.push_back(std::move(row));
}

std::string table::to_string() const {
    std::vector<std::size_t> widths(right_.size());
    for (const auto& row : rows_)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], width_of(row[i]));
    std::string text;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - width_of(row[i]), ' ');
            if (i > 0) line += "  ";
            line += right_[i] ? padding + row[i] : row[i] + padding;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string text_of(const json& value) {
    if (value.is_null()) return "-";
    return harmless(value.is_string() ? value.get<std::string>() : dumped(value));
}

std::string duration_of(const json& seconds) {
    if (!seconds.is_number()) return "-";
    const double s = seconds.get<double>();
    if (s == 0) return "0";
    if (s < 1e-3) return with_digits(s * 1e6, "us");
    if (s < 1) return with_digits(s * 1e3, "ms");
    if (s < 120) return with_digits(s, "s");
    return with_digits(s / 60, "min");
}

std::string bytes_of(const json& bytes) {
    if (!bytes.is_number()) return "-";
    double value = bytes.get<double>();
    if (value < 1024) return text_of(bytes) + " B";
    for (const char* unit : {" KiB", " MiB", " GiB"}) {
        value /= 1024;
        if (value < 1024) return with_digits(value, unit);
    }
    return with_digits(value / 1024, " TiB");
}

std::string rate_of(const json& rate) {
    if (!rate.is_number()) return "-";
    const double r = rate.get<double>();
    return r == 0 ? "0" : with_digits(r, "");
}

std::string changes_of(const json& report) {
    std::string text;
    for (const auto& c : report.at("changes"))
        text += "  " + text_of(c.at("field")) + ": " + text_of(c.at("before")) + " -> " +
                text_of(c.at("after")) + "\n";
    for (const auto& n : report.at("not_applied"))
        text += "  " + text_of(n.at("field")) + " stays " + text_of(n.at("effective")) + ", not " +
                text_of(n.at("wished")) + ": " + text_of(n.at("reason")) + "\n";
    for (const auto& w : report.at("warnings")) text += "  warning: " + text_of(w) + "\n";
    return text;
}

}  // namespace cadre::cadrectl
