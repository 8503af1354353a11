#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `make package`: the Debian packages of what is in the working copy, into build/package; checked by
# lintian, then unpacked, and used by the little programs of tests/consume.
set -euo pipefail

cd "$(dirname "$0")/.."
tools/check_packaging.py
version=$(dpkg-parsechangelog -S Version)
place=build/package
rm -rf "$place"
mkdir -p "$place/cadre-$version"
git ls-files -z | xargs -0 tar c | tar x -C "$place/cadre-$version"

(cd "$place/cadre-$version" && dpkg-buildpackage -us -uc -j"$(nproc)" >../build.log 2>&1) ||
    { tail -50 "$place/build.log" >&2; exit 1; }
lintian -EvIL +pedantic --fail-on error,warning,info,pedantic,experimental "$place"/*.changes

root=$PWD/$place/root
for package in "$place"/*.deb; do
    case $package in *-dbgsym_*) ;; *) dpkg -x "$package" "$root" ;; esac
done
libraries=$root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
for project in installed managed; do
    cmake -S tests/consume/$project -B "$place/$project" -DCMAKE_PREFIX_PATH="$root/usr" >/dev/null
    cmake --build "$place/$project" >/dev/null
    LD_LIBRARY_PATH=$libraries "$place/$project/consumer"
done
LD_LIBRARY_PATH=$libraries "$root/usr/bin/cadrectl" --help >/dev/null
ls "$place"/*.deb
