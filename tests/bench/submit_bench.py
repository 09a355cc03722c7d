#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""submitblock sent to rawblock received, synced commit included, for blocks of 1 MB on a real daemon.

  submit_bench.py DAEMON [BOOTSTRAP_DAT]

Takes the blocks of vectors/big ($BLOCKPUB_SHARED) and times those above 900 kB; several fresh daemons, so that there
are enough. Prints median and p99 in ms, and the time of a plain write and fdatasync of as many bytes beside it.
"""
import base64
import http.client
import json
import os
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import zmq

CLOCK = 1700082800
MAGIC = bytes.fromhex('fabfb5da')
BIG = 900_000
ROUNDS = 4


def blocks_of(path):
    data, at, blocks = Path(path).read_bytes(), 0, []
    while data[at:at + 4] == MAGIC:
        size = struct.unpack_from('<I', data, at + 4)[0]
        blocks.append(data[at + 8:at + 8 + size])
        at += 8 + size
    return blocks


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Daemon:
    def __init__(self, binary, directory):
        self.port, zmq_port = free_port(), free_port()
        self.endpoint = f'tcp://127.0.0.1:{zmq_port}'
        self.process = subprocess.Popen(
            [binary, '-regtest', f'-datadir={directory}', f'-rpcport={self.port}', f'-mocktime={CLOCK}',
             '-connect=0', '-printtoconsole=0', f'-zmqpubrawblock={self.endpoint}'])
        cookie = Path(directory) / 'regtest' / '.cookie'
        end = time.time() + 60
        while True:
            if self.process.poll() is not None or time.time() > end:
                sys.exit('the daemon did not start')
            try:
                self.authorization = 'Basic ' + base64.b64encode(cookie.read_bytes()).decode()
                self.connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
                if self.call('getblockcount')['result'] is not None:
                    break
            except (OSError, ValueError, http.client.HTTPException):
                time.sleep(0.05)

    def call(self, method, *params):
        body = json.dumps({'id': 1, 'method': method, 'params': params})
        self.connection.request('POST', '/', body, {'Authorization': self.authorization})
        return json.loads(self.connection.getresponse().read())

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def run(binary, blocks):
    """Milliseconds for each large block."""
    times = []
    with tempfile.TemporaryDirectory(prefix='blockpub-bench-') as directory:
        daemon = Daemon(binary, directory)
        subscriber = zmq.Context.instance().socket(zmq.SUB)
        subscriber.setsockopt(zmq.RCVHWM, 0)
        subscriber.setsockopt(zmq.SUBSCRIBE, b'rawblock')
        monitor = subscriber.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        subscriber.connect(daemon.endpoint)
        if not monitor.poll(10_000):
            sys.exit('nobody publishes')
        for block in blocks:
            digits = block.hex()
            if len(block) < BIG:
                answer = daemon.call('submitblock', digits)
            else:
                while subscriber.poll(0):
                    subscriber.recv_multipart()
                begin = time.perf_counter()
                daemon.connection.request(
                    'POST', '/', '{"id":1,"method":"submitblock","params":["' + digits + '"]}',
                    {'Authorization': daemon.authorization})
                while True:
                    if not subscriber.poll(30_000):
                        sys.exit('no rawblock in 30 s')
                    if subscriber.recv_multipart(copy=False)[1].buffer[:80] == block[:80]:
                        break
                times.append((time.perf_counter() - begin) * 1000)
                answer = json.loads(daemon.connection.getresponse().read())
            if answer['result'] not in (None, 'duplicate', 'inconclusive'):
                sys.exit(f'submitblock: {answer}')
        subscriber.close(0)
        daemon.stop()
    return times


def write_and_sync(blocks):
    """Median milliseconds for a plain write and fdatasync of one large block."""
    times = []
    with tempfile.TemporaryFile() as file:
        for block in [block for block in blocks if len(block) >= BIG] * ROUNDS:
            begin = time.perf_counter()
            file.write(block)
            file.flush()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - begin) * 1000)
    return statistics.median(times)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    path = sys.argv[2] if len(sys.argv) > 2 else Path(os.environ['BLOCKPUB_SHARED']) / 'vectors/big/bootstrap.dat'
    blocks = blocks_of(path)
    times = sorted(t for _ in range(ROUNDS) for t in run(sys.argv[1], blocks))
    plain = write_and_sync(blocks)
    median, p99 = statistics.median(times), times[min(len(times) - 1, int(len(times) * 0.99))]
    print(f'submitblock to rawblock, {len(times)} blocks of 1 MB: median {median:.1f} ms, p99 {p99:.1f} ms; '
          f'a plain write and fdatasync takes {plain:.1f} ms')
    print(json.dumps({'bench': 'submit', 'blocks': len(times), 'median_ms': round(median, 2), 'p99_ms': round(p99, 2),
                      'write_fdatasync_ms': round(plain, 2), 'ratio': round(median / plain, 3)}))


if __name__ == '__main__':
    main()
