#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds an optimised tree and runs every benchmark: a table at the end, and all figures as JSON in
# <build>/bench.json. Some ten minutes, after the build; run it on a machine that does nothing else.
#   scripts/bench.sh                     everything
#   scripts/bench.sh loops submit        only these (the names of the table's first column)
#   scripts/bench.sh --coins=5000000     with so many coins where a bench wants some (default: 1000000)
#   BUILD=<dir>                          another build directory than build-bench/
# Wants the recorded blocks: BLOCKPUB_SHARED names the directory that holds vectors/big.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${BLOCKPUB_SHARED-}" ] && [ -d ../shared/vectors ]; then
    BLOCKPUB_SHARED="$(cd ../shared && pwd)"
    export BLOCKPUB_SHARED
fi
if [ ! -f "${BLOCKPUB_SHARED-}/vectors/big/bootstrap.dat" ]; then
    echo "The benchmarks import vectors/big/bootstrap.dat: set BLOCKPUB_SHARED to the directory that holds vectors/." >&2
    exit 1
fi

scripts/setup.sh
build="${BUILD:-build-bench}"
[ -f "$build/build.ninja" ] || meson setup "$build" --buildtype=release --unity=on --unity-size=8 -Dbench=true -Dexamples=disabled
programs=(blockpubd)
for bench in cache coins fanout headers import loops readers rest; do programs+=("tests/bench/bench_$bench"); done
ninja -C "$build" "${programs[@]}"

# The python of Debian's python3-zmq.
exec /usr/bin/python3 tests/bench/run_all.py "$build" "$@"
