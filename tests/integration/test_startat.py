# SPDX-License-Identifier: MIT
"""A store that begins at the tip (-startat=tip): what it fetches and announces, what it says of what it lacks, and how
it becomes a whole one."""
import threading

import eventlog
import harness
import regtest
from fake_peer import NETWORK, WITNESS, FakePeer
from harness import IntegrationTest, RpcError, main, wait_until

LENGTH = 2300
BASE = LENGTH - 288
NO_COINS = 'Coins not available (pruned data)'
NO_BLOCK = 'Block not available (pruned data)'
LIMITED = 1 << 10


class RecordingPeer(FakePeer):
    """Remembers which blocks were asked for, and keeps those up to a height until it is let go."""

    def __init__(self, *args, **kwargs):
        self.asked, self.kept_to, self.let_go = [], -1, threading.Event()
        super().__init__(*args, **kwargs)

    def send_block(self, connection, block):
        self.asked.append(block.height)
        if block.height <= self.kept_to:
            self.let_go.wait()
        super().send_block(connection, block)


class StartAtTest(IntegrationTest):
    @classmethod
    def setUpClass(cls):
        cls.chain_of_blocks = regtest.Chain(harness.CHAIN_START)
        cls.blocks = [regtest.GENESIS]
        for _ in range(LENGTH):
            block, coins = cls.blocks[-1], []
            if block.height > 150 and block.height % 7 == 0:
                spent = cls.blocks[block.height - 120]
                coins = [regtest.spend(spent.txs[0].txid, 0, spent.txs[0].outputs[0][0])]
            cls.blocks.append(cls.chain_of_blocks.mine(txs=coins))

    def grown(self):
        """The chain at its full length, to be grown by this test alone."""
        return regtest.Chain(harness.CHAIN_START, self.blocks[-1])

    def peer(self, blocks=None, kind=RecordingPeer, **kwargs):
        peer = kind((self.blocks if blocks is None else blocks)[1:], **kwargs).start()
        self.addCleanup(peer.stop)
        self.addCleanup(getattr(peer, 'let_go', threading.Event()).set)
        return peer

    def follow(self, *peers, args=('-startat=tip',), **kwargs):
        return self.daemon(*[f'-connect=127.0.0.1:{p.port}' for p in peers], *args, source=None, **kwargs)

    def wait_tip(self, node, block, limit=30):
        wait_until(lambda: node.rpc('getbestblockhash') == block.hash, limit, f'the tip at height {block.height}')

    def wait_log(self, node, *texts, limit=30):
        def line():
            return next((row for row in node.console().splitlines() if all(text in row for text in texts)), None)
        return wait_until(line, limit, f'a line with {texts}')

    def wait_whole(self, node, limit=60):
        wait_until(lambda: not node.rpc('getblockchaininfo')['pruned'], limit, 'the store whole')

    def refusal(self, node, method, *params):
        with self.assertRaises(RpcError) as caught:
            node.rpc(method, *params)
        return caught.exception.message

    def restart(self, node, *without):
        node.stop()
        node.args = [arg for arg in node.args if arg not in without]
        node.start()


