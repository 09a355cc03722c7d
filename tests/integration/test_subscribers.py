# SPDX-License-Identifier: MIT
"""A stopped and a slow subscriber beside a healthy one: they cost nobody but themselves."""
import os
import signal
import statistics
import subprocess
import sys
import threading
import time

import harness
import regtest
import zmtp
from harness import IntegrationTest, main, rounds, wait_until


class Peer:
    """A slow_peer.py process whose output is collected."""

    def __init__(self, endpoint, topic='', pause=0.0, receive_hwm=1000):
        self.process = subprocess.Popen([sys.executable, os.path.join(harness.HERE, 'slow_peer.py'), endpoint, topic,
                                         str(pause), str(receive_hwm)], stdout=subprocess.PIPE, text=True)
        self.rows, self.ready = [], threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            if line == 'ready\n':
                self.ready.set()
            else:
                topic, counter, size, parts = line.split()
                self.rows.append((topic, int(counter), int(size), int(parts)))

    def wait_ready(self, daemon, chain):
        """Mines until the peer has got something: its subscription is in force."""
        end = time.monotonic() + harness.seconds(30)
        while not self.ready.wait(0.3):
            if time.monotonic() > end:
                raise AssertionError('the peer hears nothing')
            daemon.submit(chain.mine())

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        self.resume()
        self.process.kill()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()

    def counters(self, topic):
        return [row[1] for row in list(self.rows) if row[0] == topic]


