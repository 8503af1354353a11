// SPDX-License-Identifier: Apache-2.0
#include <cadre/manage/file_source.hpp>

#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <cadre/errors.hpp>
#include <cadre/thread.hpp>

#include "manage/support/received_documents.hpp"
#include "support/sleeps.hpp"

namespace {

std::atomic<bool> watches_used_up = false;

}  // namespace

/// In place of the C library's.
extern "C" int inotify_init1(int flags) noexcept {
    if (!watches_used_up) return static_cast<int>(::syscall(SYS_inotify_init1, flags));
    errno = EMFILE;
    return -1;
}

namespace cadre::manage {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using testing::eventually;
using testing::fails_with;
using testing::quick_backoff;
using testing::received_documents;

class temporary_directory {
public:
    temporary_directory() {
        std::string name = (fs::temp_directory_path() / "cadre_file_XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~temporary_directory() { fs::remove_all(path_); }
    fs::path operator/(const std::string& name) const { return path_ / name; }
    const fs::path& path() const { return path_; }

private:
    fs::path path_;
};

void write(const fs::path& path, const std::string& text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// Polling is off in these tests, unless they are about it: what is seen was told.
file_source_options watching(const fs::path& path) {
    return {.path = path, .settle = 1ms, .poll = 1h, .backoff = quick_backoff};
}

TEST(file_source, gives_the_file_and_what_it_is_changed_to_in_place) {
    const temporary_directory directory;
    write(directory / "pools.yaml", "one");
    const auto source = file_source(watching(directory / "pools.yaml"));
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    write(directory / "pools.yaml", "two");
    ASSERT_TRUE(received.newest_is("two"));
    EXPECT_EQ(received.all()[0].format, document_format::yaml);
    EXPECT_NE(received.all()[0].revision, received.all().back().revision);
    EXPECT_TRUE(eventually([&] { return source->health().state == source_state::healthy; }));
}

TEST(file_source, sees_a_save_by_rename_again_and_again) {
    const temporary_directory directory;
    write(directory / "pools.json", "0");
    const auto source = file_source(watching(directory / "pools.json"));
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("0"));
    for (int i = 1; i <= 5; ++i) {
        write(directory / ".pools.json.swp", std::to_string(i));
        fs::rename(directory / ".pools.json.swp", directory / "pools.json");
        ASSERT_TRUE(received.newest_is(std::to_string(i)));
    }
    write(directory / "pools.json", "in place");
    EXPECT_TRUE(received.newest_is("in place"));
}

TEST(file_source, sees_a_config_map_swapped_behind_its_link) {
    const temporary_directory directory;
    fs::create_directory(directory / "..first");
    write(directory / "..first/pools.yaml", "one");
    fs::create_directory_symlink("..first", directory / "..data");
    fs::create_symlink("..data/pools.yaml", directory / "pools.yaml");
    const auto source = file_source(watching(directory / "pools.yaml"));
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));

    fs::create_directory(directory / "..second");
    write(directory / "..second/pools.yaml", "two");
    fs::create_directory_symlink("..second", directory / "..data_tmp");
    fs::rename(directory / "..data_tmp", directory / "..data");
    fs::remove_all(directory / "..first");
    EXPECT_TRUE(received.newest_is("two"));
}

TEST(file_source, keeps_the_last_document_while_the_file_is_gone_or_empty) {
    const temporary_directory directory;
    write(directory / "pools.yaml", "one");
    const auto source = file_source(watching(directory / "pools.yaml"));
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    fs::remove(directory / "pools.yaml");
    ASSERT_TRUE(fails_with(*source, "No such file"));
    write(directory / "pools.yaml", "");
    ASSERT_TRUE(fails_with(*source, "is empty"));
    EXPECT_EQ(received.all().size(), 1U);
    write(directory / "pools.yaml", "back");
    EXPECT_TRUE(received.newest_is("back"));
    EXPECT_TRUE(eventually([&] { return source->health().failures == 0; }));
}

TEST(file_source, says_nothing_for_a_file_that_need_not_be_there) {
    const temporary_directory directory;
    auto options = watching(directory / "pools.yaml");
    options.required = false;
    const auto source = file_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is_absent());
    write(directory / "pools.yaml", "one");
    ASSERT_TRUE(received.newest_is("one"));
    fs::remove(directory / "pools.yaml");
    EXPECT_TRUE(received.newest_is_absent());
}

