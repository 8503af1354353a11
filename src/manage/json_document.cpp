// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "manage/document_builder.hpp"

// nlohmann's parser keeps no lines and, of a key that is there twice, the last. So we listen to its
// events, and count the lines that its lexer has read. It does not recurse.

namespace cadre::manage::detail {
namespace {

using type = document_node::type;

/// Gives the text to the lexer, and knows in which line it is.
class counting_iterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    counting_iterator(const char* at, int* lines) : at_(at), lines_(lines) {}
    reference operator*() const { return *at_; }
    counting_iterator& operator++() {
        // Counted when the lexer goes past it: a number is read up to what follows it.
        if (pending_) ++*lines_;
        pending_ = *at_ == '\n';
        ++at_;
        return *this;
    }
    friend bool operator==(const counting_iterator& a, const counting_iterator& b) {
        return a.at_ == b.at_;
    }

private:
    const char* at_;
    int* lines_;
    bool pending_ = false;
};

class json_listener final : public nlohmann::json_sax<nlohmann::json> {
public:
    json_listener(document_builder& tree, const int& line) : tree_(tree), line_(line) {}

    bool null() override { return scalar(type::null, {}); }
    bool boolean(bool value) override { return scalar(type::boolean, value ? "true" : "false"); }
    bool number_integer(number_integer_t value) override {
        return scalar(type::number, std::to_string(value));
    }
    bool number_unsigned(number_unsigned_t value) override {
        return scalar(type::number, std::to_string(value));
    }
    bool number_float(number_float_t, const string_t& text) override {
        return scalar(type::number, text);
    }
    bool string(string_t& value) override { return scalar(type::text, std::move(value)); }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override { return open(type::map); }
    bool key(string_t& key) override {
        tree_.key(std::move(key), line_);
        return true;
    }
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override { return open(type::list); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
        // What was read last may end within a character.
        const std::string_view what = e.what();
        tree_.refuse(line_,
                     "is not JSON: " + std::string(what.substr(0, what.find("; last read"))));
    }

private:
    bool scalar(type kind, std::string value) {
        tree_.scalar(kind, std::move(value), line_);
        return true;
    }
    bool open(type kind) {
        tree_.open(kind, line_);
        return true;
    }
    bool close() {
        tree_.close();
        return true;
    }

    document_builder& tree_;
    const int& line_;
};

}  // namespace

document_node parse_json(std::string_view text, const std::string& file,
                         const document_limits& limits) {
    document_builder tree(file, limits);
    int line = 1;
    json_listener events(tree, line);
    nlohmann::json::sax_parse(counting_iterator(text.data(), &line),
                              counting_iterator(text.data() + text.size(), &line), &events);
    return tree.finish();
}

}  // namespace cadre::manage::detail
