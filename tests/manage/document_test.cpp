// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/document.hpp>

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cadre::manage {
namespace {

using ::testing::HasSubstr;
using format = document_format;
using type = document_node::type;

constexpr auto formats = {format::yaml, format::json, format::toml, format::properties};

std::string refusal(const std::string& text, format f) {
    try {
        parse_document(text, "pools", f);
        return "was accepted";
    } catch (const configuration_error& refused) {
        return refused.what();
    }
}

/// Compact, with the line of each value: {a@1:{b@2:[x@3]}}
std::string shown(const document_node& node) {
    std::string text;
    if (node.kind == type::map) {
        for (const auto& m : node.members)
            text += (text.empty() ? "" : ",") + m.key + "@" + std::to_string(m.line) + ":" +
                    shown(m.value);
        return "{" + text + "}";
    }
    if (node.kind == type::list) {
        for (const auto& i : node.items) text += (text.empty() ? "" : ",") + shown(i);
        return "[" + text + "]";
    }
    if (node.kind == type::null) return "null";
    return node.kind == type::text ? "'" + node.value + "'" : node.value;
}

std::string parsed(const std::string& text, format f) {
    return shown(parse_document(text, "pools", f).root);
}

TEST(document, knows_a_format_by_the_suffix_of_a_file) {
    EXPECT_EQ(format_of("a/pools.yml"), format::yaml);
    for (const auto f : formats) EXPECT_EQ(format_of("x." + std::string(to_text(f))), f);
    EXPECT_THROW(format_of("pools.xml"), std::invalid_argument);
    EXPECT_THROW(format_of("yaml"), std::invalid_argument);
}

TEST(document, says_the_line_of_each_value_in_every_format) {
    EXPECT_EQ(parsed("a:\n  b: 1\n  c: [x,\n     'y']\nd: ~\n", format::yaml),
              "{a@1:{b@2:1,c@3:[x,'y']},d@5:null}");
    EXPECT_EQ(parsed("{\n\"a\": {\n\"b\": 1\n,\"c\":\n[true, \"y\"]},\n\"d\": null}", format::json),
              "{a@2:{b@3:1,c@4:[true,'y']},d@6:null}");
    EXPECT_EQ(parsed("[a]\nb = 1\nc = [true,\n 'y']\n", format::toml),
              "{a@1:{b@2:1,c@3:[true,'y']}}");
    EXPECT_EQ(parsed("# first\na.b = 1\na.c[0]: x\na.c[1] y\n", format::properties),
              "{a@2:{b@2:1,c@3:[x,y]}}");
}

TEST(document, skips_a_byte_order_mark) {
    EXPECT_EQ(parsed("\xef\xbb\xbf{\"a\": 1}", format::json), "{a@1:1}");
}

TEST(document, refuses_in_every_format_what_is_no_document) {
    for (const auto f : formats) {
        EXPECT_THAT(refusal("", f), HasSubstr("is empty"));
        EXPECT_THAT(refusal(" \n\t\r\n", f), HasSubstr("is empty"));
        EXPECT_THAT(refusal(std::string("a\n\0", 3), f), HasSubstr("pools:2: contains a NUL"));
        EXPECT_THAT(refusal(std::string(1 << 20, '#') + "\n", f), HasSubstr("more than 1048576"));
        for (const std::string bytes :
             {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
            EXPECT_THAT(refusal("a\n" + bytes, f), HasSubstr("pools:2: is not UTF-8"));
    }
    EXPECT_THAT(refusal("# a comment\n", format::yaml), HasSubstr("is empty"));
    EXPECT_THAT(refusal("# a comment\n", format::properties), HasSubstr("is empty"));
    EXPECT_THAT(refusal("{\n\"a\": }", format::json), HasSubstr("pools:2: a: is not JSON"));
    EXPECT_THAT(refusal("a: [1\nb: 2", format::yaml), HasSubstr("is not YAML"));
    EXPECT_THAT(refusal("a = 1\nb = = 2", format::toml), HasSubstr("pools:2: b: is not TOML"));
    EXPECT_THAT(refusal("{\"a\": NaN}", format::json), HasSubstr("is not JSON"));
}

TEST(document, refuses_a_key_that_is_there_twice) {
    EXPECT_THAT(refusal("a: 1\nb: 2\na: 3\nb: 4\n", format::yaml),
                ::testing::AllOf(HasSubstr("pools:3: a: the key \"a\" is there twice"),
                                 HasSubstr("pools:4: b: the key \"b\" is there twice")));
    EXPECT_THAT(refusal("{\"a\": 1,\n\"a\": 1}", format::json),
                HasSubstr("pools:2: a: the key \"a\""));
    EXPECT_THAT(refusal("a = 1\na = 1\n", format::toml), HasSubstr("pools:2: a: is not TOML"));
    EXPECT_THAT(refusal("a = 1\na = 1\n", format::properties),
                HasSubstr("pools:2: a: the key \"a\""));
}

TEST(document, names_the_key_of_what_it_refuses) {
    EXPECT_THAT(refusal("pools:\n  a: {core: 1, core: 2}\n", format::yaml),
                HasSubstr("pools:2: pools.a.core: "));
    EXPECT_THAT(refusal("a: [1, {b: !odd 2}]\n", format::yaml), HasSubstr("pools:1: a[1].b: "));
    EXPECT_THAT(refusal("{\"pools\": {\"a\": {\"core\": 1e400}}}", format::json),
                HasSubstr("pools:1: pools.a.core: "));
    EXPECT_THAT(refusal("[pools.a]\nx = 1\ncore = 9223372036854775808\n", format::toml),
                HasSubstr("pools:3: pools.a.core: "));
    EXPECT_THAT(refusal("[[ list ]]\n[list.x\n", format::toml), HasSubstr("pools:2: list.x: "));
    EXPECT_THAT(refusal("{\"a\": {\"b\": " + std::string(40, '['), format::json),
                HasSubstr("pools:1: a.b[0][0]"));
}

TEST(properties_document, does_not_call_empty_what_it_could_not_read) {
    EXPECT_EQ(refusal("pools..core = 1\n", format::properties).find("is empty"), std::string::npos);
    EXPECT_THAT(refusal("# nothing\n", format::properties), HasSubstr("is empty"));
}

TEST(document, refuses_deep_nesting_before_it_costs_anything) {
    const int levels = 100'000;
    std::string yaml = "a: ";
    std::string dashes;
    std::string json;
    std::string toml = "a = ";
    std::string dotted = "a";
    for (int i = 0; i < levels; ++i) {
        yaml += '[';
        dashes += "- ";
        json += "[";
        toml += '[';
        dotted += ".a";
    }
    yaml += std::string(static_cast<std::size_t>(levels), ']');
    EXPECT_THAT(refusal(yaml, format::yaml), HasSubstr("nested deeper than 32"));
    EXPECT_THAT(refusal(dashes, format::yaml), HasSubstr("nested deeper than 32"));
    EXPECT_THAT(refusal(json, format::json), HasSubstr("nested deeper than 32"));
    EXPECT_THAT(refusal(toml, format::toml), HasSubstr("nested deeper than 32"));
    EXPECT_THAT(refusal(dotted + " = 1", format::toml), HasSubstr("nested deeper than 32"));
    EXPECT_THAT(refusal("[" + dotted + "]", format::toml), HasSubstr("nested deeper than 32"));
    EXPECT_THAT(refusal(dotted + " = 1", format::properties), HasSubstr("of up to 32 parts"));
    std::string blocks;
    for (int i = 0; i < 40; ++i) blocks += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
    EXPECT_THAT(
        refusal(blocks, format::yaml),
        ::testing::AllOf(HasSubstr("pools:33: a.a.a"), HasSubstr("a: is nested deeper than 32")));
}

TEST(document, takes_toml_strings_and_comments_for_no_brackets) {
    const std::string many(100, '[');
    EXPECT_EQ(parsed("# " + many + "\na = 'x" + many + "'\nb = \"\"\"\n" + many + "\"\\\"\"\"\"\n",
                     format::toml),
              "{a@2:'x" + many + "',b@3:'" + many + "\"\"'}");
}

TEST(yaml_document, repeats_what_an_alias_names_and_merges) {
    EXPECT_EQ(parsed("base: &b {x: 1, y: 2}\na: *b\nc:\n  <<: *b\n  y: 3\n", format::yaml),
              "{base@1:{x@1:1,y@1:2},a@2:{x@1:1,y@1:2},c@3:{y@5:3,x@1:1}}");
    EXPECT_THAT(refusal("a: &x [1]\nb: {<<: *x}", format::yaml), HasSubstr("<< must be a map"));
    EXPECT_THAT(refusal("a: *nobody", format::yaml), HasSubstr("is not YAML"));
    EXPECT_THAT(refusal("a: &x [*x]", format::yaml), HasSubstr("inside what it repeats"));
}

TEST(yaml_document, refuses_aliases_that_explode) {
    std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int j = 0; j < 10; ++j) laughs += (j == 0 ? "" : ", ") + before;
        laughs += "]\n";
    }
    EXPECT_THAT(refusal(laughs, format::yaml), HasSubstr("aliases repeat"));
    std::string ladder = "a0: &a0 x\n";
    for (int i = 1; i < 60; ++i)
        ladder += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" +
                  std::to_string(i - 1) + "]\n";
    EXPECT_THAT(refusal(ladder, format::yaml), HasSubstr("nested deeper than 32"));
}

TEST(yaml_document, refuses_aliases_that_repeat_a_long_text) {
    std::string bomb = "text: &t \"" + std::string(500'000, 'x') + "\"\nall: [";
    for (int i = 0; i < 100'000; ++i) bomb += "*t,";
    EXPECT_THAT(refusal(bomb + "]\n", format::yaml),
                HasSubstr("pools:1: all[2]: has more than 1048576 bytes that its aliases repeat"));
    std::string keys = "map: &m {" + std::string(900, 'k') + ": x}\nall: [";
    for (int i = 0; i < 2'000; ++i) keys += "*m,";
    EXPECT_THAT(refusal(keys + "]\n", format::yaml), HasSubstr("aliases repeat"));
}

TEST(yaml_document, refuses_several_documents_tags_and_keys_that_are_no_text) {
    EXPECT_THAT(refusal("a: 1\n---\nb: 2\n", format::yaml), HasSubstr("several YAML documents"));
    EXPECT_THAT(refusal("a: !ruby/object x\n", format::yaml), HasSubstr("tag"));
    EXPECT_THAT(refusal("? [a, b]\n: 1\n", format::yaml), HasSubstr("a key must be a text"));
    EXPECT_EQ(parsed("--- {a: 1}\n...\n", format::yaml), "{a@1:1}");
}

TEST(properties_document, reads_what_java_writes) {
    EXPECT_EQ(parsed("! comment\r\n  a.b : one\\\r\n    two\r\nc\\:d=e\\ f\r\nempty\n",
                     format::properties),
              "{a@2:{b@2:onetwo},c:d@4:e f,empty@5:}");
    EXPECT_EQ(parsed("a=\\u4e2d\\uD83D\\uDE00\\t\\q", format::properties), "{a@1:中😀\tq}");
    EXPECT_EQ(parsed("a=b\\\\\nc=d", format::properties), "{a@1:b\\,c@2:d}");
    EXPECT_EQ(parsed("pools[my.pool].x=1\npools[my.pool].l[0]=2", format::properties),
              "{pools@1:{my.pool@1:{x@1:1,l@2:[2]}}}");
    EXPECT_EQ(parsed("a=one\\\n# two", format::properties), "{a@1:one# two}");
}

TEST(properties_document, refuses_what_is_no_tree) {
    EXPECT_THAT(refusal("a=1\na.b=2", format::properties),
                HasSubstr("pools:2: \"a.b\" contradicts"));
    EXPECT_THAT(refusal("a.b=1\na=2", format::properties), HasSubstr("pools:2: \"a\" contradicts"));
    EXPECT_THAT(refusal("a[0]=1\na.b=2", format::properties), HasSubstr("contradicts"));
    EXPECT_THAT(refusal("a[0]=1\na[2]=2", format::properties),
                HasSubstr("pools:2: a[1]: the list has no [1]"));
    EXPECT_THAT(refusal("a[999999999]=1", format::properties), HasSubstr("too large"));
    for (const std::string key : {"a..b", ".a", "[0]", "a[0]b", "a[", "a[]"})
        EXPECT_THAT(refusal(key + "=1", format::properties), HasSubstr("must be a path")) << key;
    EXPECT_THAT(refusal("a=\\u12", format::properties), HasSubstr("four hexadecimal"));
    EXPECT_THAT(refusal("a=\\ud83d", format::properties), HasSubstr("surrogates"));
    EXPECT_THAT(refusal("a=\\u0000", format::properties), HasSubstr("NUL"));
}

TEST(document, survives_every_prefix_and_every_lost_byte) {
    const std::string texts[] = {
        "a: &x {b: [1, 'two', \"th\\u0041\"]}\nc: {<<: *x}\n? d\n: |\n  e\n",
        R"({"a": {"b": [1, -2.5e3, "\u00e9", true, null]}})",
        "a = {b = [1, 'x', \"y\\u0041\"]}\n[[c]]\nd.e = 1979-05-27T07:32:00Z\nf = 1.5\n",
        "a.b[0]=\\u4e2d\\\n x\n# y\nc[d.e]: z\n"};
    int i = 0;
    for (const auto f : formats) {
        const std::string& whole = texts[i++];
        EXPECT_THAT(refusal(whole, f), "was accepted");
        for (std::size_t at = 0; at < whole.size(); ++at) {
            refusal(whole.substr(0, at), f);
            refusal(whole.substr(0, at) + whole.substr(at + 1), f);
            refusal(whole.substr(0, at) + "[" + whole.substr(at), f);
        }
    }
}

}  // namespace
}  // namespace cadre::manage
