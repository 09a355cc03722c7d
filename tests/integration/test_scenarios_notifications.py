# SPDX-License-Identifier: MIT
"""What users of block notifications reported, as tests: reorganizations, order, silence, counters, frames."""
import json
import struct
import threading

import frames as fr
import harness
import regtest
import zmtp
from harness import IntegrationTest, main, rounds


class Notifications(IntegrationTest):
    """Each test has a daemon, a chain of its own and a subscriber to all five topics, synchronized."""

    def begin(self, *args, blocks=3, **kwargs):
        self.node, self.blocks = self.daemon(*args, **kwargs), self.chain()
        self.stream = self.subscriber(self.node.endpoint)
        for _ in range(blocks):
            self.node.submit(self.blocks.mine())
        self.counters = self.stream.synchronize(self.node, self.blocks)
        self.follower = fr.Follower(self.blocks.tip)
        self.follower.active.insert(0, None)
        return self.node, self.blocks

    def finish(self):
        """One more block is the end of the stream; all before it must be what the follower says."""
        last = self.blocks.build(self.follower.tip)
        self.node.submit(last)
        self.follower.connect(last)
        got = self.stream.wait_for(lambda frames: harness.ends_block(frames, last))
        self.assert_frames(got, self.follower.frames)
        self.assert_counters(got, self.counters)
        self.assertEqual(self.stream.malformed, [])
        return got

    def grow(self, count):
        out = []
        for _ in range(count):
            block = self.blocks.build(self.follower.tip)
            self.node.submit(block)
            self.follower.connect(block)
            self.blocks.tip = block
            out.append(block)
        return out

    def test_a_reorganization_tells_every_step_on_sequence_and_one_tip(self):
        """Scenario 3: A-B1-C1 active; B2, C2, D2 come. D C1, D B1, C B2, C C2, C D2, one hashblock."""
        self.begin()
        base = self.blocks.tip
        old = self.grow(2)
        branch = self.blocks.branch(base, 3)
        self.node.submit(branch[0], 'inconclusive')
        self.node.submit(branch[1], 'inconclusive')
        self.node.submit(branch[2])
        self.follower.switch(branch)
        got = self.finish()
        sequence = [(body[:32].hex(), body[32:]) for topic, body, _ in got if topic == b'sequence'][2:-1]
        self.assertEqual(sequence, [(old[1].hash, b'D'), (old[0].hash, b'D')] + [(b.hash, b'C') for b in branch])
        self.assertEqual([body.hex() for topic, body, _ in got if topic == b'hashblock'][2:-1], [branch[2].hash])

    def test_a_reorganization_back_and_forth(self):
        self.begin()
        base = self.blocks.tip
        tip_of = {0: self.grow(1), 1: []}
        for turn in range(1, rounds(12)):
            side = turn % 2
            parent = tip_of[side][-1] if tip_of[side] else base
            more = self.blocks.branch(parent, 2)
            self.node.submit(more[0], 'inconclusive')
            self.node.submit(more[1])
            tip_of[side] += more
            self.follower.switch(tip_of[side])
        self.finish()

    def test_headers_first_and_blocks_in_reverse_order(self):
        """A branch whose blocks come last to first by submitblock is refused until the parent is there, as Core does."""
        self.begin()
        branch = self.blocks.branch(self.follower.tip, 3)
        self.node.submit(branch[2], 'prev-blk-not-found')
        for block in branch:
            self.node.rpc('submitheader', block.raw[:80].hex())
        self.node.submit(branch[2], 'inconclusive')
        self.node.submit(branch[1], 'inconclusive')
        self.node.submit(branch[0])
        self.follower.connect(*branch)
        self.assertEqual(self.node.rpc('getbestblockhash'), branch[2].hash)
        self.finish()

    def test_a_tie_is_won_by_what_came_first_also_after_a_restart(self):
        self.begin()
        first, second = self.blocks.build(), self.blocks.build()
        self.node.submit(first)
        self.node.submit(second, 'inconclusive')
        self.assertEqual(self.node.rpc('getbestblockhash'), first.hash)
        self.node.stop()
        self.node.start()
        self.assertEqual(self.node.rpc('getbestblockhash'), first.hash)
        self.node.rpc('invalidateblock', first.hash)
        self.assertEqual(self.node.rpc('getbestblockhash'), second.hash)
        self.node.rpc('reconsiderblock', first.hash)
        # Its place in the order of arrival is the old one: it wins again.
        self.assertEqual(self.node.rpc('getbestblockhash'), first.hash)

    def test_rolling_back_by_hand_is_silent_about_tips(self):
        """Scenario 4: invalidateblock of the tip, then a block: D; nothing on hashblock; then C and hashblock."""
        self.begin()
        tip = self.blocks.tip
        self.node.rpc('invalidateblock', tip.hash)
        self.assertEqual(self.node.rpc('getbestblockhash'), tip.previous)
        parent = regtest.parse_block(bytes.fromhex(self.node.rpc('getblock', tip.previous, 0)), tip.height - 1)
        self.follower.active = [None, parent, tip]
        self.follower.disconnect()
        got = self.finish()
        self.assertEqual([body[32:] for topic, body, _ in got if topic == b'sequence'], [b'D', b'C'])
        self.assertEqual(len([1 for topic, *_ in got if topic in (b'hashblock', b'rawblock')]), 2)

    def test_invalidating_several_blocks_is_a_step_for_each(self):
        self.begin()
        blocks = self.grow(4)
        self.node.rpc('invalidateblock', blocks[1].hash)
        self.assertEqual(self.node.rpc('getbestblockhash'), blocks[0].hash)
        self.follower.disconnect(3)
        self.node.rpc('reconsiderblock', blocks[1].hash)
        self.follower.connect(*blocks[1:])
        self.finish()

    def test_transactions_are_told_again_on_disconnect_and_connect(self):
        """Scenario 5: rawtx on connect, on disconnect, on connect again; counters contiguous. (No mempool: no entry.)"""
        self.begin()
        coins = self.blocks.fund(self.node.submit, 3)
        self.counters = self.stream.synchronize(self.node, self.blocks)
        self.follower = fr.Follower(self.blocks.tip)
        block = self.blocks.mine(txs=[regtest.spend(*coin) for coin in coins])
        self.node.submit(block)
        self.node.rpc('invalidateblock', block.hash)
        self.node.rpc('reconsiderblock', block.hash)
        self.follower.connect(block)
        self.follower.disconnect()
        self.follower.connect(block)
        got = self.finish()
        for tx in block.txs:
            self.assertEqual(len([1 for topic, body, _ in got if topic == b'rawtx' and body == tx.raw]), 3)

    def test_a_branch_that_fails_half_way_is_told_and_taken_back(self):
        """All D, the C of its good blocks, their D, the C of the old ones, and no hashblock. A coin that is not there is
        missed only when the block is connected."""
        self.begin()
        base = self.blocks.tip
        old = self.grow(2)
        branch = self.blocks.branch(base, 1)
        branch.append(self.blocks.build(branch[0], txs=[regtest.spend('11' * 32, 0, 1)]))
        branch.append(self.blocks.build(branch[1]))
        for block in branch:
            self.node.submit(block, 'inconclusive')
        self.assertEqual(self.node.rpc('getbestblockhash'), old[1].hash)
        for block in reversed(old):
            self.follower.frames += regtest.disconnect_frames(block)
        self.follower.frames += regtest.connect_frames(branch[0]) + regtest.disconnect_frames(branch[0])
        for block in old:
            self.follower.frames += regtest.connect_frames(block)
        self.finish()

    def test_a_branch_that_is_invalid_by_hand_is_left_alone(self):
        self.begin()
        base = self.blocks.tip
        self.grow(1)
        branch = self.blocks.branch(base, 3)
        self.node.submit(branch[0], 'inconclusive')
        self.node.rpc('invalidateblock', branch[0].hash)
        self.node.submit(branch[1], 'bad-prevblk')
        self.node.rpc('reconsiderblock', branch[0].hash)
        self.node.submit(branch[1])
        self.follower.switch(branch[:2])
        self.finish()

    def test_counters_begin_again_with_a_start(self):
        """Scenario 7: after a restart the counters are 0 and Core's topics begin with what connects from then on."""
        self.begin()
        self.node.stop()
        self.node.start()
        stream = self.subscriber(self.node.endpoint)
        height = self.blocks.tip.height
        counters = stream.synchronize(self.node, self.blocks)
        since = self.blocks.tip.height - height
        self.assertEqual(counters, {topic.encode(): since for topic in harness.TOPICS})

    def test_hash_bodies_are_in_display_order(self):
        """Scenario 8: hashblock is getbestblockhash's hex, and the reverse of rawblock's double SHA-256."""
        self.begin()
        self.grow(1)
        best = self.node.rpc('getbestblockhash')
        got = self.stream.wait_body(b'rawblock', self.blocks.tip.raw)
        hashblock = [body for topic, body, _ in got if topic == b'hashblock'][-1]
        rawblock = [body for topic, body, _ in got if topic == b'rawblock'][-1]
        self.assertEqual(hashblock.hex(), best)
        self.assertEqual(regtest.sha256d(rawblock[:80])[::-1], hashblock)
        rawtx, hashtx = ([body for topic, body, _ in got if topic == name][-1] for name in (b'rawtx', b'hashtx'))
        self.assertEqual(regtest.parse_block(rawblock).txs[-1].txid, hashtx.hex())
        self.assertEqual(rawtx, self.blocks.tip.txs[-1].raw)

    def test_sequence_bodies_of_blocks_have_33_bytes(self):
        """Scenario 9."""
        self.begin()
        self.grow(3)
        self.node.rpc('invalidateblock', self.blocks.tip.hash)
        self.follower.disconnect()
        for topic, body, _ in self.finish():
            if topic == b'sequence':
                self.assertEqual(len(body), 33)
                self.assertIn(body[32:], (b'C', b'D'))

    def test_what_was_announced_can_be_queried(self):
        """Scenario 11: 1000 rapid blocks; each hashblock is answered at once by getblock and getblockheader."""
        self.begin(blocks=0)
        count = rounds(1000)
        blocks = [self.blocks.mine() for _ in range(count)]
        heights = {block.hash: block.height for block in blocks}
        raws = {block.hash: block.hex for block in blocks}
        problems, queried = [], []

        def follow():
            import zmq
            context = zmq.Context()
            socket = context.socket(zmq.SUB)
            socket.setsockopt(zmq.RCVHWM, 0)
            socket.setsockopt(zmq.SUBSCRIBE, b'hashblock')
            socket.connect(self.node.endpoint)
            with harness.HttpConnection(self.node.rpc_port) as connection:
                def call(method, *params):
                    connection.send(harness.rpc_request(self.node.cookie, method, list(params)))
                    return json.loads(connection.read_reply().body)
                while True:
                    if not socket.poll(int(harness.seconds(20) * 1000)):
                        problems.append('the stream ended')
                        break
                    block_hash = socket.recv_multipart()[1].hex()
                    if block_hash not in heights:
                        listening.set()
                        continue
                    raw, header = call('getblock', block_hash, 0), call('getblockheader', block_hash)
                    best = call('getblockcount')['result']
                    if raw['error'] or header['error']:
                        problems.append((block_hash, raw['error'], header['error']))
                    elif raw['result'] != raws[block_hash]:
                        problems.append((block_hash, 'other bytes'))
                    elif header['result']['confirmations'] < 1 or best < heights[block_hash]:
                        problems.append((block_hash, header['result']['confirmations'], best))
                    queried.append(block_hash)
                    if block_hash == blocks[-1].hash:
                        break
            context.destroy(linger=0)

        listening = threading.Event()
        thread = threading.Thread(target=follow)
        thread.start()
        # A side block by hand is announced again and again until the follower hears it.
        side = regtest.make_block(self.follower.tip, self.blocks.start_time + 5000, tag=b'side')
        self.node.submit(side)
        while not listening.wait(0.2):
            self.node.rpc('invalidateblock', side.hash)
            self.node.rpc('reconsiderblock', side.hash)
        self.node.rpc('invalidateblock', side.hash)
        for block in blocks:
            self.node.submit(block)
        thread.join()
        self.assertEqual(problems, [])
        self.assertEqual(queried, [block.hash for block in blocks])

    def test_a_header_without_its_block_has_an_answer_of_its_own(self):
        """Scenario 12: unknown, header only and present differ; the log stays quiet."""
        self.begin()
        child = self.blocks.build()
        before = len(self.node.debug_log())
        self.node.rpc('submitheader', child.raw[:80].hex())
        for verbosity in (0, 1, 2, 3):
            with self.assertRaises(harness.RpcError) as caught:
                self.node.rpc('getblock', child.hash, verbosity)
            self.assertEqual((caught.exception.code, caught.exception.message), (-1, 'Block not found on disk'))
        with self.assertRaises(harness.RpcError) as caught:
            self.node.rpc('getblock', 'ab' * 32, 0)
        self.assertEqual((caught.exception.code, caught.exception.message), (-5, 'Block not found'))
        self.assertEqual(self.node.rpc('getblockheader', child.hash)['confirmations'], -1)
        self.assertNotIn('rror', self.node.debug_log()[before:])

    def test_initial_download_is_silent_about_tips_until_it_ends(self):
        """Scenario 23: 500 blocks older than a day: C 500 times, no hashblock; the block that ends it is announced."""
        node = self.daemon()
        old = regtest.Chain(harness.MOCKTIME - 30 * 86400)
        stream = self.subscriber(node.endpoint, topics=(b'',))
        count = rounds(500)
        # The stream is open when C comes; what precedes may be missed, as with Core.
        blocks = []
        while not stream.frames or len(blocks) < count:
            blocks.append(old.mine())
            node.submit(blocks[-1])
        self.assertTrue(node.rpc('getblockchaininfo')['initialblockdownload'])
        old.start_time = harness.MOCKTIME - 3600 - old.tip.height
        fresh = old.mine()
        node.submit(fresh)
        self.assertFalse(node.rpc('getblockchaininfo')['initialblockdownload'])
        got = stream.wait_for(lambda frames: harness.ends_block(frames, fresh))
        want = [frame for block in blocks for frame in regtest.connect_frames(block)]
        want += regtest.connect_frames(fresh) + regtest.tip_frames(fresh)
        self.assertGreater(len(got), 3 * count - 30)
        self.assert_frames(got, want[len(want) - len(got):])
        # Left for good: an old block on another branch does not bring it back.
        self.assert_counters(got)
        self.assertEqual([counter for topic, _, counter in got if topic == b'hashblock'], [0])

    def test_order_on_one_endpoint_over_a_thousand_blocks(self):
        """P10: never hashblock before the last rawtx or C of that block."""
        self.begin()
        self.grow(rounds(1000))
        self.finish()

    def test_every_message_has_three_frames_on_the_wire(self):
        """P3, P4: a raw capture of a block of two transactions: hashtx, rawtx twice, one C, hashblock, rawblock; the
        MORE flag on the first two frames of each, none of them empty; no ZMTP command on a plain subscription."""
        self.begin()
        coin, = self.blocks.fund(self.node.submit, 1)
        raw = zmtp.RawSubscriber(self.node.endpoint)
        self.addCleanup(raw.close)
        raw.synchronize(self.node, self.blocks)
        block = self.blocks.mine(txs=[regtest.spend(*coin)])
        self.node.submit(block)
        messages = [raw.read_message() for _ in range(7)]
        for message in messages:
            self.assertEqual([flags for flags, _ in message], [zmtp.MORE, zmtp.MORE, 0])
            self.assertEqual(len(message[2][1]), 4)
        self.assert_frames([(m[0][1], m[1][1], struct.unpack('<I', m[2][1])[0]) for m in messages],
                           regtest.connect_frames(block) + regtest.tip_frames(block))

    def test_topics_by_prefix_do_not_bring_strangers(self):
        """A subscription matches by prefix: `hash` brings hashblock and hashtx, `raw` rawblock and rawtx, no more."""
        self.begin()
        for prefix, names in ((b'hash', {b'hashblock', b'hashtx'}), (b'raw', {b'rawblock', b'rawtx'}), (b'sequence', {b'sequence'})):
            stream = self.subscriber(self.node.endpoint, topics=(prefix,))
            while not stream.frames:
                self.node.submit(self.blocks.mine())
                try:
                    stream.wait_count(1, 0.3)
                except AssertionError:
                    pass
            last = self.blocks.mine()
            self.node.submit(last)
            got = stream.wait_for(lambda frames: {f[0] for f in frames} == names)
            self.assertEqual({frame[0] for frame in got}, names)

    def test_several_endpoints_have_counters_of_their_own(self):
        second = f'tcp://127.0.0.1:{harness.free_port()}'
        third = f'ipc://{self.temporary_directory()}/socket'
        self.begin(f'-zmqpubhashblock={second}', f'-zmqpubsequence={third}', f'-zmqpubhashblock={third}')
        streams = [self.subscriber(endpoint) for endpoint in (second, third)]
        for stream in streams:
            while not stream.frames:
                self.grow(1)
                try:
                    stream.wait_count(1, 0.3)
                except AssertionError:
                    pass
        block, = self.grow(1)
        body = bytes.fromhex(block.hash)
        self.assert_counters(streams[0].wait_body(b'hashblock', body))
        self.assertEqual({frame[0] for frame in streams[0].take()}, {b'hashblock'})
        got = streams[1].wait_body(b'hashblock', body)
        self.assert_counters(got)
        self.assertEqual({frame[0] for frame in got}, {b'hashblock', b'sequence'})
        self.assertEqual(got[-1][2], block.height - 1)


if __name__ == '__main__':
    main()
