// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace cadre::testing {

/// A file system of few files, in a directory of its own that goes when this does.
class fake_root {
public:
    fake_root() {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "cadre_root_XXXXXX").string();
        if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary directory");
        path_ = pattern;
    }
    ~fake_root() { std::filesystem::remove_all(path_); }
    fake_root(const fake_root&) = delete;
    fake_root& operator=(const fake_root&) = delete;

    void write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name) << text;
    }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace cadre::testing
