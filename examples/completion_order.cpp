// SPDX-License-Identifier: Apache-2.0
// Results in the order in which they are ready, whichever way each task ended; and the first
// good answer of several, with the rest called off.

#include <functional>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include <cadre/cadre.hpp>

using namespace std::chrono_literals;

std::string ask(const std::string& mirror, std::chrono::milliseconds distance) {
    cadre::this_thread::sleep_for(distance);
    if (mirror == "broken") throw std::runtime_error(mirror + " has lost the page");
    return mirror;
}

int main() {
    const std::vector<std::pair<std::string, std::chrono::milliseconds>> mirrors = {
        {"far", 90ms}, {"near", 10ms}, {"broken", 30ms}, {"middling", 60ms}};
    auto pool = cadre::executors::fixed_thread_pool(4);

    cadre::executor_completion_service<std::string> pages(*pool);
    for (const auto& [mirror, distance] : mirrors)
        std::ignore = pages.submit([mirror, distance] { return ask(mirror, distance); });
    for (std::size_t i = 0; i < mirrors.size(); ++i) {
        try {
            const std::string page = pages.take().get();
            std::cout << i + 1 << ". " << page << '\n';
        } catch (const std::exception& e) {
            std::cout << i + 1 << ". (" << e.what() << ")\n";
        }
    }

    std::vector<std::function<std::string()>> questions;
    for (const auto& [mirror, distance] : mirrors)
        questions.push_back([mirror, distance] { return ask(mirror, distance); });
    std::cout << "the first to answer: " << pool->invoke_any(questions, 5s) << '\n';
}
