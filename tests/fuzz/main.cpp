// SPDX-License-Identifier: Apache-2.0
//
//     fuzz TARGET [options of libFuzzer] [corpus...]      without a target: their names

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz/targets.hpp"

namespace cadre::fuzz {
namespace {

const target* chosen = nullptr;

template <class Visit>
void for_each_target(Visit visit) {
    for (const auto all :
         {text_targets(), centre_targets(), http_targets(), file_targets(), machine_targets()})
        for (const auto& each : all) visit(each);
}

}  // namespace

void require(bool holds, const std::string& what) {
    if (holds) return;
    std::fprintf(stderr, "fuzz: %s\n", what.c_str());
    std::abort();
}

}  // namespace cadre::fuzz

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
    using namespace cadre::fuzz;
    // Processes that libFuzzer starts itself, to minimise, have it from the environment.
    const char* name = std::getenv("CADRE_FUZZ_TARGET");
    if (*count > 1 && (*arguments)[1][0] != '-') {
        name = (*arguments)[1];
        setenv("CADRE_FUZZ_TARGET", name, 1);
        for (int i = 1; i + 1 < *count; ++i) (*arguments)[i] = (*arguments)[i + 1];
        --*count;
    }
    for_each_target([&](const target& each) {
        if (name == nullptr)
            std::puts(each.name);
        else if (std::strcmp(each.name, name) == 0)
            chosen = &each;
    });
    if (name == nullptr) std::exit(0);
    if (chosen == nullptr) {
        std::fprintf(stderr, "fuzz: there is no target %s\n", name);
        std::exit(2);
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    cadre::fuzz::chosen->play({reinterpret_cast<const char*>(data), size});
    return 0;
}
