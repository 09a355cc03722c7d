#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The demonstration's blocks: gives a fresh regtest daemon the recorded steps, and shows what a subscriber prints meanwhile.

  demo_feed.py --mocktime                                      prints the clock that the steps want
  demo_feed.py --datadir DIR --daemon PID --frames FILE        DIR is the daemon's, FILE what the subscriber writes
"""
import argparse
import base64
import collections
import hashlib
import http.client
import json
import os
import re
import sys
import time

VECTORS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'tests', 'vectors')
LIMIT = 60  # seconds that any single thing may take


def rows(name):
    with open(os.path.join(VECTORS, name), encoding='utf-8') as file:
        return [json.loads(line) for line in file]


def manifest():
    with open(os.path.join(VECTORS, 'manifest.json'), encoding='utf-8') as file:
        return json.load(file)['chain-a']


def block_heights(steps):
    """Height of each block by its hash, as far as the steps have the whole branch."""
    heights = {'0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206': 0}
    for step in steps:
        if step['op'] == 'block':
            header = bytes.fromhex(step['hex'][:160])
            digest = hashlib.sha256(hashlib.sha256(header).digest()).digest()
            parent = header[4:36][::-1].hex()
            if parent in heights:
                heights[digest[::-1].hex()] = heights[parent] + 1
    return heights


class Daemon:
    def __init__(self, datadir, pid):
        self.directory, self.pid = os.path.join(datadir, 'regtest'), pid

    def connect(self):
        """Waits until the daemon answers queries."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            os.kill(self.pid, 0)  # raises when the daemon has gone
            try:
                with open(os.path.join(self.directory, 'debug.log'), encoding='utf-8') as file:
                    port = re.search(r'RPC at 127\.0\.0\.1:(\d+)', file.read()).group(1)
                with open(os.path.join(self.directory, '.cookie'), encoding='ascii') as file:
                    self.authorization = 'Basic ' + base64.b64encode(file.read().encode()).decode()
                self.connection = http.client.HTTPConnection('127.0.0.1', int(port), timeout=LIMIT)
                self.call('getblockcount')
                return
            except (OSError, AttributeError):
                time.sleep(0.05)
        sys.exit('the daemon does not answer')

    def call(self, method, *params):
        body = json.dumps({'jsonrpc': '1.0', 'id': 1, 'method': method, 'params': params})
        self.connection.request('POST', '/', body, {'Authorization': self.authorization})
        answer = json.loads(self.connection.getresponse().read())
        if answer['error']:
            raise RuntimeError(f'{method}: {answer["error"]["message"]}')
        return answer['result']


class Frames:
    """The subscriber's lines, shown as they come."""
    def __init__(self, path, heights):
        self.path, self.heights = path, heights
        self.position, self.rest = 0, ''
        self.topics, self.bytes, self.lines, self.seen = collections.Counter(), 0, [], collections.Counter()

    def wait_for(self, condition, what):
        end = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > end:
                sys.exit(f'{what}: not within {LIMIT} s')
            if not self.show():
                time.sleep(0.02)

    def show(self):
        """Result: whether there was anything new."""
        with open(self.path, encoding='utf-8') as file:
            file.seek(self.position)
            text = file.read()
            self.position = file.tell()
        *lines, self.rest = (self.rest + text).split('\n')
        for line in lines:
            self.lines.append(line)
            words = line.split()
            if len(words) < 3 or not words[1].isdigit():
                continue
            self.topics[words[0]] += 1
            self.seen[words[0], words[2]] += 1
            height = self.heights.get(words[2])
            size = 32 if words[0].startswith('hash') else 33 if words[0] == 'sequence' else None
            print('  ' + line + (f' height {height}' if height is not None else '') + (f' {size} bytes' if size else ''))
        return bool(lines)


def feed(daemon, frames, steps):
    for step in steps:
        if step['op'] == 'block':
            result = daemon.call('submitblock', step['hex'])
            height = frames.heights.get(step['hash'], '?')
            print(f'> submitblock, height {height}, {len(step["hex"]) // 2} bytes: {result or "accepted"}')
        elif step['method'] in ('invalidateblock', 'reconsiderblock'):
            daemon.call(step['method'], *step['params'])
            print(f'> {step["method"]} {" ".join(step["params"])}')
        frames.show()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--mocktime', action='store_true')
    options.add_argument('--datadir')
    options.add_argument('--daemon', type=int)
    options.add_argument('--frames')
    options = options.parse_args()
    if options.mocktime:
        print(manifest()['mocktime'])
        return

    steps = rows('chain-a.jsonl')
    best = manifest()['best_hash']
    # How often the best block is announced as the tip: the steps take it away and bring it back.
    announced = sum(row[0] == 'hashblock' and row[2] == best for row in rows('chain-a-zmq.jsonl'))
    daemon = Daemon(options.datadir, options.daemon)
    daemon.connect()
    frames = Frames(options.frames, block_heights(steps))
    frames.wait_for(lambda: 'READY' in frames.lines, 'the subscriber ready')
    time.sleep(0.3)  # a subscription has no answer to wait for; without it the first frames could be missed
    feed(daemon, frames, steps)
    frames.wait_for(lambda: frames.seen['hashblock', best] == frames.seen['rawblock', best] == announced,
                    'the last notification')
    if daemon.call('getbestblockhash') != best:
        sys.exit('the daemon ended at another block than the recording')
    missed = [line for line in frames.lines if 'missed' in line]
    gone_back = sum('disconnected' in line for line in frames.lines)
    print()
    print(f'{sum(step["op"] == "block" for step in steps)} blocks submitted; tip {best} at height {manifest()["best_height"]}, '
          f'as bitcoind ended.')
    print(f'{sum(frames.topics.values())} notifications received: '
          f'{", ".join(f"{topic} {count}" for topic, count in sorted(frames.topics.items()))}.')
    print(f'{gone_back} blocks disconnected by reorganizations; {len(missed)} gaps in the counters.')
    if missed:
        sys.exit('\n'.join(missed))


if __name__ == '__main__':
    main()
