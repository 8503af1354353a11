// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include <cadre/detail/export.hpp>
#include <cadre/manage/config_source.hpp>

namespace cadre::manage {

/// Which file, and how it is watched.
struct file_source_options {
    std::filesystem::path path = {};
    /// Without it: as the suffix of the name says.
    std::optional<document_format> format = {};
    /// False: a file that is not there counts as a document that says nothing.
    bool required = true;
    /// For how long the file must stay the same after a sign of a change before it is read: editors
    /// need several steps, and a copy its time. If it does not, it is read after ten times as long.
    std::chrono::milliseconds settle = std::chrono::milliseconds(100);
    /// How often to look at the file's time, size and inode, where no notification comes: over NFS,
    /// or behind a symlink.
    std::chrono::milliseconds poll = std::chrono::seconds(5);
    source_backoff backoff = {std::chrono::milliseconds(100), std::chrono::seconds(1)};
};

/// A file that is watched through its directory: written in place, saved by rename, swapped behind
/// symlinks as a Kubernetes ConfigMap, deleted and put back. A file that is gone, empty, or larger
/// than 1 MiB is a failure, and the last document stays. Throws std::invalid_argument if the format
/// cannot be told.
CADRE_API std::unique_ptr<config_source> file_source(file_source_options options);

}  // namespace cadre::manage
