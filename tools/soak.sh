#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Repeats the stress tests, plain and under ThreadSanitizer in turn, for the given number of minutes
# and at least once. Stops at the first failure. CADRE_STRESS_SCALE=n multiplies their rounds.
set -euo pipefail

minutes=${1:?usage: soak.sh minutes}
deadline=$((SECONDS + minutes * 60))
fixed_addresses=()
setarch -R true 2>/dev/null && fixed_addresses=(setarch -R)  # as in the Makefile

for preset in release tsan; do
    cmake --preset "$preset"
    cmake --build --preset "$preset" --target stress_tests
done

round=0
while :; do
    round=$((round + 1))
    for preset in release tsan; do
        echo "soak: round $round, $preset"
        "${fixed_addresses[@]}" ctest --preset "$preset" -L stress --schedule-random
    done
    ((SECONDS < deadline)) || break
done
echo "soak: $round rounds without a failure"
