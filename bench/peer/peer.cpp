// SPDX-License-Identifier: Apache-2.0
//
// The main program of every peer: says what it can play, then answers a line with a line.

#include "peer.hpp"

#include <exception>
#include <iostream>
#include <stdexcept>

namespace bench {

request::request(const std::string& line) {
    std::istringstream words(line);
    words >> workload_;
    for (std::string word; words >> word;) {
        const auto equals = word.find('=');
        if (equals == std::string::npos) throw std::invalid_argument(word + " has no value");
        values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
}

long request::number(const std::string& key, long otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : std::stol(found->second);
}

std::string request::text(const std::string& key, const std::string& otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
}

answer& answer::add(std::string_view key, double value) {
    std::ostringstream number;
    number.precision(12);
    number << value;
    fields_ += (fields_.empty() ? "" : ", ") + quoted(key) + ": " + number.str();
    return *this;
}

answer& answer::add(std::string_view key, const std::vector<double>& values) {
    std::ostringstream list;
    list.precision(12);
    for (const double value : values) list << (list.tellp() > 0 ? "," : "") << value;
    fields_ += (fields_.empty() ? "" : ", ") + quoted(key) + ": [" + list.str() + "]";
    return *this;
}

std::string quoted(std::string_view text) {
    std::string made = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') made += '\\';
        made += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return made + '"';
}

int peer::serve() {
    std::string names;
    for (const auto& [name, how] : workloads_) names += (names.empty() ? "" : ", ") + quoted(name);
    std::cout << "{\"protocol\": 1, \"version\": " << quoted(version_) << ", \"workloads\": ["
              << names << "]}" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        try {
            const request asked(line);
            const auto found = workloads_.find(asked.workload());
            if (found == workloads_.end()) throw std::invalid_argument("no such workload");
            std::cout << found->second(asked).line() << std::endl;
        } catch (const std::exception& error) {
            std::cout << "{\"error\": " << quoted(error.what()) << "}" << std::endl;
        }
    }
    return 0;
}

}  // namespace bench

int main() { return bench::this_peer().serve(); }
