// SPDX-License-Identifier: Apache-2.0
#include "manage/document_builder.hpp"

#include <utility>

namespace cadre::manage::detail {

std::string shortened(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) --most;
    return std::string(text.substr(0, most));
}

std::string shown_key(std::string key) {
    constexpr std::size_t enough = 200;
    return key.size() > enough ? shortened(key, enough) + "…" : key;
}

using type = document_node::type;

namespace {

/// No deeper than the limit of depth: whoever calls has counted it.
std::size_t bytes_of(const document_node& node) {
    std::size_t bytes = node.value.size();
    for (const auto& item : node.items) bytes += bytes_of(item);
    for (const auto& [key, line, value] : node.members) bytes += key.size() + bytes_of(value);
    return bytes;
}

}  // namespace

document_builder::document_builder(std::string file, const document_limits& limits)
    : file_(std::move(file)), limits_(limits) {}

void document_builder::open(type list_or_map, int line) {
    if (depth() >= limits_.depth)
        refuse(line, "is nested deeper than " + std::to_string(limits_.depth) + " levels");
    document_node node;
    node.kind = list_or_map;
    node.line = line;
    count(node);
    stack_.push_back({.node = std::move(node)});
}

void document_builder::close() {
    document_node node = std::move(stack_.back().node);
    stack_.pop_back();
    place(std::move(node));
}

bool document_builder::expects_key() const {
    return !stack_.empty() && stack_.back().node.kind == type::map && !stack_.back().has_key;
}

void document_builder::key(std::string key, int line) {
    frame& top = stack_.back();
    const bool is_new = top.keys.insert(key).second;
    top.key = std::move(key);
    top.key_line = line;
    top.has_key = true;
    if (!is_new) note(line, "the key \"" + shortened(top.key, 80) + "\" is there twice");
}

void document_builder::scalar(type kind, std::string value, int line) {
    document_node node;
    node.kind = kind;
    node.value = std::move(value);
    node.line = line;
    count(node);
    place(std::move(node));
}

void document_builder::add(document_node node) {
    count(node);
    repeated_bytes_ += bytes_of(node);
    if (repeated_bytes_ > limits_.bytes)
        refuse(node.line,
               "has more than " + std::to_string(limits_.bytes) + " bytes that its aliases repeat");
    place(std::move(node));
}

std::string document_builder::path() const {
    std::string path;
    for (const auto& [node, has_key, key, key_line, keys] : stack_) {
        if (node.kind == type::list)
            path += "[" + std::to_string(node.items.size()) + "]";
        else if (has_key)
            path += (path.empty() ? "" : ".") + key;
    }
    return path;
}

config_problem document_builder::problem(int line, std::string rule, std::string key) const {
    if (key.empty()) key = path();
    return {file_, line, shown_key(std::move(key)), std::move(rule)};
}

void document_builder::note(int line, std::string rule, std::string key) {
    constexpr std::size_t enough = 100;
    if (problems_.size() < enough)
        problems_.push_back(problem(line, std::move(rule), std::move(key)));
}

void document_builder::refuse(int line, std::string rule, std::string key) {
    problems_.push_back(problem(line, std::move(rule), std::move(key)));
    throw configuration_error(std::move(problems_));
}

document_node document_builder::finish() {
    if (!problems_.empty()) throw configuration_error(std::move(problems_));
    return std::move(root_);
}

// A subtree has passed the limit of depth where it was first written, and may be deeper here.
void document_builder::count(const document_node& node) {
    struct pending {
        const document_node* node;
        int depth;
    };
    std::vector<pending> left{{&node, depth()}};
    while (!left.empty()) {
        const auto [next, level] = left.back();
        left.pop_back();
        if (level > limits_.depth)
            refuse(node.line, "is nested deeper than " + std::to_string(limits_.depth) + " levels");
        if (++nodes_ > limits_.nodes)
            refuse(node.line, "has more than " + std::to_string(limits_.nodes) +
                                  " values, with all that its aliases repeat");
        for (const auto& item : next->items) left.push_back({&item, level + 1});
        for (const auto& member : next->members) left.push_back({&member.value, level + 1});
    }
}

void document_builder::place(document_node node) {
    if (stack_.empty()) {
        root_ = std::move(node);
        has_root_ = true;
        last_ = &root_;
        return;
    }
    frame& top = stack_.back();
    if (top.node.kind == type::list) {
        last_ = &top.node.items.emplace_back(std::move(node));
        return;
    }
    top.has_key = false;
    top.node.members.push_back({std::move(top.key), top.key_line, std::move(node)});
    last_ = &top.node.members.back().value;
}

}  // namespace cadre::manage::detail
