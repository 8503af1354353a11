#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes each target of tests/fuzz (or those that are named) for the given number of seconds, and goes on
# from what earlier runs found, in build/fuzz. One line a target; stops at the first finding, whose input is
# kept there too: `build/asan/tests/fuzz/fuzz TARGET FILE` plays it again.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: fuzz.sh seconds [target...]}
shift
program=build/asan/tests/fuzz/fuzz
if [ -z "${CADRE_FUZZ_BUILT:-}" ]; then
    cmake --preset asan >/dev/null
    cmake --build --preset asan --target fuzz >/dev/null
fi
targets=("$@")
[ $# -gt 0 ] || mapfile -t targets < <("$program")
export ASAN_OPTIONS=detect_stack_use_after_return=1:detect_leaks=1:strict_string_checks=1

all=0
for target in "${targets[@]}"; do
    mkdir -p "build/fuzz/$target"
    log=build/fuzz/$target.log
    if ! "$program" "$target" "build/fuzz/$target" "tests/fuzz/corpus/$target" \
        -max_total_time="$seconds" -max_len=4096 -timeout=100 -rss_limit_mb=4096 -print_final_stats=1 \
        -verbosity=1 -artifact_prefix="build/fuzz/$target-" >"$log" 2>&1; then
        tail -60 "$log"
        echo "fuzz: $target failed; see $log"
        exit 1
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    all=$((all + runs))
    echo "fuzz: $target: $runs inputs, $edges edges, 0 findings"
done
echo "fuzz: ${#targets[@]} targets, $all inputs, 0 findings"
