// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <cadre/manage/document.hpp>

namespace cadre::manage::detail {

/// At most so many bytes of a UTF-8 text, and no half of a character: for messages.
std::string shortened(std::string_view text, std::size_t most);
/// A key with its path, as messages show it: what was cut off is told by three dots.
std::string shown_key(std::string key);

/// Builds the tree from what a parser tells it, one value after the other, and keeps the limits:
/// a parser that recurses is stopped by our exception before it is deep.
class document_builder {
public:
    document_builder(std::string file, const document_limits& limits);

    void open(document_node::type list_or_map, int line);
    void close();
    /// True inside a map that has no key for the next value yet.
    bool expects_key() const;
    /// A key that is there twice is noted; refuse() or finish() tells of it.
    void key(std::string key, int line);
    void scalar(document_node::type kind, std::string value, int line);
    /// A whole subtree, from elsewhere; each node of it counts, and so do the bytes of its texts.
    void add(document_node node);
    /// The node that was added last. Until the next change.
    const document_node& last() const { return *last_; }
    int depth() const { return static_cast<int>(stack_.size()); }

    // Without a key, it is about what is being read.

    void note(int line, std::string rule, std::string key = {});
    /// Throws configuration_error: this, and what was noted.
    [[noreturn]] void refuse(int line, std::string rule, std::string key = {});
    /// Throws configuration_error if something was noted.
    document_node finish();

private:
    struct frame {
        document_node node;
        bool has_key = false;
        std::string key = {};
        int key_line = 0;
        std::set<std::string, std::less<>> keys = {};
    };

    void count(const document_node& node);
    void place(document_node node);
    std::string path() const;
    config_problem problem(int line, std::string rule, std::string key) const;

    const std::string file_;
    const document_limits limits_;
    std::vector<frame> stack_;
    document_node root_;
    const document_node* last_ = nullptr;
    bool has_root_ = false;
    std::size_t nodes_ = 0;
    std::size_t repeated_bytes_ = 0;  ///< in keys and values of what was added whole
    std::vector<config_problem> problems_;
};

document_node parse_yaml(std::string_view text, const std::string& file, const document_limits&);
document_node parse_json(std::string_view text, const std::string& file, const document_limits&);
document_node parse_toml(std::string_view text, const std::string& file, const document_limits&);
document_node parse_properties(std::string_view text, const std::string& file,
                               const document_limits&);
/// As java.util.Properties has them: any keys, and of one that is there twice the last. Throws
/// configuration_error for escapes that are none.
std::map<std::string, std::string> flat_properties(std::string_view text, const std::string& file);

}  // namespace cadre::manage::detail
