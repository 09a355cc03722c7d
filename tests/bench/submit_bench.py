#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""submitblock sent to rawblock received, synced commit included, for blocks of 1 MB on a real daemon.

  submit_bench.py DAEMON [BOOTSTRAP_DAT]
  submit_bench.py DAEMON --coins=N
  submit_bench.py DAEMON --growth

Takes the blocks of vectors/big ($BLOCKPUB_SHARED) and times those above 900 kB; several fresh daemons, so that there
are enough. With --coins, a store with so many coins is made first (a minute for 5 million), and blocks that spend
coins from all over it are timed; with --growth, blocks of several sizes. Prints median and p99 in ms, and the time of a plain write and fdatasync of as many
bytes beside it.
"""
import argparse
import base64
import http.client
import json
import os
import random
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

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'integration'))
import regtest  # noqa: E402

CLOCK = 1700082800
MAGIC = bytes.fromhex('fabfb5da')
BIG = 900_000
ROUNDS = 4
COINS_IN_BLOCK = 28_000
SPENT_IN_BLOCK = 4_000
TIMED_BLOCKS = 24
GROWTH = (500, 1000, 2000, 4000)  # transactions of 250 bytes
GROWTH_COINS = sum(GROWTH) * TIMED_BLOCKS * 6 // 5  # some are picked twice


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


def funding_chain(path, count):
    """Writes blocks with `count` coins of new scripts, and those that mature them.

    Result: the chain, and what may be spent as (txid, position)."""
    chain, dice, spendable = regtest.Chain(CLOCK - 2000), random.Random(1), []
    with open(path, 'wb') as file:
        for _ in range(-(-count // COINS_IN_BLOCK)):
            height = chain.tip.height + 1
            outputs = [(1000, b'\x00\x14' + dice.randbytes(20)) for _ in range(COINS_IN_BLOCK)]
            file.write(regtest.record(chain.mine(outputs=outputs).raw))
            txid = chain.tip.txs[0].txid
            spendable += [(txid, dice.randrange(COINS_IN_BLOCK)) for _ in range(SPENT_IN_BLOCK)]
            assert regtest.subsidy(height) >= 1000 * COINS_IN_BLOCK
        for _ in range(regtest.MATURITY):
            file.write(regtest.record(chain.mine().raw))
    spendable = list(dict.fromkeys(spendable))
    dice.shuffle(spendable)
    return chain, spendable


def spending_blocks(chain, spendable):
    """Blocks of 1 MB whose transactions spend one coin each."""
    blocks = []
    for number in range(min(TIMED_BLOCKS, len(spendable) // SPENT_IN_BLOCK)):
        coins = spendable[number * SPENT_IN_BLOCK:(number + 1) * SPENT_IN_BLOCK]
        blocks.append(chain.mine(txs=[regtest.spend(*coin, 1000, padding=160) for coin in coins]).raw)
    return blocks


def growing_blocks(chain, spendable):
    """As spending_blocks, one of each size after the other."""
    blocks, at = [], 0
    for _ in range(TIMED_BLOCKS):
        for count in GROWTH:
            coins = spendable[at:at + count]
            at += count
            blocks.append(chain.mine(txs=[regtest.spend(*coin, 1000, padding=160) for coin in coins]).raw)
    return blocks


def run_with_coins(binary, count, make_blocks=spending_blocks):
    """Milliseconds for each block that spends coins of a large set, and the blocks."""
    with tempfile.TemporaryDirectory(prefix='blockpub-bench-') as directory:
        file = Path(directory) / 'funding.dat'
        chain, spendable = funding_chain(file, count)
        done = subprocess.run([binary, '-regtest', f'-datadir={directory}', '-server=0', f'-mocktime={CLOCK}', '-connect=0',
                               '-printtoconsole=0', f'-loadblock={file}', '-stopafterblockimport'], check=False)
        if done.returncode != 0:
            sys.exit(f'the import ended with {done.returncode}')
        file.unlink()
        blocks = make_blocks(chain, spendable)
        return time_blocks(binary, directory, blocks, timed_from=0), blocks


class Daemon:
    def __init__(self, binary, directory, sources=('-connect=0',)):
        self.port, zmq_port = free_port(), free_port()
        self.endpoint = f'tcp://127.0.0.1:{zmq_port}'
        self.process = subprocess.Popen(
            [binary, '-regtest', f'-datadir={directory}', f'-rpcport={self.port}', f'-mocktime={CLOCK}',
             *sources, '-printtoconsole=0', f'-zmqpubrawblock={self.endpoint}'])
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

    def submission(self, digits):
        """The bytes of a submitblock, ready to be sent."""
        body = '{"id":1,"method":"submitblock","params":["' + digits + '"]}'
        return (f'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {self.authorization}\r\n'
                f'Content-Length: {len(body)}\r\n\r\n{body}').encode()

    def answer(self):
        response = http.client.HTTPResponse(self.connection.sock, method='POST')
        response.begin()
        return json.loads(response.read())

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def run(binary, blocks):
    """Milliseconds for each large block, on a fresh store."""
    with tempfile.TemporaryDirectory(prefix='blockpub-bench-') as directory:
        return time_blocks(binary, directory, blocks)


def time_blocks(binary, directory, blocks, timed_from=BIG):
    """Milliseconds for each block of so many bytes, submitted to a daemon on the directory."""
    times = []
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
        if len(block) < timed_from:
            answer = daemon.call('submitblock', digits)
        else:
            while subscriber.poll(0):
                subscriber.recv_multipart()
            request = daemon.submission(digits)
            begin = time.perf_counter()
            daemon.connection.sock.sendall(request)
            while True:
                if not subscriber.poll(30_000):
                    sys.exit('no rawblock in 30 s')
                if subscriber.recv_multipart(copy=False)[1].buffer[:80] == block[:80]:
                    break
            times.append((time.perf_counter() - begin) * 1000)
            answer = daemon.answer()
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


def print_growth(binary):
    times, blocks = run_with_coins(binary, GROWTH_COINS * COINS_IN_BLOCK // SPENT_IN_BLOCK, growing_blocks)
    for number, count in enumerate(GROWTH):
        median, size = statistics.median(times[number::len(GROWTH)]), len(blocks[number])
        print(f'submitblock to rawblock, {TIMED_BLOCKS} blocks of {count} transactions, {size} bytes: median {median:.1f} ms')
        print(json.dumps({'bench': 'growth', 'transactions': count, 'bytes': size, 'median_ms': round(median, 2)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('daemon')
    parser.add_argument('blocks', nargs='?')
    parser.add_argument('--coins', type=int, default=0)
    parser.add_argument('--growth', action='store_true')
    arguments = parser.parse_args()
    if arguments.growth:
        return print_growth(arguments.daemon)
    if arguments.coins:
        times, blocks = run_with_coins(arguments.daemon, arguments.coins)
        times.sort()
    else:
        blocks = blocks_of(arguments.blocks or Path(os.environ['BLOCKPUB_SHARED']) / 'vectors/big/bootstrap.dat')
        times = sorted(t for _ in range(ROUNDS) for t in run(arguments.daemon, blocks))
    plain = write_and_sync(blocks)
    median, p99 = statistics.median(times), times[min(len(times) - 1, int(len(times) * 0.99))]
    among = f' among {arguments.coins} coins' if arguments.coins else ''
    print(f'submitblock to rawblock, {len(times)} blocks of 1 MB{among}: median {median:.1f} ms, p99 {p99:.1f} ms; '
          f'a plain write and fdatasync takes {plain:.1f} ms')
    print(json.dumps({'bench': 'submit', 'blocks': len(times), 'coins': arguments.coins, 'median_ms': round(median, 2), 'p99_ms': round(p99, 2),
                      'write_fdatasync_ms': round(plain, 2), 'ratio': round(median / plain, 3)}))


if __name__ == '__main__':
    main()
