// SPDX-License-Identifier: Apache-2.0
// Any thread can be interrupted through its handle, the main thread too: a blocking call of the
// library then throws. The flag is clear afterwards; whoever swallows an interrupt that is not
// for him sets it again.

#include <iostream>
#include <string>

#include <cadre/cadre.hpp>

using namespace std::chrono_literals;

int main() {
    cadre::linked_blocking_queue<std::string> lines;
    cadre::thread printer([&] {
        try {
            for (;;) {
                const std::string line = lines.take();
                std::cout << "printer: " << line << '\n';
            }
        } catch (const cadre::interrupted&) {
            while (auto rest = lines.poll()) std::cout << "printer, leaving: " << *rest << '\n';
        }
    });
    lines.put("hello");
    cadre::this_thread::sleep_for(20ms);
    lines.put("and goodbye");  // printed by either loop
    printer.interrupt();
    printer.join();

    // A helper interrupts the main thread, which waits for a line that never comes.
    const auto main_thread = cadre::thread_handle::current();
    cadre::thread impatient([main_thread] {
        cadre::this_thread::sleep_for(20ms);
        main_thread.interrupt();
    });
    try {
        lines.poll_for(1h);
    } catch (const cadre::interrupted& e) {
        std::cout << "main: " << e.what() << "; flag set: " << std::boolalpha
                  << cadre::this_thread::is_interrupted() << '\n';
    }

    // A computation has no blocking call; it asks by itself.
    cadre::thread counter([] {
        for (long n = 0;; ++n)
            if (cadre::this_thread::interrupted()) {
                std::cout << "counter: stopped after " << (n > 1000 ? "many" : "few")
                          << " rounds\n";
                return;
            }
    });
    cadre::this_thread::sleep_for(20ms);
}  // the destructor interrupts the counter and joins it
