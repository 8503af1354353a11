// SPDX-License-Identifier: Apache-2.0
// Bookings of three accounts arrive mixed up. Those of one account are made one at a time and in
// order, without a lock; different accounts run in parallel.

#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <cadre/cadre.hpp>

struct account {
    long balance = 0;
    std::vector<long> bookings;
};

int main() {
    std::map<std::string, account> accounts = {{"ann", {}}, {"bob", {}}, {"cleo", {}}};
    {
        cadre::thread_pool_executor pool({.core_pool_size = 3, .name = "bank"});
        cadre::keyed_strands<std::string> lanes(pool);
        for (long cents = 1; cents <= 1000; ++cents)
            for (auto& [name, of] : accounts)
                lanes.execute(name, [&of = of, cents] {
                    of.balance += cents;
                    of.bookings.push_back(cents);
                });
        auto report = lanes.submit("ann", [&] { return accounts["ann"].balance; });
        std::cout << "ann, after all her bookings: " << report.get() << '\n';
    }  // the pool runs what it has accepted

    for (const auto& [name, of] : accounts) {
        bool in_order = true;
        for (std::size_t i = 0; i < of.bookings.size(); ++i)
            in_order = in_order && of.bookings[i] == static_cast<long>(i + 1);
        std::cout << name << ": " << of.balance << " cents, " << of.bookings.size() << " bookings "
                  << (in_order ? "in order" : "out of order") << '\n';
    }
}
