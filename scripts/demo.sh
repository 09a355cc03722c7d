#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Shows blockpub at work: sets up, builds the daemon, runs it on a temporary regtest directory with a subscriber beside
# it, gives it some real blocks and a reorganization, and prints every notification. Nothing is left running.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
echo "Building the daemon: a few minutes on two cores, the first time."
ninja -C build blockpubd

python=/usr/bin/python3 # the one that Debian's python3-zmq is for
work="$(mktemp -d "${TMPDIR:-/tmp}/blockpub-demo-XXXXXX")"
daemon='' subscriber=''
clean_up() {
    status=$?
    for process in $subscriber $daemon; do
        kill "$process" 2>/dev/null || true
        wait "$process" 2>/dev/null || true
    done
    rm -rf "$work"
    exit $status
}
trap clean_up EXIT
trap 'exit 130' INT TERM

endpoint="ipc://$work/notifications.sock"
topics=(hashblock rawblock hashtx rawtx sequence)
arguments=(-regtest "-datadir=$work" -rpcport=0 -printtoconsole=0 -connect=0 "-mocktime=$("$python" scripts/demo_feed.py --mocktime)")
for topic in "${topics[@]}"; do
    # The queue has no limit here, so that no frame is lost however slow the terminal is.
    arguments+=("-zmqpub$topic=$endpoint" "-zmqpub${topic}hwm=0")
done

echo
echo "build/blockpubd ${arguments[*]}"
build/blockpubd "${arguments[@]}" &
daemon=$!

echo "examples/subscriber.py $endpoint"
"$python" -u examples/subscriber.py "$endpoint" >"$work/frames" &
subscriber=$!

# Gives the blocks, and prints what the subscriber writes until the last frame of the recording has come.
"$python" scripts/demo_feed.py --datadir "$work" --daemon "$daemon" --frames "$work/frames"

kill "$subscriber" 2>/dev/null || true
wait "$subscriber" 2>/dev/null || true
subscriber=''
kill -TERM "$daemon"
wait "$daemon"
daemon=''

cat <<'TEXT'

The daemon has stopped with exit status 0. Next, beside your own node:

  build/blockpubd -connect=127.0.0.1:8333 -zmqpubhashblock=tcp://127.0.0.1:28432
  examples/subscriber.py tcp://127.0.0.1:28432

README.md says how to read the node's block files first, docs/operations.md has every option.
TEXT
