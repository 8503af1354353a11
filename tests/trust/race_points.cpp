// SPDX-License-Identifier: Apache-2.0
//
// At the points between two steps of a protocol, where no call of the system is made, perturb.so
// delays a thread as well, if it is there.

#include <cadre/detail/schedule_point.hpp>

#include <dlfcn.h>

namespace cadre::detail {

void schedule_point(const char*) noexcept {
    static auto* const perturb = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "cadre_perturb"));
    if (perturb) perturb();
}

}  // namespace cadre::detail
