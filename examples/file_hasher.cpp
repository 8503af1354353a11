// SPDX-License-Identifier: Apache-2.0
// SHA-256 of files, and of all files in directories, on as many threads as there are processors:
//     file_hasher include src > sums.txt  &&  sha256sum -c sums.txt
// On stderr it shows how far it is, and tells of files that cannot be read.

#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <openssl/evp.h>

#include <cadre/cadre.hpp>

namespace fs = std::filesystem;
std::string line_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    const std::shared_ptr<EVP_MD_CTX> hash(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    EVP_DigestInit_ex(hash.get(), EVP_sha256(), nullptr);
    for (std::array<char, 1 << 16> part; in;) {
        in.read(part.data(), part.size());
        EVP_DigestUpdate(hash.get(), part.data(), static_cast<std::size_t>(in.gcount()));
    }
    if (!in.eof()) throw std::runtime_error("cannot read " + file.string());
    std::array<unsigned char, 32> sum;
    EVP_DigestFinal_ex(hash.get(), sum.data(), nullptr);
    std::string line;
    for (const auto b : sum) line += {"0123456789abcdef"[b / 16], "0123456789abcdef"[b % 16]};
    return line + "  " + file.string() + '\n';
}

int main(int argc, char** argv) {
    cadre::thread_pool_executor pool({.core_pool_size = cadre::sizing::cpu_bound()});
    cadre::executor_completion_service<std::string> finished(pool);
    std::size_t files = 0, failed = 0;
    const auto skipping = fs::directory_options::skip_permission_denied;
    const auto add = [&](const fs::path& file) {
        finished.submit([file] { return line_of(file); });
        ++files;
    };
    for (const fs::path path : std::vector<std::string>(argv + 1, argv + argc)) {
        if (!fs::is_directory(path)) add(path);
        std::error_code not_one;  // what is no directory has no files in it
        for (const auto& each : fs::recursive_directory_iterator(path, skipping, not_one))
            if (each.is_regular_file()) add(each.path());
    }
    for (std::size_t done = 1; done <= files; ++done) {
        try {
            std::cout << finished.take().get();  // in the order in which they are ready
        } catch (const std::exception& error) {
            std::cerr << '\r' << error.what() << '\n';
            ++failed;
        }
        const std::size_t bar = 40 * done / files;
        std::cerr << "\r[" << std::string(bar, '#') << std::string(40 - bar, '.') << "] " << done
                  << " of " << files << (done == files ? "\n" : "") << std::flush;
    }
    return failed == 0 ? 0 : 1;
}
