// SPDX-License-Identifier: Apache-2.0
#include "manage/config_snapshot.hpp"

#include <stdexcept>

#include "manage/atomic_file.hpp"
#include "manage/centre.hpp"
#include "manage/digest.hpp"
#include "manage/json_value.hpp"

// The first line is the SHA-256 of the rest, which is JSON.

namespace cadre::manage::detail {
namespace {

constexpr std::size_t most_snapshot_bytes = std::size_t{32} << 20;

[[noreturn]] void damaged(const std::filesystem::path& file, const char* why) {
    throw std::runtime_error("snapshot " + file.string() + " " + why);
}

}  // namespace

void write_snapshot(const std::filesystem::path& file, const config_snapshot& snapshot) {
    auto all = json::array();
    for (const auto& [name, document] : snapshot)
        all.push_back({{"source", name},
                       {"revision", document.revision},
                       {"format", to_text(document.format)},
                       {"text", document.text}});
    // What is no UTF-8 is replaced: a revision may have any bytes, and we could not read them.
    const std::string body = dump(all) + "\n";
    write_atomically(file, to_hex(sha256(body)) + "\n" + body);
}

config_snapshot read_snapshot(const std::filesystem::path& file) {
    config_snapshot snapshot;
    std::error_code error;
    if (!std::filesystem::exists(file, error)) return snapshot;
    const auto text = read_small_file(file, most_snapshot_bytes);
    if (!text) damaged(file, "cannot be read");
    const auto line = text->find('\n');
    if (line == std::string::npos) damaged(file, "is cut off");
    const auto body = std::string_view(*text).substr(line + 1);
    if (to_hex(sha256(body)) != text->substr(0, line)) damaged(file, "is damaged");
    try {
        const auto root = parse_document(body, file.string(), document_format::json,
                                         {.bytes = most_snapshot_bytes})
                              .root;
        for (const auto& item : root.items)
            snapshot[text_at(item, "source")] = {.text = text_at(item, "text"),
                                                 .format = format_of("." + text_at(item, "format")),
                                                 .revision = text_at(item, "revision")};
    } catch (const std::exception&) {
        damaged(file, "is not as we write it");
    }
    return snapshot;
}

}  // namespace cadre::manage::detail
