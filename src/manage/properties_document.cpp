// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "manage/configuration_reader.hpp"
#include "manage/document_builder.hpp"

// Java properties, as java.util.Properties reads them (comments, continuation lines, the three
// separators, escapes with \uXXXX), but in UTF-8, and with a key that is there twice refused. The
// keys a.b[0].c and a[b.c].d are the paths of a tree, as Spring takes them. In a document that is
// shared, the keys of others need be no such paths: only the first part of each is kept, to tell
// of.

namespace cadre::manage::detail {
namespace {

using type = document_node::type;

struct logical_line {
    std::string text;  ///< without the line ends that were continued, and their indentation
    int line = 0;
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\f'; }

bool ends_in_continuation(std::string_view line) {
    const auto last = line.find_last_not_of('\\');
    const auto slashes = line.size() - (last == std::string_view::npos ? 0 : last + 1);
    return slashes % 2 == 1;
}

std::vector<logical_line> logical_lines(std::string_view text) {
    std::vector<logical_line> lines;
    bool continued = false;
    for (int number = 1; !text.empty(); ++number) {
        const auto end = std::min(text.find_first_of("\r\n"), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(end);
        if (text.starts_with("\r\n")) text.remove_prefix(1);
        if (!text.empty()) text.remove_prefix(1);

        while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
        const bool comment = line.empty() || line.front() == '#' || line.front() == '!';
        if (!continued && comment) continue;
        if (!continued) lines.push_back({.text = {}, .line = number});
        continued = ends_in_continuation(line);
        if (continued) line.remove_suffix(1);
        lines.back().text += line;
    }
    return lines;
}

void append_utf8(std::string& out, std::uint32_t c) {
    const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (c < 0x80) return put(c);
    if (c < 0x800) {
        put(0xc0 | c >> 6);
    } else {
        if (c < 0x10000) {
            put(0xe0 | c >> 12);
        } else {
            put(0xf0 | c >> 18);
            put(0x80 | (c >> 12 & 0x3f));
        }
        put(0x80 | (c >> 6 & 0x3f));
    }
    put(0x80 | (c & 0x3f));
}

/// The four digits after \u; -1 if they are none.
std::int32_t unicode_unit(std::string_view text) {
    std::uint32_t unit = 0;
    const auto digits = text.substr(0, 4);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    const bool complete = digits.size() == 4 && end == digits.data() + 4 && error == std::errc();
    return complete ? static_cast<std::int32_t>(unit) : -1;
}

/// Of a.b[0].c, a.
std::string_view first_part(std::string_view key) { return key.substr(0, key.find_first_of(".[")); }

/// True for a key of our part of a document that is shared with others.
bool is_of_shared_part(std::string_view key) {
    for (const std::string_view part : {"cadre", "dynamictp", "spring.dynamic.tp"})
        if (key.starts_with(part) &&
            (key.size() == part.size() || key[part.size()] == '.' || key[part.size()] == '['))
            return true;
    return false;
}

class properties_reader {
public:
    properties_reader(const std::string& file, const document_limits& limits)
        : tree_(file, limits), limits_(limits) {}

    document_node read(std::string_view text) {
        std::vector<entry> entries;
        for (const auto& line : logical_lines(text)) entries.push_back(read_line(line));
        const auto is_ours = [](const entry& e) { return is_of_shared_part(e.key); };
        const bool shared = std::any_of(entries.begin(), entries.end(), is_ours);
        // As in the other formats: where there are pools beside DynamicTp's keys, they are ours,
        // and so is what belongs to them.
        const auto is_below = [](std::string_view top) {
            return [top](const entry& e) {
                return first_part(e.key) == top && e.key.size() > top.size();
            };
        };
        const bool at_root = std::none_of(entries.begin(), entries.end(), is_below("cadre")) &&
                             std::any_of(entries.begin(), entries.end(), is_below("pools"));
        for (const auto& e : entries)
            if (!shared || is_ours(e) || (at_root && is_native_root_key(first_part(e.key))))
                insert(e);
            else
                mention(e);
        if (entries.empty()) tree_.refuse(0, "is empty");
        root_.line = 1;
        tell(root_);
        return tree_.finish();
    }

    std::map<std::string, std::string> read_flat(std::string_view text) {
        std::map<std::string, std::string> all;
        for (const auto& line : logical_lines(text)) {
            auto [key, escaped, number] = read_line(line);
            all.insert_or_assign(std::move(key), unescape(escaped, number));
        }
        return all;
    }

private:
    struct entry {
        std::string key;
        std::string escaped;  ///< the value, as it is written
        int line = 0;
    };
    struct part {
        std::string name;
        bool is_index = false;
    };
    struct node {
        int line = 0;
        bool has_value = false;
        bool is_list = false;
        std::string value = {};
        std::map<std::string, node> children = {};  // an index by its number, with zeros in front
    };

    entry read_line(const logical_line& line) {
        std::string_view rest = line.text;
        std::size_t end = 0;
        while (end < rest.size() && !is_blank(rest[end]) && rest[end] != '=' && rest[end] != ':')
            end += rest[end] == '\\' && end + 1 < rest.size() ? 2 : 1;
        std::string key = unescape(rest.substr(0, end), line.line);
        rest.remove_prefix(end);
        const auto skip_blanks = [&] {
            while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
        };
        skip_blanks();
        if (!rest.empty() && (rest.front() == '=' || rest.front() == ':')) rest.remove_prefix(1);
        skip_blanks();
        return {std::move(key), std::string(rest), line.line};
    }

    std::string unescape(std::string_view text, int line) {
        std::string out;
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] != '\\' || i + 1 == text.size()) {
                out += text[i];
                continue;
            }
            const char c = text[++i];
            if (c == 'u') {
                i += 4 + unescape_unicode(text.substr(i + 1), out, line);
                continue;
            }
            constexpr std::string_view names = "tnrf";
            constexpr std::string_view meant = "\t\n\r\f";
            const auto at = names.find(c);
            out += at == std::string_view::npos ? c : meant[at];
        }
        return out;
    }

