// SPDX-License-Identifier: Apache-2.0
// Results in the order in which they are ready, whichever way each task ended; and the first
// good answer of several, with the rest called off.

#include <iostream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <cadre/cadre.hpp>

using namespace std::chrono_literals;

struct mirror {
    std::string name;
    std::chrono::milliseconds distance;

    std::string operator()() const {  // fetches the page
        cadre::this_thread::sleep_for(distance);
        if (name == "broken") throw std::runtime_error("the page is lost");
        return name;
    }
};

int main() {
    const std::vector<mirror> mirrors = {
        {"far", 90ms}, {"near", 10ms}, {"broken", 30ms}, {"middling", 60ms}};
    auto pool = cadre::executors::fixed_thread_pool(4);

    cadre::executor_completion_service<std::string> pages(*pool);
    for (const auto& m : mirrors) std::ignore = pages.submit(m);  // a handle, for cancelling
    for (std::size_t i = 1; i <= mirrors.size(); ++i) {
        try {
            const std::string page = pages.take().get();
            std::cout << i << ". " << page << '\n';
        } catch (const std::exception& e) {
            std::cout << i << ". (" << e.what() << ")\n";
        }
    }

    std::cout << "the first to answer: " << pool->invoke_any(mirrors, 1min) << '\n';
}
