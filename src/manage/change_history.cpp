// SPDX-License-Identifier: Apache-2.0
#include "change_history.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include <cadre/manage/json.hpp>

namespace cadre::manage {

const char* to_text(change_kind kind) {
    switch (kind) {
        case change_kind::registered:
            return "registered";
        case change_kind::changed:
            return "changed";
        case change_kind::rolled_back:
            return "rolled_back";
        case change_kind::removed:
            return "removed";
        case change_kind::refused:
            return "refused";
    }
    return "changed";
}

namespace detail {

change_history::change_history(std::size_t size, const std::filesystem::path& log)
    : size_(size), log_("change_log", log) {}

void change_history::append(change_record& record) {
    record.at = std::chrono::system_clock::now();
    const std::lock_guard lock(mutex_);
    if (record.kind != change_kind::refused) record.revision = ++revision_;
    if (log_.is_kept())
        if (auto error = log_.append(to_json(record) + "\n"); !error.empty())
            record.warnings.push_back(std::move(error));
    records_.push_back(record);
    // Refusals, of which there may be many, must not push out what one could go back to.
    const auto of_its_sort = [&](const change_record& other) {
        return (other.kind == change_kind::refused) == (record.kind == change_kind::refused);
    };
    if (static_cast<std::size_t>(std::count_if(records_.begin(), records_.end(), of_its_sort)) >
        size_)
        records_.erase(std::find_if(records_.begin(), records_.end(), of_its_sort));
}

void change_history::tell(const change_record& record) const noexcept {
    std::vector<std::shared_ptr<listener>> told;
    try {
        const std::lock_guard lock(mutex_);
        for (const auto& one : listeners_)
            if (auto alive = one.lock()) told.push_back(std::move(alive));
    } catch (const std::bad_alloc&) {
        return;
    }
    for (const auto& one : told) {
        try {
            (*one)(record);
        } catch (...) {}  // as documented
    }
}

std::vector<change_record> change_history::records() const {
    const std::lock_guard lock(mutex_);
    return {records_.begin(), records_.end()};
}

std::optional<change_record> change_history::find(std::uint64_t revision) const {
    const std::lock_guard lock(mutex_);
    for (const auto& record : records_)
        if (record.revision == revision && revision != 0) return record;
    return std::nullopt;
}

std::uint64_t change_history::revision() const {
    const std::lock_guard lock(mutex_);
    return revision_;
}

std::shared_ptr<void> change_history::subscribe(listener told) {
    if (!told) throw std::invalid_argument("listener is empty");
    auto shared = std::make_shared<listener>(std::move(told));
    const std::lock_guard lock(mutex_);
    std::erase_if(listeners_, [](const auto& one) { return one.expired(); });
    listeners_.push_back(shared);
    return shared;
}

}  // namespace detail
}  // namespace cadre::manage
