// SPDX-License-Identifier: Apache-2.0

#include "pool_thread.hpp"

#include <algorithm>

#include <pthread.h>

#include <cadre/errors.hpp>

#include "thread_factories.hpp"

namespace cadre::detail {

thread make_pool_thread(const thread_factory& factory, const std::string& pool_name,
                        std::function<void()> body) {
    const auto* plain = factory.target<default_factory>();
    if (plain && !pool_name.empty()) return plain->make(pool_name, std::move(body));
    return factory(std::move(body));
}

bool is_own_factory(const thread_factory& factory) noexcept {
    return factory.target<default_factory>() || factory.target<prefix_factory>();
}

void refuse_foreign(thread made) {
    made.detach();  // whatever it is, it is not ours
    throw illegal_state(
        "the thread factory returned a thread that does not run the body it was given");
}

void refuse_caller() {
    throw illegal_state("the thread factory ran the body that it was to give to a thread");
}

bool has_stack_for_a_task() {
    struct bounds {
        std::uintptr_t lowest = 0;
        std::uintptr_t enough = 0;
    };
    thread_local const bounds own = []() -> bounds {
        pthread_attr_t attributes;
        void* base = nullptr;
        std::size_t size = 0;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
        pthread_attr_getstack(&attributes, &base, &size);
        pthread_attr_destroy(&attributes);
        constexpr std::size_t reserve = std::size_t{256} * 1024;
        const auto lowest = reinterpret_cast<std::uintptr_t>(base);
        return {lowest, lowest + std::min(reserve, size / 4)};
    }();
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    return here > own.enough || here < own.lowest;
}

}  // namespace cadre::detail