class Beginning(StartAtTest):
    def test_fetches_the_last_blocks_and_announces_from_there_on(self):
        peer = self.peer()
        peer.kept_to = BASE + 1
        node = self.follow(peer)
        wait_until(lambda: node.rpc('getblockcount') == BASE, 30, 'the chain up to the base')
        stream = self.subscriber(node.endpoint)
        peer.let_go.set()
        got = stream.wait_for(lambda frames: harness.ends_block(frames, self.blocks[-1]), 30)
        want = [f for b in self.blocks[BASE + 1:] for f in regtest.connect_frames(b) + regtest.tip_frames(b)]
        # The subscription may have come into force a moment late: what came is the end of what was owed.
        self.assert_frames(got, want[len(want) - len(got):])
        self.assertEqual(sorted(peer.asked), list(range(BASE + 1, LENGTH + 1)))
        stream.take()

        chain = self.grown()
        block = chain.mine()
        peer.announce(block)
        got = stream.wait_for(lambda frames: harness.ends_block(frames, block))
        self.assert_frames(got, regtest.connect_frames(block) + regtest.tip_frames(block))
        node.stop()
        state = eventlog.verify(self, node)
        self.assertEqual([e[1:2] + e[4:5] for e in state['events'][:3]], [['C', 0], ['P', BASE], ['C', BASE + 1]])

    def test_says_what_is_not_here(self):
        peer = self.peer()
        node = self.follow(peer, args=['-startat=tip', '-rest'])
        tip, old = self.blocks[-1], self.blocks[500]
        self.wait_tip(node, tip)
        info = node.rpc('getblockchaininfo')
        self.assertEqual((info['blocks'], info['headers'], info['pruned'], info['pruneheight']), (LENGTH, LENGTH, True, BASE + 1))
        self.assertFalse(info['initialblockdownload'])
        for height in (1, 500, BASE):
            self.assertEqual(self.refusal(node, 'getblock', self.blocks[height].hash), NO_BLOCK)
        self.assertEqual(node.rpc('getblock', self.blocks[BASE + 1].hash, 0), self.blocks[BASE + 1].hex)
        self.assertEqual(node.rpc('getblock', regtest.GENESIS_HASH, 0), regtest.GENESIS.hex)
        self.assertEqual(node.rpc('getblockhash', 500), old.hash)
        self.assertEqual(node.rpc('getblockheader', old.hash, False), old.raw[:80].hex())
        self.assertEqual(node.rpc('getrawtransaction', tip.txs[0].txid, 0, tip.hash), tip.txs[0].raw.hex())
        whole = node.rpc('getblock', tip.hash, 3)
        self.assertNotIn('fee', whole['tx'][-1])
        self.assertEqual(self.refusal(node, 'getblockstats', LENGTH), 'Undo data not available (pruned data)')
        self.assertNotIn('txcount', node.rpc('getchaintxstats'))
        self.assertTrue(node.rpc('verifychain', 4, 0))
        spend = regtest.spend(tip.txs[0].txid, 0, 1000, script=regtest.FREE_WITNESS).raw.hex()
        for call in (('gettxout', tip.txs[0].txid, 0), ('gettxoutsetinfo',), ('scantxoutset', 'start', ['raw(51)']),
                     ('sendrawtransaction', spend), ('gettxoutproof', [tip.txs[0].txid])):
            self.assertIn(NO_COINS, self.refusal(node, *call), call)
        self.assertTrue(node.rpc('getmempoolinfo')['loaded'])
        with harness.HttpConnection(node.rpc_port) as http:
            http.send(f'GET /rest/block/{old.hash}.bin HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
            reply = http.read_reply()
            self.assertEqual((reply.status, reply.body.rstrip()), (404, f'{old.hash} not available (pruned data)'.encode()))
            http.send(f'GET /rest/getutxos/{tip.txs[0].txid}-0.json HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
            reply = http.read_reply()
            self.assertEqual(reply.status, 404)
            self.assertIn(NO_COINS.encode(), reply.body)

    def test_reorganizations(self):
        """Within what is here they are followed; from below, told of with the remedy."""
        peer = self.peer()
        node = self.follow(peer)
        self.wait_tip(node, self.blocks[-1])
        chain = self.grown()
        stream = self.subscriber(node.endpoint)
        block = chain.mine()
        peer.announce(block)
        self.wait_tip(node, block)
        while not stream.take():
            block = chain.mine()
            peer.announce(block)
            self.wait_tip(node, block)
        branch = chain.branch(self.blocks[LENGTH - 100], block.height - LENGTH + 101)
        peer.announce(branch[-1], branch)
        stream.wait_for(lambda frames: harness.ends_block(frames, branch[-1]))
        self.wait_tip(node, branch[-1])
        self.assertIn('the chain cannot be taken back', self.refusal(node, 'invalidateblock', self.blocks[BASE].hash))

        deep = chain.branch(self.blocks[BASE - 1], branch[-1].height - BASE + 2)
        peer.asked.clear()
        peer.announce(deep[-1], deep)
        self.wait_log(node, deep[-1].hash, 'its branch leaves the chain below height', 'give an empty data directory')
        self.assertEqual(peer.asked, [])
        self.assertEqual(node.rpc('getbestblockhash'), branch[-1].hash)
        self.assertIn('its branch leaves the chain below', str(node.rpc('getblockchaininfo')['warnings']))

    def test_restarts_go_on(self):
        chain = self.grown()
        peer = self.peer()
        node = self.follow(peer)
        self.wait_tip(node, self.blocks[-1])
        wait_until(lambda: node.rpc('getblockpubinfo')['chain']['durable_events'] == 290, 10, 'all of it on the disk')
        node.kill9()
        missed = [chain.mine() for _ in range(400)]
        peer.set_tip(missed[-1], missed)
        peer.asked.clear()
        node.start()
        self.wait_tip(node, missed[-1])
        self.assertEqual(sorted(peer.asked), list(range(LENGTH + 1, LENGTH + 401)))
        node.stop()
        eventlog.verify(self, node)

    def test_a_node_that_is_behind_is_waited_for(self):
        """Its chain is older than a day: what it shows is not the tip."""
        peer = self.peer()
        late = harness.MOCKTIME + 3 * 24 * 3600
        node = self.follow(peer, mocktime=late)
        self.wait_log(node, f'ends at height {LENGTH}', '-startat=tip waits until it has caught up')
        self.assertEqual((node.rpc('getblockcount'), peer.asked), (0, []))
        chain = regtest.Chain(late - 4000, self.blocks[-1])
        fresh = [chain.mine() for _ in range(300)]
        node.stop()  # what is known by then is no reason to begin elsewhere
        peer.set_tip(fresh[-1], fresh)
        node.start()
        self.wait_tip(node, fresh[-1])
        self.assertEqual(min(peer.asked), fresh[-1].height - 287)

    def test_a_full_message_of_headers_may_be_the_last(self):
        peer = self.peer(self.blocks[:2001])
        node = self.follow(peer)
        self.wait_tip(node, self.blocks[2000])
        self.assertEqual(min(peer.asked), 2000 - 287)

    def test_a_short_chain_is_taken_whole(self):
        peer = self.peer(self.blocks[:101])
        node = self.follow(peer)
        self.wait_tip(node, self.blocks[100])
        self.assertEqual(sorted(peer.asked), list(range(1, 101)))
        self.assertIn(NO_COINS, self.refusal(node, 'gettxoutsetinfo'))
        self.restart(node, '-startat=tip')
        self.assertEqual(node.rpc('gettxoutsetinfo')['height'], 100)
        self.assertFalse(node.rpc('getblockchaininfo')['pruned'])

    def test_what_makes_no_sense_is_refused(self):
        peer = self.peer(self.blocks[:11])
        connect = f'-connect=127.0.0.1:{peer.port}'
        blocks = self.temporary_directory()
        for args, texts in {
                ('-startat=tip', connect, '-txindex'): ('-txindex needs every block',),
                ('-startat=tip', connect, f'-importblocks={blocks}'): ('-importblocks and -loadblock bring blocks',),
                ('-startat=tip', connect, f'-loadblock={blocks}/x'): ('-importblocks and -loadblock bring blocks',),
                ('-startat=tip',): ('give -connect=<node>',),
                ('-startat=here', connect): ('-startat=here', 'genesis and tip'),
        }.items():
            self.assert_refused(*args, contains=texts, source=None)
        node = self.follow(peer, args=())
        self.wait_tip(node, self.blocks[10])
        node.stop()
        self.assert_refused('-startat=tip', connect, contains=('has the blocks up to height 10', 'empty -datadir'),
                            source=None, datadir=node.datadir)


class BecomingWhole(StartAtTest):
    def coins(self, node):
        info = node.rpc('gettxoutsetinfo')
        return {key: info[key] for key in ('height', 'bestblock', 'txouts', 'hash_serialized_3', 'total_amount')}

    def test_equals_a_store_that_was_whole_from_the_beginning(self):
        """The blocks below are fetched and the coins made while the tip goes on and reorganizes; nothing is announced
        twice, and nothing of what is old."""
        peer, newest = self.peer(), self.peer()
        newest.services = LIMITED | WITNESS
        node = self.follow(peer, newest)
        self.wait_tip(node, self.blocks[-1])
        node.stop()
        self.assert_refused('-prune=1', f'-connect=127.0.0.1:{peer.port}', source=None, datadir=node.datadir,
                            contains=('leave -prune out until it is',))
        peer.asked.clear()
        peer.kept_to = 300
        self.restart(node, '-startat=tip')
        self.wait_log(node, 'becomes a whole one')
        wait_until(lambda: peer.asked, 30, 'the old blocks wanted')
        filling = node.rpc('getblockpubinfo')['chain']['filling']
        self.assertEqual(filling, {'blocks_below': 1, 'coins_height': 0})
        stream = self.subscriber(node.endpoint)
        chain = self.grown()
        while not stream.take():
            block = chain.mine()
            newest.announce(block)
            self.wait_tip(node, block)
        start = block
        lost = [chain.mine() for _ in range(3)]
        newest.announce(lost[-1], lost)
        self.wait_tip(node, lost[-1])
        branch = chain.branch(start, 4)
        newest.announce(branch[-1], branch)
        got = stream.wait_for(lambda frames: harness.ends_block(frames, branch[-1]))
        self.assertEqual([f[1] for f in got if f[0] == b'rawblock'][-2:], [lost[-1].raw, branch[-1].raw])
        self.assertTrue(node.rpc('getblockchaininfo')['pruned'])
        self.assertIn(NO_COINS, self.refusal(node, 'gettxoutsetinfo'))
        stream.take()
        peer.let_go.set()
        self.wait_whole(node)
        self.assertNotIn('filling', node.rpc('getblockpubinfo')['chain'])
        self.assertEqual(sorted(h for h in peer.asked if h <= BASE), list(range(1, BASE + 1)))
        after = chain.build(branch[-1])
        newest.announce(after)
        got = stream.wait_for(lambda frames: harness.ends_block(frames, after))
        self.assert_frames(got, regtest.connect_frames(after) + regtest.tip_frames(after))

        newest.services = NETWORK | WITNESS
        plain = self.follow(newest, args=())
        self.wait_tip(plain, after)
        self.assertEqual(self.coins(node), self.coins(plain))
        for call in (('getchaintxstats',), ('getblockstats', 1000), ('getblockstats', after.height),
                     ('getblock', self.blocks[501].hash, 3), ('getblockheader', after.hash), ('verifychain', 4, 0),
                     ('gettxout', after.txs[0].txid, 0)):
            self.assertEqual(node.rpc(*call), plain.rpc(*call), call)
        node.stop()
        state = eventlog.verify(self, node)
        connected = [e[2] for e in state['events'] if e[1] == 'C']
        self.assertEqual(len(connected), len(set(connected)))
        node.start()
        self.assertEqual(self.coins(node), self.coins(plain))
        node.stop()
        self.assert_refused('-startat=tip', f'-connect=127.0.0.1:{peer.port}', source=None, datadir=node.datadir,
                            contains=('begins a store',))

    def test_goes_on_after_kill9_and_after_a_change_of_mind(self):
        peer = self.peer()
        node = self.follow(peer)
        self.wait_tip(node, self.blocks[-1])
        peer.kept_to = 1000
        self.restart(node, '-startat=tip')
        wait_until(lambda: peer.asked.count(1), 30, 'the first of the old blocks wanted')
        peer.let_go.set()
        wait_until(lambda: any(300 < h < BASE for h in peer.asked), 30, 'some of the old blocks')
        node.kill9()
        node.start('-startat=tip')
        self.assertEqual(node.rpc('getblockcount'), LENGTH)
        self.assertIn(NO_COINS, self.refusal(node, 'gettxoutsetinfo'))
        node.kill9()
        node.start()
        self.wait_whole(node)
        plain = self.follow(peer, args=())
        self.wait_tip(plain, self.blocks[-1])
        self.assertEqual(self.coins(node), self.coins(plain))

    def test_a_node_that_prunes_is_not_asked_for_what_it_lacks(self):
        peer = self.peer()
        peer.services = LIMITED | WITNESS
        node = self.follow(peer)
        self.wait_tip(node, self.blocks[-1])
        self.restart(node, '-startat=tip')
        self.wait_log(node, 'keeps the last 288 blocks only', 'give a node that does not prune')
        self.assertEqual(min(peer.asked), BASE + 1)
        peer.stop()
        peer.services = NETWORK | WITNESS
        whole = self.peer(port=peer.port)
        self.wait_whole(node)
        self.assertIn(1, whole.asked)


if __name__ == '__main__':
    main()
