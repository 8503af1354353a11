#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One way to get at cadre: `consume.sh WAY [NAME]`. Builds in the directory NAME (WAY) of SCRATCH, and
# runs what it built. From the environment, all of which tests/consume/CMakeLists.txt sets:
#   CMAKE, CXX      the program that uses cadre is built with these
#   CADRE_SOURCE    this repository; CADRE_BUILD: what `install` installs
#   SCRATCH         where all is built
#   PREFIX          where cadre is installed, by `install` and `install_shared`
# and, if they are set,
#   PROGRAM         the source of the program: consumer.cpp (the default) or api.cpp
#   FLAGS           for the compiler, of the program and of the library if that is built too
#   LINKAGE         STATIC (the default) or SHARED, of a library that is built too
set -euo pipefail

way=$1
here=$(cd "$(dirname "$0")" && pwd)
build=$SCRATCH/${2:-$way}
program=${PROGRAM:-consumer.cpp}
flags="-Wall -Wextra ${FLAGS:-}"
shared=$([ "${LINKAGE:-STATIC}" = SHARED ] && echo ON || echo OFF)

# Builds the CMake project in $1 and runs its program; further arguments go to the configuration.
build_and_run() {
    local project=$1
    shift
    "$CMAKE" -G Ninja -S "$project" -B "$build" -DCMAKE_CXX_COMPILER="$CXX" -DPROGRAM="$program" \
        -DCMAKE_CXX_FLAGS="$flags" "$@"
    "$CMAKE" --build "$build"
    "$build/consumer"
}

rm -rf "$build"
case $way in
install)
    rm -rf "$PREFIX"
    "$CMAKE" --install "$CADRE_BUILD" --prefix "$PREFIX"
    ;;
install_built) # built for it; the core alone, or with MANAGE=ON
    rm -rf "$PREFIX"
    "$CMAKE" -G Ninja -S "$CADRE_SOURCE" -B "$build" -DCMAKE_CXX_COMPILER="$CXX" \
        -DCMAKE_CXX_FLAGS="$flags -Werror" -DCMAKE_INSTALL_PREFIX="$PREFIX" \
        -DBUILD_SHARED_LIBS="$shared" \
        -DCADRE_IN_BATCHES=ON -DCADRE_DEVELOPER=OFF -DCADRE_BUILD_MANAGE="${MANAGE:-OFF}" \
        -DCADRE_BUILD_TESTS=OFF -DCADRE_BUILD_EXAMPLES=OFF -DCADRE_BUILD_BENCH=OFF
    "$CMAKE" --build "$build"
    "$CMAKE" --install "$build"
    ;;
find_package)
    build_and_run "$here/installed" -DCMAKE_PREFIX_PATH="$PREFIX"
    ;;
managed)
    build_and_run "$here/managed" -DCMAKE_PREFIX_PATH="$PREFIX"
    ;;
pkg_config)
    mkdir -p "$build"
    pc=$(find "$PREFIX" -name cadre.pc)
    PKG_CONFIG_PATH=$(dirname "$pc")
    export PKG_CONFIG_PATH
    # Quoted for a shell, as a path may have a space.
    eval "set -- $(pkg-config --cflags --libs cadre)"
    # Word splitting is what turns flags into arguments.
    # shellcheck disable=SC2086
    "$CXX" -std=c++20 $flags -Werror "$here/$program" -o "$build/consumer" "$@"
    LD_LIBRARY_PATH=$(pkg-config --variable=libdir cadre) "$build/consumer"
    ;;
add_subdirectory)
    build_and_run "$here/subproject" -DCADRE_SOURCE="$CADRE_SOURCE" -DCADRE_IN_BATCHES=ON \
        -DBUILD_SHARED_LIBS="$shared"
    ;;
fetch_content)
    build_and_run "$here/fetched" -DFETCHCONTENT_SOURCE_DIR_CADRE="$CADRE_SOURCE" \
        -DCADRE_IN_BATCHES=ON -DBUILD_SHARED_LIBS="$shared"
    ;;
headers) # each public header of the core alone, with FLAGS
    find "$CADRE_SOURCE/include/cadre" -name '*.hpp' -not -path '*/manage/*' -not -name asio.hpp |
        sort | while read -r header; do
        # shellcheck disable=SC2086
        "$CXX" -std=c++20 $flags -Werror -fsyntax-only -I"$CADRE_SOURCE/include" -x c++ \
            - <<<"#include <${header#"$CADRE_SOURCE/include/"}>" || exit 1
    done
    ;;
*)
    echo "consume.sh: unknown way '$way'" >&2
    exit 2
    ;;
esac