class Subscribers(IntegrationTest):
    def peer(self, *args, **kwargs):
        peer = Peer(*args, **kwargs)
        self.addCleanup(peer.close)
        return peer

    def submit_timed(self, daemon, chain, count, size):
        """Mines and submits blocks; the seconds that each submitblock took, and the blocks."""
        took, blocks = [], []
        for _ in range(count):
            block = chain.mine_bytes(size)
            began = time.perf_counter()
            daemon.submit(block)
            took.append(time.perf_counter() - began)
            blocks.append(block)
        return took, blocks

    def test_stopped_and_slow_subscribers_change_nothing_for_a_healthy_one(self):
        """Issue item 5. Prints submitblock's latencies without and with them."""
        daemon, chain = self.daemon(hwm=20), self.chain()
        healthy = self.subscriber(daemon.endpoint)
        counters = healthy.synchronize(daemon, chain)
        count, size = rounds(60), 300_000
        alone, blocks = self.submit_timed(daemon, chain, count, size)
        self.assert_complete(healthy, blocks, counters)
        stopped, slow = self.peer(daemon.endpoint), self.peer(daemon.endpoint, pause=0.3, receive_hwm=2)
        for peer in (stopped, slow):
            peer.wait_ready(daemon, chain)
        stopped.stop()
        counters = healthy.synchronize(daemon, chain)
        beside, blocks = self.submit_timed(daemon, chain, count, size)
        self.assert_complete(healthy, blocks, counters)
        for name, took in (('alone', alone), ('beside a stopped and a slow subscriber', beside)):
            took = sorted(took)
            print(f'submitblock of {size} bytes {name}: median {statistics.median(took) * 1e3:.1f} ms, '
                  f'p95 {took[int(len(took) * .95)] * 1e3:.1f} ms, worst {took[-1] * 1e3:.1f} ms', file=sys.stderr)
        # The slow one was cut off by its own mark, seen as gaps in its counters, never as a wrong order.
        for topic in ('rawblock', 'hashblock', 'sequence'):
            self.assertEqual(slow.counters(topic), sorted(set(slow.counters(topic))))
        self.assertTrue(all(row[3] == 3 for row in slow.rows))

    def assert_complete(self, subscriber, blocks, counters):
        got = subscriber.wait_for(lambda frames: harness.ends_block(frames, blocks[-1]), 60)
        want = [frame for block in blocks for frame in regtest.connect_frames(block) + regtest.tip_frames(block)]
        self.assert_frames(got, want)
        self.assert_counters(got, counters)
        subscriber.take()

    def block_of_transactions(self, daemon, chain, count, padding=0):
        coins = chain.fund(daemon.submit, count)
        return chain.build(txs=[regtest.spend(*coin, padding=padding) for coin in coins])

    def test_a_block_of_five_thousand_transactions(self):
        """Scenario 1: with Core's default mark a subscriber that does not read in time has a gap that its counters
        show; on an endpoint without a mark, beside it, the counters are contiguous."""
        unlimited = f'tcp://127.0.0.1:{harness.free_port()}'
        daemon = self.daemon(f'-zmqpubrawtx={unlimited}', '-zmqpubrawtxhwm=0', hwm=1000)
        chain = self.chain()
        block = self.block_of_transactions(daemon, chain, 4999)
        peer = self.peer(daemon.endpoint, topic='rawtx', pause=0, receive_hwm=1)
        late = self.peer(unlimited, topic='rawtx', pause=0, receive_hwm=1)
        coins_spent_on = chain.tip
        peer.wait_ready(daemon, chain)
        late.wait_ready(daemon, chain)
        if chain.tip is not coins_spent_on:
            block = chain.build(txs=block.txs[1:])
        peer.stop()
        late.stop()
        daemon.submit(block)
        chain.tip = block
        last = chain.mine()
        daemon.submit(last)
        peer.resume()
        late.resume()
        # Genesis has counter 0; before the big block each block had one transaction.
        first = block.height
        final = first + len(block.txs)
        wait_until(lambda: late.counters('rawtx')[-1:] == [final], 30, 'the end of the unlimited endpoint')
        seen = late.counters('rawtx')
        self.assertEqual(seen, list(range(seen[0], final + 1)))
        # A mark reached is a gap, and the stream goes on after it.
        for _ in range(50):
            if peer.counters('rawtx')[-1:] and peer.counters('rawtx')[-1] > final:
                break
            daemon.submit(chain.mine())
            time.sleep(0.02)
        seen = peer.counters('rawtx')
        self.assertGreater(seen[-1], final)
        self.assertEqual(seen, sorted(set(seen)))

    def test_drops_come_in_runs_that_counters_bound(self):
        """P1: a mark of 10 and a reader that stands still; what it then gets has gaps that add up to what it lacks."""
        daemon, chain = self.daemon(topics=('rawblock',), hwm=10), self.chain()
        peer = self.peer(daemon.endpoint, topic='rawblock', receive_hwm=2)
        peer.wait_ready(daemon, chain)
        peer.stop()
        _, blocks = self.submit_timed(daemon, chain, 60, 500_000)
        peer.resume()
        for _ in range(100):
            marker = chain.mine()
            daemon.submit(marker)
            if peer.counters('rawblock')[-1:] and peer.counters('rawblock')[-1] >= len(blocks) + 5:
                break
            time.sleep(0.05)
        seen = peer.counters('rawblock')
        gaps = [(a + 1, b) for a, b in zip(seen, seen[1:]) if b != a + 1]
        lost = sum(b - a for a, b in gaps)
        print(f'{lost} of {seen[-1] + 1} lost in {len(gaps)} runs', file=sys.stderr)
        self.assertTrue(gaps)
        self.assertEqual(len(seen) + lost, seen[-1] - seen[0] + 1)
        self.assertEqual(seen, sorted(set(seen)))

    def test_no_mark_means_no_drop(self):
        """P2: mark 0, a stopped reader, tens of thousands of messages: it gets all of them after it went on."""
        daemon, chain = self.daemon(topics=('rawtx',), hwm=0), self.chain()
        per_block, blocks = 2000, rounds(5)
        coins = [chain.fund(daemon.submit, per_block) for _ in range(1)][0]
        peer = self.peer(daemon.endpoint, topic='rawtx', receive_hwm=10)
        peer.wait_ready(daemon, chain)
        peer.stop()
        before = chain.tip.height
        for _ in range(blocks):
            block = chain.mine(txs=[regtest.spend(*coin, padding=200) for coin in coins])
            daemon.submit(block)
            coins = [(tx.txid, 0, coin[2]) for tx, coin in zip(block.txs[1:], coins)]
        peer.resume()
        last = before + blocks * (per_block + 1)
        wait_until(lambda: peer.counters('rawtx')[-1:] == [last], 60, 'the last message')
        seen = peer.counters('rawtx')
        self.assertEqual(seen, list(range(seen[0], last + 1)))

    def test_a_subscriber_that_stands_still_gets_intact_bytes_later(self):
        """Scenario 26: blocks of nearly 4 MB wait in libzmq's queue while others are connected and disconnected;
        what is read at last is what was sent."""
        daemon, chain = self.daemon(hwm=0), self.chain()
        coin, = chain.fund(daemon.submit, 1, regtest.FREE_WITNESS)
        raw = zmtp.RawSubscriber(daemon.endpoint, (b'rawblock',))
        self.addCleanup(raw.close)
        raw.synchronize(daemon, chain)
        blocks = []
        for _ in range(4):
            tx = regtest.spend(*coin, witness=[[os.urandom(3_900_000)]], script=regtest.FREE_WITNESS)
            blocks.append(chain.mine(txs=[tx]))
            coin = (tx.txid, 0, coin[2])
            daemon.submit(blocks[-1])
            daemon.rpc('invalidateblock', blocks[-1].hash)
            daemon.rpc('reconsiderblock', blocks[-1].hash)
        for block in (block for block in blocks for _ in range(2)):
            topic, body, counter = (frame[1] for frame in raw.read_message())
            self.assertEqual(topic, b'rawblock')
            self.assertTrue(body == block.raw, f'rawblock {counter.hex()} of height {block.height}')


if __name__ == '__main__':
    main()
