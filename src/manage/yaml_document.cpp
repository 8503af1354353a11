// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "manage/document_builder.hpp"

// We listen to the events of the parser instead of taking its tree: that has no duplicate keys to
// tell of, shares what aliases repeat, and is deep before anybody can look. The parser recurses as
// it tells, so the builder's exception ends it at our limit.

namespace cadre::manage::detail {
namespace {

using type = document_node::type;

bool is_null_text(const std::string& value) {
    return value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL";
}

class yaml_listener final : public YAML::EventHandler {
public:
    explicit yaml_listener(document_builder& tree) : tree_(tree) {}

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (++documents_ > 1)
            tree_.refuse(line(mark), "has several YAML documents; one is allowed");
    }
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        if (tree_.expects_key()) tree_.refuse(line(mark), "a key must be a text");
        tree_.scalar(type::null, {}, line(mark));
        remember(anchor);
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        check_tag(mark, tag);
        if (tree_.expects_key()) {
            if (anchor != 0) tree_.refuse(line(mark), "a key must not be an anchor");
            tree_.key(value, line(mark));
            return;
        }
        const bool quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
        if (!quoted && is_null_text(value))
            tree_.scalar(type::null, {}, line(mark));
        else
            tree_.scalar(quoted ? type::text : type::plain, value, line(mark));
        remember(anchor);
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        if (tree_.expects_key()) tree_.refuse(line(mark), "a key must not be an alias");
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end())
            tree_.refuse(line(mark), "an alias must not be inside what it repeats");
        tree_.add(found->second);
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(type::list, mark, tag, anchor);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(type::map, mark, tag, anchor);
    }
    void OnMapEnd() override { close(); }

private:
    static int line(const YAML::Mark& mark) { return mark.line + 1; }

    void check_tag(const YAML::Mark& mark, const std::string& tag) {
        if (tag.empty() || tag == "?" || tag == "!" || tag.starts_with("tag:yaml.org,2002:"))
            return;
        tree_.refuse(line(mark), "the tag " + tag + " is not known here");
    }
    void open(type kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
        check_tag(mark, tag);
        if (tree_.expects_key()) tree_.refuse(line(mark), "a key must be a text");
        tree_.open(kind, line(mark));
        open_anchors_.push_back(anchor);
    }
    void close() {
        tree_.close();
        const auto anchor = open_anchors_.back();
        open_anchors_.pop_back();
        remember(anchor);
    }
    void remember(YAML::anchor_t anchor) {
        if (anchor == 0) return;
        // Each copy is of what has been counted; without a bound on their sum, anchors inside
        // anchors would still be a square of the document's size.
        kept_ += size_of(tree_.last());
        if (kept_ > 100'000) tree_.refuse(tree_.last().line, "has too much inside its anchors");
        anchors_[anchor] = tree_.last();
    }
    static std::size_t size_of(const document_node& node) {
        std::size_t size = 1;
        for (const auto& item : node.items) size += size_of(item);
        for (const auto& member : node.members) size += size_of(member.value);
        return size;
    }

    document_builder& tree_;
    int documents_ = 0;
    std::size_t kept_ = 0;
    std::vector<YAML::anchor_t> open_anchors_;
    std::map<YAML::anchor_t, document_node> anchors_;
};

/// `<<: *base` gives the map what it does not have itself; of several, the first wins.
class merge {
public:
    merge(document_node& node, document_builder& tree) : node_(node), tree_(tree) {
        for (const auto& member : node.members) keys_.insert(member.key);
    }
    void from(const document_node& base) {
        if (base.kind != type::map)
            return tree_.note(base.line, "<< must be a map or a list of maps");
        for (const auto& member : base.members)
            if (keys_.insert(member.key).second) node_.members.push_back(member);
    }

private:
    document_node& node_;
    document_builder& tree_;
    std::set<std::string, std::less<>> keys_;
};

void resolve_merges(document_node& node, document_builder& tree) {
    for (auto& item : node.items) resolve_merges(item, tree);
    for (auto& member : node.members) resolve_merges(member.value, tree);
    const auto found = std::find_if(node.members.begin(), node.members.end(),
                                    [](const document_member& m) { return m.key == "<<"; });
    if (found == node.members.end()) return;
    const document_node base = std::move(found->value);
    node.members.erase(found);
    merge into(node, tree);
    if (base.kind != type::list) return into.from(base);
    for (const auto& one : base.items) into.from(one);
}

}  // namespace

document_node parse_yaml(std::string_view text, const std::string& file,
                         const document_limits& limits) {
    document_builder tree(file, limits);
    yaml_listener events(tree);
    std::istringstream input{std::string(text)};
    try {
        YAML::Parser parser(input);
        while (parser.HandleNextDocument(events)) {}
    } catch (const YAML::Exception& e) {
        tree.refuse(e.mark.line + 1, "is not YAML: " + e.msg);
    }
    document_node root = tree.finish();
    if (root.line == 0) tree.refuse(0, "is empty");
    resolve_merges(root, tree);
    tree.finish();
    return root;
}

}  // namespace cadre::manage::detail
