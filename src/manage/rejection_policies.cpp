// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/rejection_policies.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>

#include <cadre/manage/duration_text.hpp>
#include <cadre/thread_pool_executor.hpp>

namespace cadre::manage::rejection_policies {
namespace {

/// A registered policy as a pool has it: it can be asked for its name.
struct named_policy {
    std::string name;
    std::shared_ptr<const rejected_execution_handler> policy;
    void operator()(task t, thread_pool_executor& pool) const { (*policy)(std::move(t), pool); }
};

struct registered {
    std::mutex mutex;  // guards policies
    std::map<std::string, std::shared_ptr<const rejected_execution_handler>, std::less<>> policies;
};
registered& all() {
    static auto* const one = new registered;  // pools of static life may use it to the very end
    return *one;
}

constexpr std::string_view block_for = "block(";

rejected_execution_handler built_in(std::string_view name) {
    if (name == "abort") return abort_policy{};
    if (name == "caller_runs") return caller_runs_policy{};
    if (name == "discard") return discard_policy{};
    if (name == "discard_oldest") return discard_oldest_policy{};
    if (name == "block") return block_policy{};
    if (name.starts_with(block_for) && name.ends_with(")")) {
        name.remove_prefix(block_for.size());
        name.remove_suffix(1);
        return block_policy{.timeout = parse_duration(name)};
    }
    return nullptr;
}

}  // namespace

void add(std::string name, rejected_execution_handler policy) {
    if (name.empty()) throw std::invalid_argument("name of a rejection policy: is empty");
    if (!policy) throw std::invalid_argument("policy (" + name + ") is empty");
    if (built_in(name) || name == "custom")
        throw std::invalid_argument("name (" + name + ") is that of a built-in policy");
    auto shared = std::make_shared<const rejected_execution_handler>(std::move(policy));
    const std::lock_guard lock(all().mutex);
    if (!all().policies.try_emplace(name, std::move(shared)).second)
        throw std::invalid_argument("name (" + name + ") is taken by another rejection policy");
}

bool remove(std::string_view name) {
    std::shared_ptr<const rejected_execution_handler> removed;  // destroyed outside the lock
    const std::lock_guard lock(all().mutex);
    const auto found = all().policies.find(name);
    if (found == all().policies.end()) return false;
    removed = std::move(found->second);
    all().policies.erase(found);
    return true;
}

rejected_execution_handler make(std::string_view name) {
    if (auto policy = built_in(name)) return policy;
    {
        const std::lock_guard lock(all().mutex);
        const auto found = all().policies.find(name);
        if (found != all().policies.end()) return named_policy{std::string(name), found->second};
    }
    std::string known;
    for (const auto& one : names()) known += " " + one;
    throw std::invalid_argument("rejection (" + std::string(name) +
                                ") is no policy; there are:" + known);
}

std::vector<std::string> names() {
    std::vector<std::string> known{"abort", "caller_runs", "discard", "discard_oldest", "block"};
    const std::lock_guard lock(all().mutex);
    for (const auto& [name, policy] : all().policies) known.push_back(name);
    return known;
}

std::optional<std::string> name_of(const rejected_execution_handler& policy) {
    if (policy.target<abort_policy>()) return "abort";
    if (policy.target<caller_runs_policy>()) return "caller_runs";
    if (policy.target<discard_policy>()) return "discard";
    if (policy.target<discard_oldest_policy>()) return "discard_oldest";
    if (const auto* block = policy.target<block_policy>())
        return block->timeout == std::chrono::nanoseconds::max()
                   ? std::string("block")
                   : std::string(block_for) + to_text(block->timeout) + ")";
    if (const auto* named = policy.target<named_policy>()) return named->name;
    return std::nullopt;
}

}  // namespace cadre::manage::rejection_policies
