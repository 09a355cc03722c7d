#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs what a build needs on Debian or Ubuntu, and configures build/.
#   scripts/setup.sh            installs what is missing (apt-get, with sudo where needed), then configures
#   scripts/setup.sh --check    lists what is missing, changes nothing; exit status 1 when something is
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
    g++ meson ninja-build pkg-config
    libzmq3-dev cppzmq-dev       # ZeroMQ
    liblmdb-dev                  # storage
    libfmt-dev libspdlog-dev     # text and log
    libssl-dev                   # hashing
    libsecp256k1-dev             # taproot descriptors
    libboost-dev                 # HTTP
    nlohmann-json3-dev           # requests
    doctest-dev                  # unit tests
    python3 python3-zmq          # integration tests, demo
)

check_only=no
case "${1-}" in
    '') ;;
    --check) check_only=yes ;;
    *) echo "usage: scripts/setup.sh [--check]" >&2; exit 2 ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "setup.sh knows Debian and Ubuntu only: install what README.md names under 'Build by hand', then run: meson setup build" >&2
    exit 1
fi

is_installed() {
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
done

if [ "$check_only" = yes ]; then
    if [ ${#missing[@]} -eq 0 ]; then echo "Nothing is missing."; exit 0; fi
    echo "Missing: ${missing[*]}"
    exit 1
fi

if [ ${#missing[@]} -gt 0 ]; then
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "Missing: ${missing[*]}. Run as root: apt-get install ${missing[*]}" >&2
            exit 1
        fi
        as_root=(sudo)
    fi
    echo "Installing ${missing[*]}"
    "${as_root[@]}" apt-get update -qq
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

version="$(${CXX:-g++} -dumpfullversion 2>/dev/null || true)"
if [ -z "${CXX-}" ] && [ "${version%%.*}" -lt 12 ]; then
    echo "g++ $version is too old: C++23 needs g++ 12 or newer (Debian 12, Ubuntu 23.04)." >&2
    exit 1
fi

if [ ! -f build/build.ninja ]; then
    # Files are compiled in groups: a third of the time on two cores.
    meson setup build --buildtype=release --unity=on --unity-size=8
fi
