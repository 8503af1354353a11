// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <cadre/manage/change_report.hpp>

#include "line_log.hpp"

namespace cadre::manage::detail {

/// The last records, the file they are appended to, and who wants to be told.
class change_history {
public:
    using listener = std::function<void(const change_record&)>;

    /// Throws std::system_error if the file cannot be opened.
    change_history(std::size_t size, const std::filesystem::path& log);
    change_history(const change_history&) = delete;
    change_history& operator=(const change_history&) = delete;

    /// Gives the record its revision, unless it is a refusal, and its time, and keeps it. A log
    /// that cannot be written is a warning of the record; one that was moved away, as is done to
    /// rotate it, is begun anew.
    void append(change_record& record);
    /// Tells the listeners; under no lock.
    void tell(const change_record& record) const noexcept;

    std::vector<change_record> records() const;
    std::optional<change_record> find(std::uint64_t revision) const;
    std::uint64_t revision() const;
    /// Until the result is destroyed.
    std::shared_ptr<void> subscribe(listener told);

private:
    const std::size_t size_;

    mutable std::mutex mutex_;  // guards all below, and makes the lines of the log come in order
    line_log log_;
    std::deque<change_record> records_;
    std::uint64_t revision_ = 0;
    std::vector<std::weak_ptr<listener>> listeners_;
};

}  // namespace cadre::manage::detail
