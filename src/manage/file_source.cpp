// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/file_source.hpp>

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <utility>

#include "manage/digest.hpp"
#include "manage/source_loop.hpp"

// The directory is watched, not the file: a save by rename leaves a watch of the file on what was
// deleted, and a ConfigMap changes only the link ..data beside it. So any change in the directory
// is a reason to look. The watch is set before the file is read, so that a change in between is
// told; it is set again for each look, which is free while the directory is the same. Where there
// can be no watch, looking every now and then has to do.
//
// That a file was made, or is another at the next look, does not say that all of it is there. So,
// but for the first time, it is read when it has stayed the same for a while; or, if somebody keeps
// writing, after ten times as long.

namespace cadre::manage {
namespace detail {
namespace {

class descriptor {
public:
    explicit descriptor(int value) : value_(value) {}
    ~descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    int get() const { return value_; }

private:
    const int value_;
};

[[noreturn]] void fail(int error, const std::string& what) {
    throw std::system_error(error, std::generic_category(), what);
}

using file_stamp = std::tuple<dev_t, ino_t, off_t, std::int64_t, std::int64_t>;

file_stamp stamp_of(const struct stat& s) {
    return {s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
}

class file_fetcher final : public document_fetcher {
public:
    file_fetcher(file_source_options options, document_format format)
        : options_(std::move(options)),
          format_(format),
          directory_(options_.path.has_parent_path() ? options_.path.parent_path() : "."),
          inotify_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

    std::optional<config_document> fetch(const stop_signal& stop) override {
        const bool told = looked_ && wait_for_change(stop);
        watch_directory();
        if (looked_ && !told && stamp() == stamp_) return {};
        if (std::exchange(is_later_, true)) {
            wait_for_rest(stop);
            watch_directory();  // which may be another by now
        }
        looked_ = false;  // until it has been read: a failure comes here again at once
        auto document = read();
        looked_ = true;
        return document;
    }
    void forget() override { looked_ = false; }

private:
    bool wait_for_change(const stop_signal& stop) {
        if (inotify_.get() < 0) {
            stop.sleep_for(options_.poll);
            return false;
        }
        return stop.wait_for(inotify_.get(), options_.poll);
    }

    void wait_for_rest(const stop_signal& stop) {
        constexpr int patience = 10;
        auto last = stamp();
        for (int i = 0; i < patience; ++i) {
            stop.sleep_for(options_.settle);
            const auto before = std::exchange(last, stamp());
            if (before == last) break;
        }
        std::array<char, 4096> events{};  // which ones does not matter
        while (::read(inotify_.get(), events.data(), events.size()) > 0) {}
    }

    void watch_directory() {
        if (inotify_.get() < 0) return;
        constexpr std::uint32_t changes = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE |
                                          IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB;
        const int watch = inotify_add_watch(inotify_.get(), directory_.c_str(), changes);
        if (watch_ >= 0 && watch != watch_) inotify_rm_watch(inotify_.get(), watch_);
        watch_ = watch;
    }

    std::optional<file_stamp> stamp() const {
        struct stat s {};
        if (::stat(options_.path.c_str(), &s) != 0) return {};
        return stamp_of(s);
    }

    config_document read() {
        // Non-blocking, for what turns out to be a FIFO.
        const descriptor file(::open(options_.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (file.get() < 0 && errno == ENOENT && !options_.required) {
            stamp_ = {};
            return {.format = format_, .exists = false};
        }
        if (file.get() < 0) fail(errno, options_.path.string());
        struct stat s {};
        if (::fstat(file.get(), &s) != 0) fail(errno, options_.path.string());
        if (!S_ISREG(s.st_mode))
            throw std::runtime_error(options_.path.string() + " is not a file");
        config_document document{.text = content(file.get()), .format = format_};
        // Of before it was read: if it grew meanwhile, the next look finds another stamp.
        stamp_ = stamp_of(s);
        document.revision = to_hex(sha256(document.text)).substr(0, 12);
        return document;
    }

    std::string content(int file) const {
        const std::size_t most = document_limits{}.bytes;
        std::string text;
        std::array<char, 16384> part{};
        for (;;) {
            const auto size = ::read(file, part.data(), part.size());
            if (size < 0 && errno == EINTR) continue;
            if (size < 0) fail(errno, options_.path.string());
            if (size == 0) break;
            text.append(part.data(), static_cast<std::size_t>(size));
            if (text.size() > most)
                throw configuration_error(
                    {{.file = options_.path.string(),
                      .rule = "has more than " + std::to_string(most) + " bytes"}});
        }
        // An editor may be about to write it; if not, there is nothing to be read.
        if (text.empty())
            throw configuration_error({{.file = options_.path.string(), .rule = "is empty"}});
        return text;
    }

    const file_source_options options_;
    const document_format format_;
    const std::filesystem::path directory_;
    const descriptor inotify_;
    int watch_ = -1;
    bool is_later_ = false;  ///< it has been looked at before, with or without success
    bool looked_ = false;
    std::optional<file_stamp> stamp_;
};

}  // namespace
}  // namespace detail

std::unique_ptr<config_source> file_source(file_source_options options) {
    const auto format =
        options.format ? *options.format : format_of(options.path.filename().string());
    detail::check_above_zero(options.poll, "poll");
    const std::string name = "file:" + options.path.string();
    const bool required = options.required;
    const auto backoff = options.backoff;
    return std::make_unique<detail::source_loop>(
        name, std::make_unique<detail::file_fetcher>(std::move(options), format), required,
        backoff);
}

}  // namespace cadre::manage
