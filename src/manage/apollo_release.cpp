// SPDX-License-Identifier: Apache-2.0
#include "manage/apollo_release.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "manage/atomic_file.hpp"
#include "manage/centre.hpp"
#include "manage/digest.hpp"
#include "utf8.hpp"

namespace cadre::manage::detail {
namespace {

/// As java.util.Properties writes, but that what is not ASCII stays UTF-8.
std::string escaped(std::string_view text, bool is_key) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\n') {
            result += "\\n";
        } else if (c == '\r') {
            result += "\\r";
        } else if (c == '\t') {
            result += "\\t";
        } else if (c == '\f') {
            result += "\\f";
        } else {
            const bool special = c == '\\' || c == '=' || c == ':' || c == '#' || c == '!';
            if (special || (c == ' ' && (is_key || i == 0))) result += '\\';
            result += c;
        }
    }
    return result;
}

/// What is not ASCII as \\uXXXX, in UTF-16: java.util.Properties reads files as Latin-1.
std::string in_ascii(std::string_view text) {
    std::string result;
    const auto append_unit = [&](std::uint32_t unit) {
        constexpr std::string_view digits = "0123456789ABCDEF";
        result += "\\u";
        for (const int shift : {12, 8, 4, 0}) result += digits[unit >> shift & 0xfU];
    };
    while (!text.empty()) {
        const auto first = static_cast<unsigned char>(text.front());
        const std::size_t size = std::max<std::size_t>(cadre::detail::character_size(text), 1);
        if (first < 0x80 || size == 1) {
            result += text.front();
        } else {
            std::uint32_t code = first & (0x7fU >> size);
            for (std::size_t i = 1; i < size; ++i)
                code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
            if (code < 0x10000) {
                append_unit(code);
            } else {
                append_unit(0xd800 + ((code - 0x10000) >> 10));
                append_unit(0xdc00 + ((code - 0x10000) & 0x3ffU));
            }
        }
        text.remove_prefix(size);
    }
    return result;
}

std::string properties_text(const std::map<std::string, std::string>& items) {
    std::string text;
    for (const auto& [key, value] : items)
        text += escaped(key, true) + "=" + escaped(value, false) + "\n";
    return text;
}

/// Apollo has nothing but texts. What is none would be held for the release until the next one.
const std::string& item_text(const document_node* value) {
    if (value == nullptr || value->kind != document_node::type::text)
        throw http_failure("apollo gave an item that is no text");
    return value->value;
}

bool is_properties(std::string_view name_space) {
    return apollo_format(name_space) == document_format::properties;
}

}  // namespace

std::string apollo_signature(std::string_view secret, std::string_view timestamp,
                             std::string_view target) {
    std::string message(timestamp);
    message += '\n';
    message += target;
    return to_base64(hmac_sha1(secret, message));
}

apollo_release apollo_release::after(const document_node& answer) const {
    apollo_release next{.key = text_at(answer, "releaseKey")};
    const std::string how = text_at(answer, "configSyncType");
    if (how == "IncrementalSync" && !key.empty()) {
        next.items = items;
        const auto* changes = answer.find("configurationChanges");
        if (changes == nullptr) throw http_failure("apollo gave an increment without changes");
        for (const auto& change : changes->items) {
            const std::string kind = text_at(change, "configurationChangeType");
            const std::string item = text_at(change, "key");
            if (kind == "DELETED")
                next.items.erase(item);
            else if (kind == "ADDED" || kind == "MODIFIED")
                next.items[item] = item_text(change.find("newValue"));
            else
                throw http_failure("apollo gave a change of the unknown kind \"" + kind + "\"");
        }
        return next;
    }
    if (!how.empty() && how != "FullSync")
        throw http_failure("apollo gave an answer of the unexpected kind \"" + how + "\"");
    const auto* all = answer.find("configurations");
    if (all == nullptr || all->kind != document_node::type::map)
        throw http_failure("apollo gave an answer without configurations");
    for (const auto& item : all->members) next.items[item.key] = item_text(&item.value);
    return next;
}

config_document apollo_release::document(std::string_view name_space) const {
    config_document result{.format = apollo_format(name_space), .revision = key};
    if (is_properties(name_space)) {
        result.text = properties_text(items);
        return result;
    }
    const auto found = items.find("content");
    if (found == items.end()) throw http_failure("apollo gave a file without the item content");
    result.text = found->second;
    return result;
}

document_format apollo_format(std::string_view name_space) {
    for (const std::string_view suffix : {".xml", ".txt"})
        if (name_space.ends_with(suffix)) return format_of(name_space);  // which throws
    for (const std::string_view suffix : {".yaml", ".yml", ".json"})
        if (name_space.ends_with(suffix)) return format_of(name_space);
    return document_format::properties;
}

std::filesystem::path apollo_cache_file(const std::filesystem::path& directory,
                                        std::string_view app_id, std::string_view cluster,
                                        std::string_view name_space) {
    std::string name(app_id);
    for (const auto part : {cluster, name_space}) name.append("+").append(part);
    return directory / app_id / "config-cache" / (name + ".properties");
}

void write_apollo_cache(const std::filesystem::path& file, const apollo_release& release) {
    std::filesystem::create_directories(file.parent_path());
    write_atomically(file, "#Persisted by cadre\n" + in_ascii(properties_text(release.items)));
}

std::optional<config_document> read_apollo_cache(const std::filesystem::path& file,
                                                 std::string_view name_space) {
    const auto text = read_small_file(file, document_limits{}.bytes);
    if (!text) return {};
    config_document result{
        .text = *text, .format = apollo_format(name_space), .revision = "local cache"};
    result.is_stale = true;
    if (is_properties(name_space)) return result;
    try {
        const auto cached = parse_document(*text, file.string(), document_format::properties);
        const auto* content = cached.root.find("content");
        if (content == nullptr) return {};
        result.text = content->value;
        return result;
    } catch (const configuration_error&) {
        return {};
    }
}

}  // namespace cadre::manage::detail
