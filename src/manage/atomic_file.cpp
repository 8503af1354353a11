// SPDX-License-Identifier: Apache-2.0
#include "manage/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace cadre::manage::detail {
namespace {

[[noreturn]] void write_failed(const std::filesystem::path& file) {
    throw std::system_error(errno, std::generic_category(), "writing " + file.string());
}

bool write_and_sync(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const auto written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return fsync(descriptor) == 0;
}

}  // namespace

void write_atomically(const std::filesystem::path& file, std::string_view text) {
    std::string temporary = file.string() + ".XXXXXX";
    const int descriptor = mkostemp(temporary.data(), O_CLOEXEC);
    if (descriptor < 0) write_failed(file);
    const bool written = write_and_sync(descriptor, text);
    const bool closed = ::close(descriptor) == 0;
    if (written && closed && ::rename(temporary.c_str(), file.c_str()) == 0) return;
    const int error = errno;
    ::unlink(temporary.c_str());
    errno = error;
    write_failed(file);
}

std::optional<std::string> read_small_file(const std::filesystem::path& file,
                                           std::size_t most_bytes) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) return {};
    std::ifstream input(file, std::ios::binary);
    std::string text;
    std::array<char, 4096> block;
    do {  // the limit is a thousand times what most files have
        input.read(block.data(), block.size());
        text.append(block.data(), static_cast<std::size_t>(input.gcount()));
    } while (input && text.size() <= most_bytes);
    if (input.bad() || text.size() > most_bytes) return {};
    return text;
}

}  // namespace cadre::manage::detail
