#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that this project is built and checked with, as far as they are
# missing. With nothing missing it does nothing. Plain sh, and nothing but dpkg before apt-get ran.
# `setup.sh bench` also installs the libraries that the benchmarks compare with.
set -eu

# "a|b": either will do; the first is the one installed.
packages="
    g++ clang libclang-rt-14-dev llvm cmake ninja-build make pkg-config|pkgconf
    libgtest-dev libgmock-dev libbenchmark-dev tzdata
    clang-format clang-tidy python3 git
    default-jdk-headless|openjdk-17-jdk-headless
"
bench_packages="libasio-dev libtbb-dev"
case ${1-} in bench) packages="$packages $bench_packages" ;; esac

if ! command -v dpkg-query >/dev/null; then
    echo "setup: not a Debian system; please see to these yourself:" $packages >&2
    exit 0
fi

installed=" $(dpkg-query -W -f '${db:Status-Abbrev}${Package} ' | sed 's/ii //g') "
missing=
for entry in $packages; do
    found=
    for name in $(echo "$entry" | tr '|' ' '); do
        case $installed in *" $name "*) found=yes ;; esac
    done
    [ -n "$found" ] || missing="$missing ${entry%%|*}"
done
[ -n "$missing" ] || exit 0

as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
echo "setup: installing$missing"
$as_root apt-get update -q
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
