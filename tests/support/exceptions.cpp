// SPDX-License-Identifier: Apache-2.0
//
// Stands before the function of the C++ runtime that finds memory for an exception.

#include "support/exceptions.hpp"

#include <dlfcn.h>

namespace cadre::testing {

static thread_local std::size_t exceptions = 0;

std::size_t exceptions_here() noexcept { return exceptions; }

}  // namespace cadre::testing

extern "C" void* __cxa_allocate_exception(std::size_t size) noexcept {
    using function = void* (*)(std::size_t);
    static const auto real =
        reinterpret_cast<function>(dlsym(RTLD_NEXT, "__cxa_allocate_exception"));
    ++cadre::testing::exceptions;
    return real(size);
}
