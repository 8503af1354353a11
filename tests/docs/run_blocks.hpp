// SPDX-License-Identifier: Apache-2.0
#pragma once

// Part of the file that tools/doc_blocks.py makes, so that the headers are read once.

#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <cadre/cadre.hpp>

/// A block of the documentation, as a function.
struct doc_block {
    const char* name;  // the page and its line
    void (*run)(cadre::thread_pool_executor& pool, cadre::scheduled_thread_pool_executor& timers);
};

inline void expect_success(int returned) {
    if (returned != 0)
        throw std::runtime_error("main() of the block returned " + std::to_string(returned));
}

inline int run_block(const doc_block& block) {
    cadre::thread_pool_executor pool({.core_pool_size = 4, .maximum_pool_size = 8, .name = "pool"});
    // What a block schedules for later is dropped at its end.
    cadre::scheduled_thread_pool_executor timers(
        {.core_pool_size = 1,
         .name = "timers",
         .execute_existing_delayed_tasks_after_shutdown = false});
    try {
        block.run(pool, timers);
        return 0;
    } catch (const std::exception& thrown) {
        std::cerr << block.name << " threw: " << thrown.what() << '\n';
        return 1;
    }
}

/// The main function: without an argument lists the blocks; with the name of one, runs it.
inline int run_blocks(const std::vector<doc_block>& blocks, int argc, char** argv) {
    for (const auto& each : blocks) {
        if (argc < 2)
            std::cout << each.name << '\n';
        else if (each.name == std::string_view(argv[1]))
            return run_block(each);
    }
    return argc < 2 ? 0 : 2;
}
