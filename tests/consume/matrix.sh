#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `make consumers`: the library built static and shared, by each compiler, plain, with -fno-rtti and as
# C++23; each used by programs of both compilers, by each of the ways to get at it; and each public
# header compiled alone. Takes a quarter of an hour on two processors. `matrix.sh SCRATCH`.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
SCRATCH=$(cd "$1" && pwd)
CADRE_SOURCE=$(cd "$here/../.." && pwd)
export SCRATCH CADRE_SOURCE CMAKE=cmake PROGRAM=api.cpp
done_with=0

# try NAME WAY [VARIABLE=value...]
try() {
    local name=$1 way=$2
    shift 2
    if ! env "$@" "$here/consume.sh" "$way" "$name" >"$SCRATCH/$name.log" 2>&1; then
        cat "$SCRATCH/$name.log" >&2
        echo "consumers: $name failed" >&2
        exit 1
    fi
    done_with=$((done_with + 1))
    echo "consumers: $name"
}

for cxx in g++ clang++; do
    for flags in "" -fno-rtti -std=c++2b; do
        name=$cxx${flags:+.}${flags#-}
        try "$name.headers" headers CXX=$cxx FLAGS="$flags"
        for linkage in STATIC SHARED; do
            prefix=$SCRATCH/prefix.$name.$linkage
            try "$name.$linkage" install_built CXX=$cxx FLAGS="$flags" LINKAGE=$linkage PREFIX="$prefix"
            for user in g++ clang++; do
                try "$name.$linkage.find_package.$user" find_package CXX=$user FLAGS="$flags" PREFIX="$prefix"
            done
            try "$name.$linkage.pkg_config" pkg_config CXX=$cxx FLAGS="$flags" PREFIX="$prefix"
        done
    done
    for linkage in STATIC SHARED; do
        # A library in C++20 with RTTI serves a program without RTTI, and one in C++23.
        for flags in -fno-rtti -std=c++2b; do
            try "$cxx.$linkage.user.${flags#-}" find_package CXX=$cxx FLAGS="$flags" \
                PREFIX="$SCRATCH/prefix.$cxx.$linkage"
        done
        try "$cxx.$linkage.add_subdirectory" add_subdirectory CXX=$cxx LINKAGE=$linkage
        try "$cxx.$linkage.fetch_content" fetch_content CXX=$cxx LINKAGE=$linkage
    done
done
echo "consumers: all $done_with are well"
