#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tidy.sh build-directory kind source: clang-tidy on one source, silent if it has nothing to say. (Its
# count of warnings in other people's headers goes to stderr, and is of no interest.) The kinds:
#   patterns  all but the analyzer. The source may be a batch of files, which takes as long as one.
#   paths     the analyzer, which follows only what stands in the source itself. It gives up on a function
#             after CADRE_TIDY_NODES states; three times as fast as with the 225000 that clang has by itself.
set -eu
nodes=${CADRE_TIDY_NODES:-50000}
case $2 in
    patterns) checks='-clang-analyzer-*,-bugprone-suspicious-include' ;;
    paths) checks='-bugprone-*,-concurrency-*,-performance-*,-misc-*' ;;
    *) echo "tidy.sh: $2 is neither patterns nor paths" >&2; exit 2 ;;
esac
echo "clang-tidy $2 $3"
clang-tidy --quiet --checks="$checks" --warnings-as-errors='*' --extra-arg=-Xclang \
    --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg="max-nodes=$nodes" -p "$1" "$3" 2>/dev/null
