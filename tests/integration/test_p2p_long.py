# SPDX-License-Identifier: MIT
"""A day beside a node that is slow, cut off, restarted and reorganized, in minutes: whenever it is quiet, the tip is the
node's, and what a subscriber made of `sequence` and `rawblock` frames is its chain.

BLOCKPUB_BLOCKS is the number of blocks (default: 500, divided by BLOCKPUB_ROUNDS); 10000 take a few minutes.
"""
import math
import os
import struct
import sys
import time

import harness
import regtest
from fake_peer import FakePeer, message
from harness import IntegrationTest, main, rounds, seconds, seeded_random, wait_until

DAY = 24 * 3600
DEEPEST_REORG = 10


class MoodyPeer(FakePeer):
    """Answers late, and now and then not, or not to the end."""

    def __init__(self, dice, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.dice, self.mute, self.break_off = dice, 0, 0

    def _dawdle(self):
        if self.dice.random() < 0.3:
            time.sleep(self.dice.uniform(0, 0.02))

    def on_get_headers(self, connection, payload):
        self._dawdle()
        super().on_get_headers(connection, payload)

    def on_get_data(self, connection, payload):
        self._dawdle()
        if self.mute:
            self.mute -= 1
            return
        super().on_get_data(connection, payload)

    def send_block(self, connection, block):
        if self.break_off:
            self.break_off -= 1
            data = message('block', block.raw)
            connection.sendall(data[:self.dice.randrange(len(data))])
            self.cut()
            raise EOFError
        super().send_block(connection, block)


class View:
    """The chain as frames tell it."""

    def __init__(self, test, hashes, counters):
        self.test, self.hashes, self.counters = test, list(hashes), counters
        self.raw, self.disconnects = None, 0

    def take(self, frames):
        self.counters = self.test.assert_counters(frames, self.counters)
        for topic, body, _ in frames:
            if topic == b'rawblock':
                self.test.assertEqual(regtest.display(regtest.sha256d(body[:80])), self.hashes[-1])
                self.test.assertEqual(regtest.display(body[4:36]), self.hashes[-2])
                self.raw = body
                continue
            self.test.assertEqual(len(body), 33, 'there are no transactions but those of blocks')
            label = body[32:]
            if label == b'C':
                self.hashes.append(body[:32].hex())
                self.disconnects = 0
            else:
                self.test.assertEqual((label, self.hashes.pop()), (b'D', body[:32].hex()))
                self.disconnects += 1
                self.test.deepest = max(self.test.deepest, self.disconnects)


class Day(IntegrationTest):
    def test_a_day_of_a_node_in_trouble(self):
        self.dice = seeded_random()
        count = int(os.environ.get('BLOCKPUB_BLOCKS', '0')) or rounds(500)
        self.deepest = 0
        self.spread = 2 * DAY // count  # seconds between blocks, twice the mean
        self.chain_ = regtest.Chain(harness.CHAIN_START)
        # Its moods come from a dice of its own: its threads must not disturb the script.
        self.peer = MoodyPeer(type(self.dice)(self.dice.random()), port=harness.free_port())
        self.addCleanup(self.peer.stop)
        patience = math.ceil(seconds(1))
        self.node = self.daemon(f'-connect=127.0.0.1:{self.peer.port}', f'-peertimeout={patience}', source=None,
                                topics=('rawblock', 'sequence'))
        self.stream = self.subscriber(self.node.endpoint)
        self.meet()
        began, mined = time.monotonic(), 0
        kinds = [self.one_by_one, self.at_once, self.by_inv, self.reorganize, self.tie, self.cut, self.break_off,
                 self.keep_silent, self.restart_peer, self.restart_node]
        total = max(len(kinds), count // 50)
        self.one_by_one(3)  # so that a branch has something to leave
        self.settle('the first blocks')
        deck = []
        for round_number in range(total):
            if not deck:
                deck = self.dice.sample(kinds, len(kinds))
            kind = deck.pop()
            left = (count - mined) / (total - round_number)
            length = max(1, round(left * self.dice.uniform(0.5, 1.5)) if round_number + 1 < total else round(left))
            before = self.chain_.tags
            try:
                kind(length)
                self.settle(kind.__name__)
            except AssertionError as error:
                raise AssertionError(f'round {round_number} ({kind.__name__} of {length} blocks): {error}') from error
            mined += self.chain_.tags - before
        self.assertGreaterEqual(mined, count)
        self.assertGreater(self.deepest, 0)
        self.assertLess(self.node.resident_bytes(), harness.memory(400))
        print(f'{mined} blocks to height {self.chain_.tip.height}, {total} rounds, deepest reorganization '
              f'{self.deepest}, {self.peer.accepted} connections, {time.monotonic() - began:.0f} s', file=sys.stderr)

    # The simulated time.

    def mine(self, length, parent=None):
        """Blocks on `parent` (default: the tip), which they make the tip; the clock goes on to the last of them."""
        blocks = []
        for _ in range(length):
            at = blocks[-1] if blocks else parent or self.chain_.tip
            blocks.append(self.chain_.build(at, time=at.time + self.dice.randint(1, max(1, self.spread - 1))))
        self.chain_.tip = blocks[-1]
        return blocks

    def mine_branch(self, extra):
        """A branch that leaves the chain up to ten blocks below the tip, and is longer by `extra`."""
        depth = self.dice.randint(1, min(DEEPEST_REORG, self.chain_.tip.height - 1))
        return self.mine(depth + extra, self.peer.active[-1 - depth])

    def set_clock(self):
        self.node.rpc('setmocktime', max(harness.MOCKTIME, self.chain_.tip.time))

    def pause(self):
        time.sleep(self.dice.uniform(0, 0.01))

    # What goes on in a round.

    def one_by_one(self, length):
        blocks = self.mine(length)
        self.set_clock()
        for block in blocks:
            self.peer.announce(block)
            self.pause()

    def at_once(self, length):
        blocks = self.mine(length)
        self.set_clock()
        self.peer.announce(blocks[-1], blocks)

    def by_inv(self, length):
        blocks = self.mine(length)
        self.set_clock()
        for block in blocks:
            self.peer.announce_by_inv(block)
            if self.dice.random() < 0.5:
                self.pause()

    def reorganize(self, length):
        """Half of the time the new branch grows while it is followed."""
        while length > 0:
            branch = self.mine_branch(self.dice.randint(1, 3))
            self.set_clock()
            at = self.dice.choice((len(branch) - 1, self.dice.randrange(len(branch))))
            self.peer.announce(branch[at], branch[:at + 1])
            self.pause()
            if at + 1 < len(branch):
                self.peer.announce(branch[-1], branch[at + 1:])
            length -= len(branch)

    def tie(self, length):
        """A branch with as much work as the chain; then it wins."""
        branch = self.mine_branch(0)
        self.set_clock()
        self.peer.announce(branch[-1], branch)
        self.pause()
        self.at_once(max(1, length - len(branch)))

    def cut(self, length):
        blocks = self.mine(length)
        self.set_clock()
        at = self.dice.randrange(length)
        for block in blocks:
            if block is blocks[at]:
                self.peer.cut()
            self.peer.announce(block)

    def break_off(self, length):
        """A connection that ends within a block."""
        self.peer.break_off = 1
        self.at_once(length)

    def keep_silent(self, length):
        """A request for blocks that is not answered."""
        self.peer.mute = 1
        self.at_once(length)

    def restart_peer(self, length):
        """The node is away while its chain grows, or comes back with another."""
        self.peer.stop()
        blocks = self.mine_branch(length) if self.dice.random() < 0.5 else self.mine(length)
        self.set_clock()
        self.peer.set_tip(blocks[-1], blocks)
        self.peer.start()

    def restart_node(self, length):
        """The daemon itself ends, in good order or not."""
        self.peer.stop()
        if self.dice.random() < 0.5:
            self.node.stop()
        else:
            self.node.kill9()
        self.node.start()
        self.assertEqual(self.node.rpc('getbestblockhash'), self.chain_.tip.hash)
        self.meet()
        self.at_once(length)

    # Quiet points.

    def meet(self):
        """The subscriber begins with the chain as it is. The peer is away meanwhile, so that nothing is missed."""
        self.set_clock()
        known = self.chain_.tip.height
        counters = self.stream.synchronize(self.node, self.chain_)
        self.peer.set_tip(self.chain_.tip, self.submitted_since(known))
        self.view = View(self, [block.hash for block in self.peer.active], counters)
        self.peer.start()

    def submitted_since(self, height):
        """What synchronize gave to the daemon."""
        out = []
        for at in range(height + 1, self.chain_.tip.height + 1):
            raw = bytes.fromhex(self.node.rpc('getblock', self.node.rpc('getblockhash', at), 0))
            out.append(regtest.parse_block(raw, at))
        return out

    def settle(self, kind):
        tip = self.chain_.tip
        wait_until(lambda: self.node.rpc('getbestblockhash') == tip.hash, 60, f'the tip at height {tip.height}')
        self.view.take(self.take_until(tip))
        self.assertEqual(self.view.raw, tip.raw)
        self.assertEqual(self.view.hashes, [block.hash for block in self.peer.active])
        about = self.node.rpc('getblockchaininfo')
        self.assertEqual((about['blocks'], about['headers']), (tip.height, tip.height))
        self.assertFalse(about['initialblockdownload'])
        # What the round had in store has happened, so that the next one begins afresh.
        self.assertEqual((self.peer.mute, self.peer.break_off), (0, 0), kind)

    def take_until(self, block):
        self.stream.wait_for(lambda frames: harness.ends_block(frames, block), 30)
        return self.stream.take()


if __name__ == '__main__':
    main()
