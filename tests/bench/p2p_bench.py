#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Following a node on the same machine: how fast its chain comes over, and how long a new block takes from its
announcement to rawblock.

  p2p_bench.py DAEMON [BOOTSTRAP_DAT]

The chain is that of vectors/big ($BLOCKPUB_SHARED); beside it, how fast the same bytes pass a loopback connection. A new
block has 2,000 transactions that the mempool has; it is announced by its header and fetched whole, or sent as a
compact block.
"""
import json
import os
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
import regtest  # noqa: E402
from submit_bench import CLOCK, Daemon, blocks_of  # noqa: E402

TRANSACTIONS = 2_000  # in a block whose latency is measured
PADDING = 400         # bytes of data in each
ROUNDS = 12


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


def download(binary, file):
    raws = blocks_of(file)
    heights, blocks = {regtest.GENESIS.digest: 0}, []
    for raw in raws:  # parents come before their children
        if raw != regtest.GENESIS.raw:
            blocks.append(regtest.Block(raw, heights[raw[4:36]] + 1, [], regtest.display(raw[4:36])))
            heights[blocks[-1].digest] = blocks[-1].height
    peer = fake_peer.FakePeer()
    peer.set_tip(max(blocks, key=lambda block: block.height), blocks)
    blocks = peer.active[1:]
    peer.start()
    raws = [block.raw for block in blocks]
    size = sum(map(len, raws))
    with tempfile.TemporaryDirectory(prefix='blockpub-bench-') as directory:
        begin = time.perf_counter()
        daemon = start(binary, directory, peer)
        wait_for_height(daemon, len(blocks))
        seconds = time.perf_counter() - begin
        daemon.stop()
    peer.stop()
    plain = loopback_seconds(raws)
    print(f'{len(blocks)} blocks, {size / 1e6:.0f} MB from a peer: {len(blocks) / seconds:.0f} blocks/s, '
          f'{size / seconds / 1e6:.0f} MB/s, the start of the daemon included; loopback alone {size / plain / 1e6:.0f} MB/s')
    print(json.dumps({'bench': 'p2p_download', 'blocks': len(blocks), 'blocks_s': round(len(blocks) / seconds, 1),
                      'mb_s': round(size / seconds / 1e6, 1), 'loopback_mb_s': round(size / plain / 1e6, 1),
                      'ratio': round(plain / seconds, 4)}))


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
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    file = sys.argv[2] if len(sys.argv) == 3 else Path(os.environ['BLOCKPUB_SHARED']) / 'vectors/big/bootstrap.dat'
    download(sys.argv[1], file)
    announcements(sys.argv[1])


if __name__ == '__main__':
    main()
