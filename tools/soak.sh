#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Repeats the stress tests, plain and under ThreadSanitizer in turn, and plays random scenarios
# against the JDK, for the given number of minutes and at least once. Stops at the first failure.
# CADRE_STRESS_SCALE=n multiplies the rounds of the stress tests.
set -euo pipefail

minutes=${1:?usage: soak.sh minutes}
deadline=$((SECONDS + minutes * 60))
fixed_addresses=()
setarch -R true 2>/dev/null && fixed_addresses=(setarch -R)  # as in the Makefile

for preset in release tsan; do
    cmake --preset "$preset"
    cmake --build --preset "$preset" --target stress_tests
done
cmake --build --preset release --target oracle_driver oracle_reference

round=0
while :; do
    round=$((round + 1))
    for preset in release tsan; do
        echo "soak: round $round, $preset"
        "${fixed_addresses[@]}" ctest --preset "$preset" -L stress --schedule-random
    done
    echo "soak: round $round, oracle"
    tests/oracle/generate --minutes 1
    ((SECONDS < deadline)) || break
done
echo "soak: $round rounds without a failure"
