#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tidy.sh build-directory source: clang-tidy on one file, silent if it has nothing to say. (Its count
# of warnings in other people's headers goes to stderr, and is of no interest.)
set -eu
echo "clang-tidy $2"
clang-tidy --quiet --warnings-as-errors='*' -p "$1" "$2" 2>/dev/null
