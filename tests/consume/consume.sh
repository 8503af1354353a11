#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One test of tests/consume/CMakeLists.txt, which sets CMAKE, CXX, CADRE_SOURCE, CADRE_BUILD, SCRATCH.
set -euo pipefail

way=$1
here=$(cd "$(dirname "$0")" && pwd)
prefix=$SCRATCH/prefix
build=$SCRATCH/$way

# Builds the CMake project in $1 and runs its program; further arguments go to the configuration.
build_and_run() {
    local project=$1
    shift
    "$CMAKE" -G Ninja -S "$project" -B "$build" -DCMAKE_CXX_COMPILER="$CXX" \
        -DCMAKE_BUILD_TYPE=Release "$@"
    "$CMAKE" --build "$build"
    "$build/consumer"
}

rm -rf "$build"
case $way in
install)
    rm -rf "$prefix"
    "$CMAKE" --install "$CADRE_BUILD" --prefix "$prefix"
    ;;
find_package)
    build_and_run "$here/installed" -DCMAKE_PREFIX_PATH="$prefix"
    ;;
pkg_config)
    mkdir -p "$build"
    pc=$(find "$prefix" -name cadre.pc)
    PKG_CONFIG_PATH=$(dirname "$pc")
    export PKG_CONFIG_PATH
    # Word splitting is what turns pkg-config's answer into arguments.
    # shellcheck disable=SC2046
    "$CXX" -std=c++20 -Wall -Wextra -Werror "$here/consumer.cpp" -o "$build/consumer" \
        $(pkg-config --cflags --libs cadre)
    LD_LIBRARY_PATH=$(pkg-config --variable=libdir cadre) "$build/consumer"
    ;;
add_subdirectory)
    build_and_run "$here/subproject" -DCADRE_SOURCE="$CADRE_SOURCE"
    ;;
*)
    echo "consume.sh: unknown way '$way'" >&2
    exit 2
    ;;
esac
