#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Following a node on the same machine: how fast its chain comes over, and how long a new block takes from its
announcement to rawblock.

  p2p_bench.py DAEMON

The chain comes from a second daemon with -listen=1; beside it, how fast that one has read it from a file, and how fast the
same bytes pass a loopback connection. A new block has 2,000 transactions that the mempool has; it is announced by its header
and fetched whole, or sent as a compact block.
"""
import json
import socket
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import zmq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / 'integration'))
import fake_peer  # noqa: E402
import harness  # noqa: E402
import regtest  # noqa: E402
from submit_bench import CLOCK, Daemon, blocks_of, free_port  # noqa: E402

TRANSACTIONS = 2_000  # in a block
PADDING = 400         # bytes of data in each
ROUNDS = 12
FULL_BLOCKS = 300    # of the chain that is followed from nothing


class Headers(fake_peer.FakePeer):
    """Knows nothing of compact blocks."""
    protocol = 70013
    by_wtxid = False


def start(binary, directory, peer, *arguments):
    return Daemon(binary, directory, [f'-connect=127.0.0.1:{peer.port}', '-acceptnonstdtxn=1', *arguments])


def wait_for_height(daemon, height, pause=0.02):
    while daemon.call('getblockcount')['result'] < height:
        time.sleep(pause)


def loopback_seconds(blocks):
    """How long the blocks take from one socket to another."""
    listener = socket.create_server(('127.0.0.1', 0))

    def send():
        with socket.create_connection(listener.getsockname()) as sender:
            for block in blocks:
                sender.sendall(block)
    thread = threading.Thread(target=send)
    begin = time.perf_counter()
    thread.start()
    receiver, _ = listener.accept()
    while receiver.recv(1 << 20):
        pass
    seconds = time.perf_counter() - begin
    thread.join()
    receiver.close()
    listener.close()
    return seconds


def write_chain(path):
    """A chain of which most blocks have 2,000 transactions. Result: how many blocks it has."""
    chain, funding = regtest.Chain(CLOCK - 2000), []
    with open(path, 'wb') as file:
        for height in range(1, regtest.MATURITY + FULL_BLOCKS + 1):
            outputs = regtest.fan_out(height, TRANSACTIONS) if height <= FULL_BLOCKS else None
            txs = []
            if height > regtest.MATURITY:
                txid, amount = funding[height - regtest.MATURITY - 1]
                txs = [regtest.spend(txid, i, amount - 5000, PADDING) for i in range(TRANSACTIONS)]
            block = chain.mine(txs=txs, outputs=outputs)
            funding.append((block.txs[0].txid, regtest.subsidy(height) // TRANSACTIONS))
            file.write(regtest.record(block.raw))
    return chain.tip.height


def download(binary):
    """A chain from a second daemon that serves it, and the same chain from a file."""
    with tempfile.TemporaryDirectory(prefix='blockpub-bench-') as directory:
        here = Path(directory)
        for name in ('server', 'follower'):
            (here / name).mkdir()
        count = write_chain(here / 'chain.dat')
        raws = blocks_of(here / 'chain.dat')
        size = sum(map(len, raws))
        port = free_port()
        begin = time.perf_counter()
        server = Daemon(binary, here / 'server', ['-connect=0', '-listen=1', f'-bind=127.0.0.1:{port}',
                                                  f'-loadblock={here / "chain.dat"}'])
        wait_for_height(server, count)
        imported = time.perf_counter() - begin
        begin = time.perf_counter()
        daemon = Daemon(binary, here / 'follower', [f'-connect=127.0.0.1:{port}'])
        in_flight = memory = 0
        while daemon.call('getblockcount')['result'] < count:
            in_flight = max([in_flight, *(len(peer['inflight']) for peer in daemon.call('getpeerinfo')['result'])])
            memory = max(memory, harness.resident_bytes(daemon.process.pid))
            time.sleep(0.02)
        seconds = time.perf_counter() - begin
        daemon.stop()
        server.stop()
    plain = loopback_seconds(raws)
    print(f'{count} blocks, {size / 1e6:.0f} MB from a peer: {count / seconds:.0f} blocks/s, {size / seconds / 1e6:.0f} MB/s, '
          f'the start of the daemon included; at most {in_flight} blocks in flight, {memory / 1e6:.0f} MB of memory; '
          f'from a file {size / imported / 1e6:.0f} MB/s, loopback alone {size / plain / 1e6:.0f} MB/s')
    print(json.dumps({'bench': 'p2p_download', 'blocks': count, 'bytes': size, 'blocks_s': round(count / seconds, 1),
                      'mb_s': round(size / seconds / 1e6, 1), 'loopback_mb_s': round(size / plain / 1e6, 1),
                      'import_mb_s': round(size / imported / 1e6, 1), 'ratio': round(plain / seconds, 4),
                      'ratio_import': round(imported / seconds, 3), 'in_flight': in_flight, 'memory_mb': round(memory / 1e6)}))


def latencies(binary, compact):
    """Milliseconds from the announcement of a block to its rawblock."""
    chain = regtest.Chain(CLOCK - 2000)
    funding = [chain.mine(outputs=regtest.fan_out(chain.tip.height + 1, TRANSACTIONS)) for _ in range(ROUNDS)]
    blocks = [*funding, *(chain.mine() for _ in range(regtest.MATURITY))]
    peer = (fake_peer.FakePeer if compact else Headers)(blocks).start()
    times = []
    with tempfile.TemporaryDirectory(prefix='blockpub-bench-') as directory:
        daemon = start(binary, directory, peer, '-maxmempool=300')
        wait_for_height(daemon, len(blocks))
        subscriber = zmq.Context.instance().socket(zmq.SUB)
        subscriber.setsockopt(zmq.RCVHWM, 0)
        subscriber.setsockopt(zmq.SUBSCRIBE, b'rawblock')
        subscriber.connect(daemon.endpoint)
        time.sleep(2)  # for the subscription, and the wish for compact blocks
        for block in funding:
            txid, amount = block.txs[0].txid, regtest.subsidy(block.height) // TRANSACTIONS
            txs = [regtest.spend(txid, i, amount - 5000, PADDING) for i in range(TRANSACTIONS)]
            for first in range(0, len(txs), 500):
                peer.announce_transactions(txs[first:first + 500])
            while len(daemon.call('getrawmempool')['result']) < len(txs):
                time.sleep(0.05)
            new = chain.mine(txs=txs)
            peer.set_tip(new)
            message = (fake_peer.message('cmpctblock', fake_peer.compact_payload(new)) if compact else
                       fake_peer.message('headers', fake_peer.headers_payload([new.raw[:80]])))
            begin = time.perf_counter()
            peer.broadcast(message)
            while True:
                if not subscriber.poll(30_000):
                    sys.exit('no rawblock in 30 s')
                if subscriber.recv_multipart(copy=False)[1].buffer[:80] == new.raw[:80]:
                    break
            times.append((time.perf_counter() - begin) * 1000)
        if compact and peer.blocks_given[len(blocks):]:
            sys.exit('blocks were fetched whole')
        subscriber.close(0)
        daemon.stop()
    peer.stop()
    return times, len(new.raw)


def announcements(binary):
    for compact in (False, True):
        times, size = latencies(binary, compact)
        times.sort()
        how = 'as a compact block' if compact else 'by its header'
        median = statistics.median(times)
        print(f'announced {how} to rawblock, {len(times)} blocks of {size / 1e6:.1f} MB: median {median:.1f} ms, '
              f'longest {times[-1]:.1f} ms')
        print(json.dumps({'bench': 'p2p_latency', 'compact': compact, 'blocks': len(times), 'bytes': size,
                          'median_ms': round(median, 2), 'longest_ms': round(times[-1], 2)}))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    download(sys.argv[1])
    announcements(sys.argv[1])


if __name__ == '__main__':
    main()
