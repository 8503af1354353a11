# SPDX-License-Identifier: Apache-2.0
# Writes the file `input` into a C++ source, as the text that dashboard_page() gives.
file(READ ${input} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
string(REGEX REPLACE "(('....',){24})" "\\1\n" bytes "${bytes}")
file(WRITE ${output} "// Made of ${input}.
#include \"manage/dashboard_page.hpp\"

namespace cadre::manage::detail {
namespace {
constexpr char page[] = {
${bytes}
};
}  // namespace

std::string_view dashboard_page() noexcept {
    return {page, sizeof page};
}

}  // namespace cadre::manage::detail
")