    /// Returns how many characters beyond the four digits it used: six, for a pair of surrogates.
    std::size_t unescape_unicode(std::string_view digits, std::string& out, int line) {
        const auto unit = unicode_unit(digits);
        const auto is_low = [](std::int32_t u) { return u >= 0xdc00 && u <= 0xdfff; };
        if (unit < 0) {
            tree_.refuse(line, "\\u must be followed by four hexadecimal digits");
        } else if (unit == 0) {
            tree_.refuse(line, "contains a NUL character");
        } else if (unit >= 0xd800 && unit <= 0xdbff && digits.substr(4, 2) == "\\u" &&
                   is_low(unicode_unit(digits.substr(6)))) {
            const auto low = unicode_unit(digits.substr(6));
            append_utf8(out, 0x10000 + (static_cast<std::uint32_t>(unit - 0xd800) << 10) +
                                 static_cast<std::uint32_t>(low - 0xdc00));
            return 6;
        } else if (unit >= 0xd800 && unit <= 0xdfff) {
            tree_.refuse(line, "\\u" + std::string(digits.substr(0, 4)) +
                                   " is half of a pair of surrogates");
        }
        append_utf8(out, static_cast<std::uint32_t>(unit));
        return 0;
    }

    /// a.b[0].c and a[b.c].d; empty, and noted, if it is no such path.
    std::vector<part> split(const std::string& key, int line) {
        std::vector<part> path;
        std::string_view rest = key;
        bool fine = true;
        bool first = true;
        while (fine && !rest.empty()) {
            if (rest.front() == '[') {
                const auto end = rest.find(']');
                fine = !first && end != std::string_view::npos && end > 1;
                if (!fine) break;
                const auto inside = rest.substr(1, end - 1);
                const bool index = inside.find_first_not_of("0123456789") == std::string_view::npos;
                path.push_back({std::string(inside), index});
                rest.remove_prefix(end + 1);
            } else {
                if (!first) fine = rest.front() == '.';
                if (!first) rest.remove_prefix(1);
                const auto name = rest.substr(0, rest.find_first_of(".["));
                fine = fine && !name.empty();
                path.push_back({std::string(name), false});
                rest.remove_prefix(name.size());
            }
            first = false;
            fine = fine && path.size() < static_cast<std::size_t>(limits_.depth);
        }
        if (fine && !path.empty()) return path;
        tree_.note(line, "the key \"" + shortened(key, 80) +
                             "\" must be a path as a.b[0].c of up to " +
                             std::to_string(limits_.depth) + " parts");
        return {};
    }

    void mention(const entry& others) {
        const std::string first(first_part(others.key));
        if (first.empty() || first == "spring") return;
        auto& child = root_.children[first];
        if (child.line == 0) child.line = others.line;
        child.has_value = true;
    }

    void insert(const entry& given) {
        const auto& [key, escaped, line] = given;
        node* at = &root_;
        const auto path = split(key, line);
        if (path.empty()) return;
        for (const auto& [name, is_index] : path) {
            constexpr std::size_t digits = 5;
            if (is_index && name.size() > digits)
                return tree_.note(line, "the index [" + shortened(name, 20) + "] is too large");
            if (at->has_value || (!at->children.empty() && at->is_list != is_index))
                return tree_.note(line, "\"" + key +
                                            "\" contradicts an earlier line: a value, a map " +
                                            "or a list, but not two of them");
            at->is_list = is_index;
            auto& child =
                at->children[is_index ? std::string(digits - name.size(), '0') + name : name];
            if (child.line == 0) child.line = line;
            at = &child;
        }
        if (at->has_value) return tree_.note(line, "the key \"" + key + "\" is there twice", key);
        if (!at->children.empty())
            return tree_.note(line, "\"" + key + "\" contradicts an earlier line: a value, a map " +
                                        "or a list, but not two of them");
        at->has_value = true;
        at->value = unescape(escaped, line);
    }

    void tell(const node& from) {
        if (from.has_value) return tree_.scalar(type::plain, from.value, from.line);
        tree_.open(from.is_list ? type::list : type::map, from.line);
        if (from.is_list) {
            std::size_t next = 0;
            for (const auto& [index, child] : from.children) {
                if (std::stoul(index) != next++)
                    tree_.refuse(child.line, "the list has no [" + std::to_string(next - 1) + "]");
                tell(child);
            }
        } else {
            std::vector<const std::pair<const std::string, node>*> in_order;
            for (const auto& child : from.children) in_order.push_back(&child);
            std::sort(in_order.begin(), in_order.end(),
                      [](const auto* a, const auto* b) { return a->second.line < b->second.line; });
            for (const auto* child : in_order) {
                tree_.key(child->first, child->second.line);
                tell(child->second);
            }
        }
        tree_.close();
    }

    document_builder tree_;
    const document_limits limits_;
    node root_;
};

}  // namespace

document_node parse_properties(std::string_view text, const std::string& file,
                               const document_limits& limits) {
    return properties_reader(file, limits).read(text);
}

std::map<std::string, std::string> flat_properties(std::string_view text, const std::string& file) {
    return properties_reader(file, {}).read_flat(text);
}

}  // namespace cadre::manage::detail
