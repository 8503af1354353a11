// SPDX-License-Identifier: Apache-2.0
#include "named_threads.hpp"

#include <pthread.h>

#include <cadre/detail/thread_control.hpp>

namespace cadre::manage::detail {

thread naming_factory::operator()(std::function<void()> body) const {
    auto name = prefix_ + "-" + std::to_string(made_->fetch_add(1) + 1);
    return inner_([name = std::move(name), body = std::move(body)] {
        pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
        cadre::detail::thread_control::current().rename(name);
        body();
    });
}

thread_factory with_prefix(const thread_factory& factory,
                           const std::optional<std::string>& prefix) {
    const auto* named = factory.target<naming_factory>();
    const auto& inner = named ? named->inner() : factory;
    return prefix ? naming_factory(*prefix, inner) : inner;
}

}  // namespace cadre::manage::detail