TEST(file_source, waits_for_a_directory_that_comes_later_or_is_replaced) {
    const temporary_directory directory;
    auto options = watching(directory / "etc/pools.yaml");
    options.poll = 20ms;  // nobody tells of a directory above the watched one
    const auto source = file_source(options);
    received_documents received(*source);
    ASSERT_TRUE(fails_with(*source, "No such file"));
    fs::create_directory(directory / "etc");
    write(directory / "etc/pools.yaml", "one");
    ASSERT_TRUE(received.newest_is("one"));
    fs::rename(directory / "etc", directory / "old");
    fs::create_directory(directory / "etc");
    write(directory / "etc/pools.yaml", "two");
    ASSERT_TRUE(received.newest_is("two"));
    write(directory / "etc/pools.yaml", "three");
    EXPECT_TRUE(received.newest_is("three"));
}

TEST(file_source, sees_by_polling_what_changes_behind_a_link) {
    const temporary_directory directory;
    fs::create_directory(directory / "elsewhere");
    write(directory / "elsewhere/real.yaml", "one");
    fs::create_symlink("elsewhere/real.yaml", directory / "pools.yaml");
    auto options = watching(directory / "pools.yaml");
    options.poll = 5ms;
    const auto source = file_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    write(directory / "elsewhere/real.yaml", "longer than one");
    EXPECT_TRUE(received.newest_is("longer than one"));
}

TEST(file_source, polls_where_the_system_has_no_watches_left) {
    const temporary_directory directory;
    write(directory / "pools.yaml", "one");
    auto options = watching(directory / "pools.yaml");
    options.poll = 1ms;
    watches_used_up = true;
    const auto source = file_source(options);
    watches_used_up = false;
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    write(directory / "pools.yaml", "another");
    EXPECT_TRUE(received.newest_is("another"));
}

/// A file that grows by a byte every few milliseconds, until it is closed.
class slow_writer {
public:
    explicit slow_writer(const fs::path& path)
        : file_(path, std::ios::trunc), thread_([this](const std::stop_token& stop) {
              for (auto last = steady::now(); !stop.stop_requested(); ++written_) {
                  file_ << 'x' << std::flush;
                  const auto now = steady::now();
                  longest_gap_ = std::max<steady::duration>(longest_gap_, now - last);
                  last = now;
                  testing::take_at_least(3ms);
              }
          }) {}
    void await(int bytes) const {
        EXPECT_TRUE(eventually([&] { return written_ >= bytes; }));
    }
    /// Returns how many bytes it has.
    std::size_t finish() {
        thread_.request_stop();
        thread_.join();
        file_.close();
        return static_cast<std::size_t>(written_);
    }
    /// False if it paused for so long, which a busy machine may do to it, or wrote for ten times as
    /// long. After finish().
    bool was_at_it(steady::duration settle) const {
        return longest_gap_ < settle && steady::now() - began_ < 10 * settle;
    }

private:
    const steady::time_point began_ = steady::now();
    std::ofstream file_;
    std::atomic<int> written_ = 0;
    steady::duration longest_gap_ = {};  // written by the thread
    std::jthread thread_;
};

TEST(file_source, does_not_read_a_file_that_is_being_written) {
    const temporary_directory directory;
    for (const bool told : {true, false}) {
        const auto path = directory / (told ? "told.yaml" : "polled.yaml");
        write(path, "one");
        auto options = watching(path);
        options.settle = 500ms;
        if (!told) options.poll = 10ms;
        const auto source = file_source(options);
        received_documents received(*source);
        ASSERT_TRUE(received.newest_is("one"));
        if (told) fs::remove(path);  // so that it is made anew, which is told
        slow_writer writer(path);
        writer.await(250);  // at least 750 ms
        const auto meanwhile = received.all().size();
        const auto size = writer.finish();
        EXPECT_TRUE(meanwhile == 1 || !writer.was_at_it(options.settle));
        EXPECT_TRUE(received.newest_is(std::string(size, 'x')));
    }
}

