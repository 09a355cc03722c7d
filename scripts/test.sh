#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sets up, builds, and runs every test. The last line is the count; the exit status says whether all passed.
#   BUILD=<dir>    another build directory than build/
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/meson_count.sh

scripts/setup.sh || exit 1
build="${BUILD:-build}"
[ -f "$build/build.ninja" ] || meson setup "$build" || exit 1
ninja -C "$build" || exit 1

# Vectors that are too big for the repository lie beside it on some machines; nothing depends on them.
if [ -z "${BLOCKPUB_SHARED-}" ] && [ -d ../shared/vectors ]; then
    BLOCKPUB_SHARED="$(cd ../shared && pwd)"
    export BLOCKPUB_SHARED
fi

run_meson_tests "$build"
status=$?
print_counts
exit $status
