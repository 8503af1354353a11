#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plays everything that plays long, for about the given number of minutes altogether, and each part at
# least once; or only the parts that are named. One line a part: what, how much, how long, the result, which
# is "not run" where this machine does not allow a part. Stops at the first failure. CADRE_STRESS_SCALE=n
# multiplies the rounds of the stress tests.
set -euo pipefail
cd "$(dirname "$0")/.."

all=(models ledger ledger-tsan perturbed storm races races-tsan ends faults fault-storm signals limits timers
     stress stress-tsan conformance unit spurious chaos plane process uptime threads oracle mutants relacy
     schedules fuzz churn idle interop)
usage="usage: soak.sh minutes [part...]   parts: ${all[*]}"
[[ ${1:-} =~ ^[0-9]+$ ]] || { echo "$usage" >&2; exit 2; }
minutes=$((10#$1))
shift
parts=("${@:-${all[@]}}")
[ $# -gt 0 ] || parts=("${all[@]}")
for part in "${parts[@]}"; do  # else any command there is would be one
    [[ " ${all[*]} " == *" $part "* ]] || { echo "soak: there is no part '$part'; $usage" >&2; exit 2; }
done
share=$((minutes * 60 / ${#parts[@]}))  # seconds a part
((share >= 10)) || share=10
fixed_addresses=()
setarch -R true 2>/dev/null && fixed_addresses=(setarch -R)  # as in the Makefile
log=$(mktemp)
trap 'rm -f "$log"*' EXIT

build() {  # preset, targets
    cmake --preset "$1" >/dev/null
    cmake --build --preset "$1" --target "${@:2}" >"$log" 2>&1 || { cat "$log"; exit 1; }
}
# From here: the way to it may have a space, at which a list of libraries would end.
perturb=./build/soak/tests/perturb.so
tsan_options="suppressions='$PWD/tests/tsan.supp':halt_on_error=1"

# Each prints what it has to say; the last line is its figure.
models() {  # the wide configurations would take hours to the end: as much of each as there is time for
    if ((share < 600)); then models/check; else models/check --bits 32 --seconds $((share / 10)); fi
}
ledger() { build soak ledger_stress; build/soak/tests/ledger_stress --seconds "$share"; }
ledger-tsan() {
    build tsan ledger_stress
    TSAN_OPTIONS=$tsan_options "${fixed_addresses[@]}" build/tsan/tests/ledger_stress --seconds "$share"
}
perturbed() {
    build soak ledger_stress perturb
    LD_PRELOAD=$perturb build/soak/tests/ledger_stress --seconds "$share"
}
storm() {  # one thread in ten refused, one sleep in twenty without a reason to end
    build soak ledger_stress perturb
    LD_PRELOAD=$perturb CADRE_REFUSE=10 CADRE_SPURIOUS=20 \
        build/soak/tests/ledger_stress --seconds "$share"
}
races() {
    build soak race_rounds perturb
    LD_PRELOAD=$perturb build/soak/tests/race_rounds --seconds "$share"
}
races-tsan() {
    build tsan race_rounds
    TSAN_OPTIONS=$tsan_options "${fixed_addresses[@]}" build/tsan/tests/race_rounds --seconds "$share"
}
ends() {  # of pools; given an hour, as many rounds as the JSR-166 suite advises for shutdown_now, and more of others
    build soak race_rounds
    build tsan race_rounds
    local third="--seconds $((share / 3 + 1))"
    local shut_down=$third destroyed=$third destroyed_tsan=$third
    if ((share >= 3600)); then
        shut_down="--rounds 4194304 --seconds 36000"
        destroyed="--rounds 10000000 --seconds 36000"
        destroyed_tsan="--rounds 1000000 --seconds 36000"
    fi
    {
        build/soak/tests/race_rounds --only SH-01 $shut_down
        build/soak/tests/race_rounds --only destroyed $destroyed
        TSAN_OPTIONS=$tsan_options "${fixed_addresses[@]}" \
            build/tsan/tests/race_rounds --only destroyed $destroyed_tsan
    } | tee "$log.ends"
    sed -n 's/^races: [0-9]* races, //p' "$log.ends" |
        paste -d ' ' <(printf '%s\n' 'shutdown_now:' 'destroyed:' 'under TSan:') - | paste -sd '|' | sed 's/|/; /g'
}
faults() { build soak fault_sweep; build/soak/tests/fault_sweep; }
fault-storm() { build soak fault_storm; build/soak/tests/fault_storm --seconds "$share"; }
signals() {  # 10,000 a second, and stopped and continued ten times a second
    build soak ledger_stress
    build/soak/tests/ledger_stress --signals 10000 --seconds "$share"
}
limits() { build soak shifting_limit; build/soak/tests/shifting_limit --seconds "$share"; }
timers() { build soak timer_flood; build/soak/tests/timer_flood --timers 10000000 --seconds "$share"; }
again() {  # a command, until the share is used up
    local rounds=0 until=$((SECONDS + share))
    while ((rounds == 0 || SECONDS < until)); do
        "$@"
        rounds=$((rounds + 1))
    done
    echo "$rounds passes of $*"
}
stress() { build soak stress_tests; again build/soak/tests/stress_tests --gtest_brief=1; }
stress-tsan() {
    build tsan stress_tests
    TSAN_OPTIONS=$tsan_options again "${fixed_addresses[@]}" build/tsan/tests/stress_tests --gtest_brief=1
}
one_after_the_other() {  # a file for the number, a command: until the share is used up or another one failed
    local rounds=0 until=$((SECONDS + share))
    while ((rounds == 0 || SECONDS < until)) && [ ! -e "$log.failed" ]; do
        "${@:2}" >"$1.pass" 2>&1 || { mv "$1.pass" "$log.failed"; return; }
        rounds=$((rounds + 1))
    done
    echo "$rounds" >"$1"
}
passes() {  # a gtest program, what to say of it, a filter, settings of perturb.cpp: passes of so many tests
    build soak "$1" perturb
    local runner runners=$((4 * $(nproc))) tests  # most of their time tests wait
    rm -f "$log".failed "$log".[0-9]*
    for ((runner = 0; runner < runners; ++runner)); do
        one_after_the_other "$log.$runner" env LD_PRELOAD=$perturb "${@:4}" \
            "build/soak/tests/$1" --gtest_brief=1 --gtest_filter="$3" &
    done
    wait
    if [ -e "$log.failed" ]; then
        cat "$log.failed"
        return 1
    fi
    tests=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests.*/\1/p' "$log.0.pass")
    ((${tests:-0} > 0)) || { echo "no test is called $3"; return 1; }
    echo "$(cat $(seq -f "$log.%g" 0 $((runners - 1))) | awk '{ sum += $1 } END { print sum }') passes of $tests tests $2," \
        "$runners at once, 0 flakes"
    rm -f "$log".[0-9]*
}
conformance() {
    passes unit_tests "of docs/conformance.md under perturbation" "$(tools/conformance_table.py --filter)" CADRE_PERTURB=32
}
unit() { passes unit_tests "under perturbation" '*' CADRE_PERTURB=32; }
spurious() {
    passes unit_tests "with one sleep in twenty ended for no reason" '*' CADRE_PERTURB=32 CADRE_SPURIOUS=20
}
chaos() {  # of the management plane: the lists MC and MH
    passes manage_tests "of the management plane under perturbation" \
        'chaos*:config_*:http_*:hostile_documents*:*_source*:resize_under_load*:reconfigure*' CADRE_PERTURB=32
}
plane() { build soak plane_storm; build/soak/tests/plane_storm --seconds "$share"; }
process() {  # forks, signals, stops, exits, unloading, jumps of the wall clock
    build soak unit_tests exit_with_pools unload_pools wall_clock_jumps
    local rounds=0 until=$((SECONDS + share))
    while ((rounds == 0 || SECONDS < until)); do
        CADRE_STRESS_SCALE=34 build/soak/tests/unit_tests --gtest_brief=1 --gtest_filter='process_life*'
        build/soak/tests/process/exit_with_pools
        build/soak/tests/process/unload_pools build/soak/tests/process/pool_plugin.so
        build/soak/tests/process/wall_clock_jumps
        rounds=$((rounds + 1))
    done
    echo "$rounds rounds of forks, signals, stops, exits, unloading and jumps of the wall clock"
}
fuzz() {  # each target its part of the share, and what was found is kept
    build asan fuzz
    local targets
    targets=$(build/asan/tests/fuzz/fuzz | wc -l)
    CADRE_FUZZ_BUILT=1 tools/fuzz.sh $((share / targets + 1))
}
churn() { build soak upkeep; build/soak/tests/upkeep churn --strict --seconds "$share"; }
idle() { build soak upkeep; build/soak/tests/upkeep idle --seconds 10; }
interop() {
    if ! npm ping >/dev/null 2>&1; then
        echo "not run: no npm registry answers here"
        return
    fi
    make -s interop
}
uptime() {  # a machine that has been up for 146 years
    build soak unit_tests
    if ! unshare -T --monotonic 4600000000 --fork true 2>/dev/null; then
        echo "not run: no right to make a time namespace here"
        return
    fi
    unshare -T --monotonic 4600000000 --fork build/soak/tests/unit_tests --gtest_brief=1 | tee "$log.uptime"
    echo "$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests.*/\1/p' "$log.uptime") unit tests after 146 years of uptime"
}
mutants() {  # all of them take half an hour
    if ((share < 1800)); then tools/mutants.py --sample; else tools/mutants.py ${CADRE_WRITE_MUTANTS:+--write}; fi
}
schedules() {
    build soak schedules
    local seeds=0 until=$((SECONDS + share))
    while ((seeds == 0 || SECONDS < until)); do
        build/soak/tests/schedules --seeds 1000 --first $((RANDOM * 32768 + RANDOM))
        seeds=$((seeds + 1000))
    done
    echo "$seeds seeds for each scenario, 0 failures"
}
relacy() {
    build soak relacy_checks
    local million=0 until=$((SECONDS + share))
    while ((million == 0 || SECONDS < until)); do
        build/soak/tests/relacy_checks 1000000
        million=$((million + 1))
    done
    echo "$million times 1,000,000 interleavings of each check"
}
threads() {
    build soak thread_limits
    build/soak/tests/process/thread_limits 10000
}
oracle() {
    build soak oracle_driver oracle_reference
    local built=build/soak/tests
    tests/oracle/generate --driver $built/oracle_driver --classes $built/oracle/classes \
        --turns $built/oracle/liboracle_turns.so --minutes $(((share + 59) / 60))
}

for part in "${parts[@]}"; do
    began=$SECONDS
    set +e  # not as a condition, in which bash would go on after a failure within
    (set -e; "$part") >"$log.part" 2>&1
    result=$?
    set -e
    if ((result != 0)); then
        cat "$log.part"
        echo "soak: $part | FAILED after $((SECONDS - began)) s"
        exit 1
    fi
    figure=$(tail -1 "$log.part") outcome=passed
    [[ $figure != "not run"* ]] || outcome="not run"
    echo "soak: $part | ${figure#not run: } | $((SECONDS - began)) s | $outcome"
    rm -f "$log.part"
done
