// SPDX-License-Identifier: Apache-2.0
//
// relacy_checks [interleavings of each suite]: the lock-free parts of the library in Relacy, each
// with ways to get it wrong that Relacy must find.

#include <cstdlib>

#include "simulated.hpp"

int main(int count, char** arguments) {
    using namespace cadre::relacy;
    runner r(count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 100000);
    check_parker(r);
    check_deque(r);
    check_fifo(r);
    check_memory(r);
    check_future(r);
    check_handover(r);
    return r.report();
}
