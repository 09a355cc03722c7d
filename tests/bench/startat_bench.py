#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""From an empty directory to the first live frame with -startat=tip: a peer with as many headers as the main chain.

  startat_bench.py DAEMON [--headers=950000] [--blockbytes=0]

The peer is in this process and has its headers ready; they have regtest's proof of work, which takes as long to check
as any. The work that a chain must have (-minimumchainwork) is reached at nine tenths, as on the main chain: up to
there headers are sent and looked at twice. The last 288 blocks have --blockbytes of data each. Prints the seconds of
each phase, and the daemon's processor time and memory.
"""
import argparse
import json
import os
import struct
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'integration'))
import harness  # noqa: E402
import regtest  # noqa: E402
from fake_peer import FakePeer, headers_payload, message  # noqa: E402

SPACING = 600
BLOCKS = 288
MINIMUM_AT = 0.9


class LongPeer(FakePeer):
    """A chain of headers, with blocks at its end only. Notes when it is asked for which headers."""

    def __init__(self, headers, blocks):
        super().__init__()
        self.headers = headers  # from height 1 on
        self.heights = {regtest.sha256d(header): height for height, header in enumerate(headers, 1)}
        self.heights[regtest.GENESIS.digest] = 0
        self.by_digest.update({block.digest: block for block in blocks})
        self.asked = []  # (time, height of the first header wanted)
        self.first_block = None

    def on_message(self, connection, name, payload):
        self.active = range(len(self.headers) + 1)  # its length is told
        super().on_message(connection, name, payload)

    def on_get_headers(self, connection, payload):
        locator = [payload[5 + 32 * i:37 + 32 * i] for i in range(payload[4])]
        start = next((self.heights[digest] for digest in locator if digest in self.heights), 0)
        self.asked.append((time.monotonic(), start))
        self.send_headers(connection, self.headers[start:start + 2000])

    def send_block(self, connection, block):
        self.first_block = self.first_block or time.monotonic()
        super().send_block(connection, block)

    def grow(self, block):
        self.headers.append(block.raw[:80])
        self.heights[block.digest] = block.height
        self.by_digest[block.digest] = block
        self.broadcast(message('headers', headers_payload([block.raw[:80]])))


def make_headers(count):
    headers, digest, moment = [], regtest.GENESIS.digest, regtest.GENESIS.time
    for _ in range(count):
        moment += SPACING
        header = regtest.solve(struct.pack('<i', 0x20000000) + digest + bytes(32) + struct.pack('<II', moment, regtest.BITS))
        digest = regtest.sha256d(header)
        headers.append(header)
    return headers, digest, moment


def make_blocks(height, digest, moment, count, size):
    parent = regtest.Block(bytes(80), height, [], None)
    parent.digest = digest
    blocks = []
    for _ in range(count):
        moment += SPACING
        outputs = [(0, regtest.OP_TRUE)] + ([regtest.data_output(bytes(size))] if size else [])
        parent = regtest.make_block(parent, moment, outputs=outputs)
        blocks.append(parent)
    return blocks, moment


def processor_seconds(pid):
    fields = Path(f'/proc/{pid}/stat').read_text(encoding='ascii').rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def peak_mib(pid):
    rows = Path(f'/proc/{pid}/status').read_text(encoding='ascii').splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith('VmHWM')) // 1024


def measure(daemon_path, count, size):
    began = time.monotonic()
    headers, digest, moment = make_headers(count - BLOCKS)
    blocks, moment = make_blocks(count - BLOCKS, digest, moment, BLOCKS, size)
    peer = LongPeer(headers + [block.raw[:80] for block in blocks], blocks).start()
    print(f'{count} headers made in {time.monotonic() - began:.0f} s', file=sys.stderr)
    minimum = int(count * MINIMUM_AT)
    node = harness.Daemon(f'-connect=127.0.0.1:{peer.port}', '-startat=tip', f'-minimumchainwork={2 * (minimum + 1):x}',
                          source=None, binary=daemon_path, mocktime=moment + 60)
    try:
        began = time.monotonic()
        node.start()
        stream = harness.Subscriber(node.endpoint)
        harness.wait_until(lambda: node.rpc('getbestblockhash') == blocks[-1].hash, 1800, 'the tip')
        at_tip = time.monotonic()
        live, _ = make_blocks(blocks[-1].height, blocks[-1].digest, moment, 1, size)
        peer.grow(live[0])
        stream.wait_for(lambda frames: harness.ends_block(frames, live[0]))
        end = time.monotonic()
        stream.close()
        second = next(i for i, (_, start) in enumerate(peer.asked) if i > 0 and start == 0)
        over = next(i for i, (_, start) in enumerate(peer.asked) if i > second and start >= minimum)
        line = {'bench': 'startat', 'headers': count, 'total_s': end - began,
                'start_s': peer.asked[0][0] - began,
                'first_look_s': peer.asked[second][0] - peer.asked[0][0],
                'second_look_s': peer.asked[over][0] - peer.asked[second][0],
                'rest_s': peer.first_block - peer.asked[over][0],
                'blocks_s': at_tip - peer.first_block, 'live_s': end - at_tip,
                'processor_s': processor_seconds(node.pid), 'peak_mib': peak_mib(node.pid)}
    finally:
        node.destroy()
        peer.stop()
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('daemon')
    parser.add_argument('--headers', type=int, default=950_000)
    parser.add_argument('--blockbytes', type=int, default=0)
    options = parser.parse_args()
    line = measure(options.daemon, options.headers, options.blockbytes)
    print(f'{line["headers"]:,} headers: {line["total_s"]:.1f} s to the first live frame (first look '
          f'{line["first_look_s"]:.1f}, second look {line["second_look_s"]:.1f}, rest and base {line["rest_s"]:.1f}, '
          f'{BLOCKS} blocks {line["blocks_s"]:.1f}, live {line["live_s"]:.3f}); processor {line["processor_s"]:.1f} s, '
          f'{line["peak_mib"]} MiB')
    print(json.dumps({key: round(value, 3) if isinstance(value, float) else value for key, value in line.items()}))


if __name__ == '__main__':
    main()
