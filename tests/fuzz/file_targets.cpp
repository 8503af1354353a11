// SPDX-License-Identifier: Apache-2.0
//
// Files that others may have changed, or the kernel has written in a way of its own; and the page
// of metrics, read again by a strict reader.

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "fuzz/targets.hpp"
#include "manage/config_snapshot.hpp"
#include "manage/digest.hpp"
#include "manage/process_memory.hpp"
#include "processors.hpp"
#include "support/fake_root.hpp"
#include "utf8.hpp"
#include <cadre/manage/metrics_text.hpp>
#include <cadre/manage/pool_registry.hpp>

namespace cadre::fuzz {
namespace {

using namespace manage;

/// The last good documents, damaged: refused, or documents that can be kept again as they are.
void play_snapshot(std::string_view input) {
    static const testing::fake_root root;
    const auto file = root.path() / "snapshot";
    choices from(input);
    const bool is_whole = from.below(4) != 0;
    const std::string body(from.rest());
    std::ofstream(file, std::ios::binary)
        << (is_whole ? manage::detail::to_hex(manage::detail::sha256(body)) + "\n" : "") << body;
    manage::detail::config_snapshot read;
    try {
        read = manage::detail::read_snapshot(file);
    } catch (const std::runtime_error&) {
        return;
    }
    manage::detail::write_snapshot(file, read);
    const auto again = manage::detail::read_snapshot(file);
    require(again.size() == read.size(), "a snapshot does not come back");
    for (const auto& [source, document] : read) {
        require(again.at(source).text == document.text, "a document does not come back");
        require(again.at(source).format == document.format, "a format does not come back");
    }
}

/// Limits of control groups: odd files limit nothing, or to something that can be.
void play_groups(std::string_view input) {
    static const testing::fake_root root;
    choices from(input);
    const std::string limits(from.line());
    const std::string quota(from.line());
    const std::string period(from.line());
    root.write("sys/fs/cgroup/cpu.max", quota + " " + period);
    root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", quota);
    root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", period);
    root.write("sys/fs/cgroup/memory.max", limits);
    root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", limits);
    root.write("proc/self/statm", limits);
    root.write("proc/self/cgroup", std::string(from.rest()));
    const int processors = cadre::detail::processors_within_quota(static_cast<int>(from.below(9)),
                                                                  root.path().string());
    require(processors >= 1 && processors <= 8, "more processors than there are, or none");
    const auto memory = manage::detail::memory_of_process(root.path().string());
    require(nlohmann::json::accept(manage::detail::json_of(memory).dump()), "memory as no JSON");
}

/// The text format of Prometheus, as strictly as a scraper reads it.
class scraper {
public:
    explicit scraper(std::string_view page) : rest_(page) {}

    void read() {
        while (!rest_.empty()) {
            const auto end = rest_.find('\n');
            require(end != std::string_view::npos, "a line without an end");
            line_ = rest_.substr(0, end);
            rest_.remove_prefix(end + 1);
            if (line_.starts_with('#'))
                comment();
            else
                sample();
        }
    }
    std::size_t count(const std::string& name) const { return of_name_.count(name); }

private:
    void comment() const {
        require(line_.starts_with("# HELP ") || line_.starts_with("# TYPE "), "an odd comment");
    }
    void sample() {
        const std::string whole(line_);
        const auto called = this->name(":");
        std::string labels;
        if (accept('{')) {
            do {
                labels += this->name("") + "=";
                require(accept('=') && accept('"'), "a label without a value: " + whole);
                labels += text(whole) + ",";
            } while (accept(','));
            require(accept('}'), "labels without an end: " + whole);
        }
        require(accept(' '), "no space before the value: " + whole);
        const std::string value(line_);
        char* end = nullptr;
        std::strtod(value.c_str(), &end);
        require(!value.empty() && *end == '\0', "a value that is no number: " + whole);
        of_name_.insert(called);
        // What a name spells out is what a byte that is no character is written as.
        require(
            seen_.insert(called + "{" + labels).second || whole.find("\\\\x") != std::string::npos,
            "a sample is there twice: " + whole);
    }
    std::string name(std::string_view more) {
        std::string result;
        while (!line_.empty() && (std::isalnum(static_cast<unsigned char>(line_.front())) ||
                                  line_.front() == '_' || more.find(line_.front()) != more.npos)) {
            result += line_.front();
            line_.remove_prefix(1);
        }
        require(!result.empty() && !std::isdigit(static_cast<unsigned char>(result.front())),
                "an odd name");
        return result;
    }
    std::string text(const std::string& whole) {
        std::string result;
        while (!accept('"')) {
            require(!line_.empty(), "a text without an end: " + whole);
            if (accept('\\')) {
                require(!line_.empty() &&
                            std::string_view("\\\"n").find(line_.front()) != std::string_view::npos,
                        "an odd escape: " + whole);
                result += line_.front() == 'n' ? '\n' : line_.front();
                line_.remove_prefix(1);
                continue;
            }
            const auto size = cadre::detail::character_size(line_);
            require(size > 0, "a byte that is no UTF-8: " + whole);
            result += line_.substr(0, size);
            line_.remove_prefix(size);
        }
        return result;
    }
    bool accept(char c) {
        const bool there = line_.starts_with(c);
        if (there) line_.remove_prefix(1);
        return there;
    }

    std::string_view rest_;
    std::string_view line_;
    std::set<std::string> seen_;
    std::multiset<std::string> of_name_;
};

/// Whatever pools and tasks are called.
void play_metrics(std::string_view input) {
    choices from(input);
    pool_registry registry;
    for (int pools = 0; pools < 3 && !from.empty(); ++pools) {
        std::shared_ptr<managed_pool> pool;
        try {
            pool = registry.create({.name = std::string(from.line())});
        } catch (const std::exception&) {  // it is called nothing, or as another one
            continue;
        }
        for (unsigned tasks = from.below(4); tasks > 0; --tasks)
            pool->executor()->submit(named(std::string(from.line()), [] {})).wait();
    }
    for (const bool theirs : {false, true}) {
        const auto page = prometheus_text(
            registry, {.dynamictp_names = theirs, .application = std::string(from.rest())});
        scraper strict(page);
        strict.read();
        require(strict.count("cadre_pool_threads") == registry.pools().size(), "a pool is missing");
    }
    require(nlohmann::json::accept(metrics_json(registry)), "metrics that are no JSON");
}

constexpr target all[] = {
    {"snapshot", play_snapshot}, {"groups", play_groups}, {"metrics", play_metrics}};

}  // namespace

std::span<const target> file_targets() { return all; }

}  // namespace cadre::fuzz
