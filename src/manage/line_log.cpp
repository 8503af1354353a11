// SPDX-License-Identifier: Apache-2.0
#include "line_log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace cadre::manage::detail {
namespace {

int open_log(const std::string& what, const std::filesystem::path& path) {
    if (path.empty()) return -1;
    const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (file < 0)
        throw std::system_error(errno, std::generic_category(),
                                what + " (" + path.string() + ") cannot be opened");
    return file;
}

bool is_at(int file, const std::filesystem::path& path) {
    struct stat opened = {};
    struct stat there = {};
    return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &there) == 0 &&
           opened.st_dev == there.st_dev && opened.st_ino == there.st_ino;
}

}  // namespace

line_log::line_log(std::string what, std::filesystem::path path)
    : what_(std::move(what)), path_(std::move(path)), file_(open_log(what_, path_)) {}

line_log::~line_log() {
    if (file_ >= 0) ::close(file_);
}

std::string line_log::append(std::string_view lines) {
    if (file_ < 0) return {};
    const int error = write(lines);
    if (error == 0) return {};
    return what_ + " (" + path_.string() +
           ") was not written: " + std::generic_category().message(error);
}

/// 0, or why not.
int line_log::write(std::string_view lines) {
    if (!is_at(file_, path_)) {
        try {
            const int anew = open_log(what_, path_);
            ::close(std::exchange(file_, anew));
            torn_ = false;
        } catch (const std::system_error& error) {
            return error.code().value();
        }
    }
    const std::string whole = (torn_ ? "\n" : "") + std::string(lines);
    for (std::string_view left = whole; !left.empty();) {
        const auto written = ::write(file_, left.data(), left.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        left.remove_prefix(static_cast<std::size_t>(written));
        torn_ = !left.empty();
    }
    return 0;
}

}  // namespace cadre::manage::detail
