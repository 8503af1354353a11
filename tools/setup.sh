#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages that this project is built and checked with, as far as they are
# missing. With nothing missing it does nothing. Plain sh, and nothing but dpkg before apt-get ran.
# `setup.sh bench` also installs the libraries that the benchmarks compare with, `setup.sh package` what
# makes Debian packages, `setup.sh site` what makes the site.
set -eu

# "a|b": either will do; the first is the one installed.
packages="
    g++ clang libclang-rt-14-dev llvm cmake ninja-build make pkg-config|pkgconf
    libgtest-dev libgmock-dev libbenchmark-dev libasio-dev libtbb-dev tzdata
    nlohmann-json3-dev libyaml-cpp-dev libtomlplusplus-dev libcurl4-openssl-dev etcd-server
    prometheus-cpp-dev libssl-dev
    clang-format clang-tidy python3 git spin gcc relacy-dev
    default-jdk-headless|openjdk-17-jdk-headless
    libcpp-httplib-dev libcli11-dev
    nodejs chromium fonts-dejavu-core
"
# Debian has it apart; elsewhere it comes with nodejs.
command -v npm >/dev/null || packages="$packages npm"
bench_packages="
    libeigen3-dev libconcurrentqueue-dev
    libthread-pool-dev"
package_packages="debhelper dpkg-dev fakeroot lintian"
case ${1-} in
bench) packages="$packages $bench_packages" ;;
package) packages="$packages $package_packages" ;;
site) packages="python3 doxygen" ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "setup: not a Debian system; please see to these yourself:" $packages >&2
    exit 0
fi

# The second letter of the status counts: the first may be a hold, and what was removed may have left its settings.
installed=" $(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' | sed -n 's/^.i.//p' | tr '\n' ' ') "
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
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
    if ! command -v sudo >/dev/null; then
        echo "setup: packages are missing, and without sudo only root can install them. As root, please:" >&2
        echo "apt-get update && apt-get install --no-install-recommends$missing" >&2
        exit 1
    fi
fi
echo "setup: installing$missing"
$as_root apt-get update -q
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
