// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace cadre::testing {

/// A control group of its own that may limit threads, if this process has the right to one. It goes
/// with its maker, who does not enter it, but has a child do so.
class control_group {
public:
    control_group() {
        for (const std::string root : {"/sys/fs/cgroup/pids", "/sys/fs/cgroup"}) {
            path_ = root + "/cadre-test-" + std::to_string(getpid());
            if (mkdir(path_.c_str(), 0755) != 0) continue;
            if (limit_threads("max")) return;
            rmdir(path_.c_str());
        }
        path_.clear();
    }
    ~control_group() {
        if (is_there()) rmdir(path_.c_str());  // which in a child that is in it does nothing
    }
    control_group(const control_group&) = delete;
    control_group& operator=(const control_group&) = delete;

    bool is_there() const { return !path_.empty(); }
    /// The calling process, for as long as it lives.
    bool enter() const { return write("cgroup.procs", std::to_string(getpid())); }
    /// A number, or "max". Those that are there stay, even if they are more.
    bool limit_threads(const std::string& to) const { return write("pids.max", to); }

private:
    bool write(const std::string& file, const std::string& text) const {
        std::ofstream out(path_ + "/" + file);
        out << text << std::flush;
        return out.good();
    }

    std::string path_;
};

}  // namespace cadre::testing
