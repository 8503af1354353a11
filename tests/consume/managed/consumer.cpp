// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <cadre/manage/configuration.hpp>

int main() {
    using namespace cadre::manage;
    const std::array documents{
        parse_document("[pools.a]\ncore_pool_size = 42\n", "a.toml", document_format::toml)};
    return read_configuration(documents).pools.at("a").settings.core_pool_size == 42 ? 0 : 1;
}
