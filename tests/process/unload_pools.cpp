// SPDX-License-Identifier: Apache-2.0
//
// Loads a library that has pools and a copy of cadre of its own, uses it, closes the pools and
// unloads it, again and again. Threads that its cadre knows end only afterwards.

#include <cadre/cadre.hpp>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>
#include <vector>

#include <dlfcn.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
// What cadre keeps of a thread that outlives the library stays where it is.
extern "C" int __lsan_is_turned_off() { return 1; }
#endif
#endif

namespace {

void expect(bool fact, const char* what) {
    if (fact) return;
    std::cerr << "failed: " << what << '\n';
    std::_Exit(1);
}

template <class Function>
Function* of(void* library, const char* name) {
    void* const found = dlsym(library, name);
    expect(found != nullptr, name);
    return reinterpret_cast<Function*>(found);
}

void use(void* library) {
    of<void()>(library, "open_pools")();
    auto* const twice = of<int(int)>(library, "twice");
    expect(twice(4) == 8, "a task of the library");
    {
        cadre::thread_pool_executor own({.core_pool_size = 1});
        expect(own.submit([&] { return twice(21); }).get() == 42,
               "a task of ours that waits for one of the library");
    }
    of<void()>(library, "close_pools")();
}

void load_use_and_unload(const char* path) {
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    expect(library != nullptr, "dlopen");
    auto* const is_interrupted = of<bool()>(library, "is_interrupted");

    std::atomic<int> known = 0;
    std::atomic<bool> unloaded = false;
    std::vector<std::thread> onlookers;
    for (int i = 0; i < 3; ++i)
        onlookers.emplace_back([&] {
            expect(!is_interrupted(), "the flag of a thread");
            ++known;
            while (!unloaded) std::this_thread::yield();
        });
    std::thread(use, library).join();
    while (known != 3) std::this_thread::yield();

    expect(dlclose(library) == 0, "dlclose");
    expect(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == nullptr, "the library is gone");
    unloaded = true;
    for (auto& each : onlookers) each.join();
}

}  // namespace

int main(int, char** arguments) {
    constexpr int rounds = 10;
    for (int round = 0; round < rounds; ++round) load_use_and_unload(arguments[1]);
    std::cout << rounds << " times loaded, used and unloaded, each time outlived by 3 threads\n";
}