TEST(file_source, reads_after_a_while_what_does_not_come_to_rest) {
    const temporary_directory directory;
    write(directory / "pools.yaml", "one");
    auto options = watching(directory / "pools.yaml");
    options.settle = 10ms;
    options.poll = 10ms;
    const auto source = file_source(options);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    slow_writer writer(directory / "pools.yaml");
    EXPECT_TRUE(eventually([&] { return received.all().size() > 1; }));
    writer.finish();
}

TEST(file_source, polls_a_directory_that_it_may_not_look_into) {
    const temporary_directory directory;
    write(directory / "pools.yaml", "one");
    fs::permissions(directory.path(), fs::perms(0311));  // files can be opened, but not listed
    auto options = watching(directory / "pools.yaml");
    options.poll = 5ms;
    const auto source = file_source(options);
    constexpr uid_t nobody = 65534;  // root may do everything
    const auto self = static_cast<uid_t>(::setfsuid(nobody));
    received_documents received(*source);
    ::setfsuid(self);
    EXPECT_TRUE(received.newest_is("one"));
    write(directory / "pools.yaml", "another");
    EXPECT_TRUE(received.newest_is("another"));
    EXPECT_EQ(source->health().last_error, "");
    fs::permissions(directory.path(), fs::perms(0700));
}

TEST(file_source, does_not_read_what_is_too_large_or_no_file) {
    const temporary_directory directory;
    write(directory / "large.yaml", std::string((1 << 20) + 1, 'x'));
    fs::create_directory(directory / "directory.yaml");
    ASSERT_EQ(mkfifo((directory / "fifo.yaml").c_str(), 0600), 0);
    const std::pair<std::string, std::string> names[] = {{"large.yaml", "more than 1048576 bytes"},
                                                         {"directory.yaml", "is not a file"},
                                                         {"fifo.yaml", "is not a file"}};
    for (const auto& [name, why] : names) {
        const auto source = file_source(watching(directory / name));
        const received_documents received(*source);
        EXPECT_TRUE(fails_with(*source, why)) << name;
    }
    EXPECT_THROW(file_source({.path = directory / "pools.xml"}), std::invalid_argument);
}

TEST(config_source, gives_a_document_again_that_its_listener_refused) {
    const temporary_directory directory;
    write(directory / "pools.yaml", "one");
    const auto source = file_source(watching(directory / "pools.yaml"));
    std::atomic<int> calls = 0;
    source->start([&](const config_document&) {
        if (++calls < 3) throw std::runtime_error("not yet");
    });
    EXPECT_TRUE(eventually([&] { return source->health().documents == 1; }));
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(source->health().last_error, "not yet");
}

TEST(config_source, stops_while_it_waits_and_starts_only_once) {
    const auto source = embedded_source("one", document_format::json);
    received_documents received(*source);
    ASSERT_TRUE(received.newest_is("one"));
    EXPECT_THROW(source->start([](const config_document&) {}), illegal_state);
    EXPECT_TRUE(
        eventually([&] { return source->health().answered_at.time_since_epoch().count() > 0; }));
    source->stop();
    source->stop();
    EXPECT_EQ(source->health().state, source_state::stopped);
    EXPECT_EQ(source->name(), "embedded");

    const auto never_started = embedded_source("one", document_format::json);
    never_started->stop();
    EXPECT_THROW(never_started->start([](const config_document&) {}), illegal_state);
}

TEST(config_source, stops_in_a_long_pause_after_a_failure) {
    const auto source =
        file_source({.path = "/nowhere/pools.yaml", .backoff = {std::chrono::hours(1), 2h}});
    const received_documents received(*source);
    ASSERT_TRUE(fails_with(*source, "No such file"));
    source->stop();
    EXPECT_EQ(source->health().failures, 1);
}

}  // namespace
}  // namespace cadre::manage
