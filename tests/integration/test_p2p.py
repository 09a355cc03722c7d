# SPDX-License-Identifier: MIT
"""Following nodes over their P2P port: from an empty directory to the tip and on, whatever the nodes do."""
import time

import fake_peer
import harness
import regtest
from fake_peer import FakePeer, message
from harness import IntegrationTest, main, wait_until


class P2pTest(IntegrationTest):
    def peer(self, blocks=(), kind=FakePeer, **kwargs):
        peer = kind(blocks, **kwargs).start()
        self.addCleanup(peer.stop)
        return peer

    def follow(self, *peers, args=(), **kwargs):
        return self.daemon(*[f'-connect=127.0.0.1:{p.port}' for p in peers], *args, source=None, **kwargs)

    def blocks(self, count):
        chain = self.chain()
        return chain, [chain.mine() for _ in range(count)]

    def wait_tip(self, node, block, limit=30):
        wait_until(lambda: node.rpc('getbestblockhash') == block.hash, limit, f'the tip at height {block.height}')

    def listener(self, node, chain, *peers, **kwargs):
        """A subscriber that is heard; new blocks of `chain`, which the peers announce, tell so."""
        def mine():
            block = chain.mine()
            for peer in peers:
                peer.announce(block)
            self.wait_tip(node, block)
            return block
        stream = self.subscriber(node.endpoint, **kwargs)
        stream.synchronize_by(mine)
        return stream

    def wait_log(self, node, *texts, limit=30):
        def line():
            return next((row for row in node.console().splitlines() if all(text in row for text in texts)), None)
        return wait_until(line, limit, f'a line with {texts}')


class Following(P2pTest):
    def test_from_nothing_to_the_tip_and_on(self):
        """Downloads a chain, follows what is announced by headers and by inv, and a reorganization; all of it is
        announced as if it had been submitted."""
        chain, blocks = self.blocks(300)
        peer = self.peer(blocks)
        node = self.follow(peer)
        self.wait_tip(node, blocks[-1])
        stream = self.listener(node, chain, peer)
        live = [chain.mine() for _ in range(3)]
        peer.announce(live[0])
        self.wait_tip(node, live[0])
        peer.announce_by_inv(live[1])
        self.wait_tip(node, live[1])
        peer.announce(live[2])
        got = stream.wait_for(lambda frames: harness.ends_block(frames, live[2]))
        self.assert_frames(got, [f for b in live for f in regtest.connect_frames(b) + regtest.tip_frames(b)])
        stream.take()

        branch = chain.branch(live[0], 3)
        peer.announce(branch[-1], branch)
        got = stream.wait_for(lambda frames: harness.ends_block(frames, branch[-1]))
        self.assert_frames(got, regtest.disconnect_frames(live[2]) + regtest.disconnect_frames(live[1])
                           + [f for b in branch for f in regtest.connect_frames(b)] + regtest.tip_frames(branch[-1]))

    def test_of_version_and_verack_the_first_counts(self):
        _, blocks = self.blocks(30)
        peer = self.peer(blocks, fake_peer.SaysTwice)
        node = self.follow(peer)
        self.wait_tip(node, blocks[-1])
        wait_until(lambda: node.rpc('getpeerinfo')[0]['bytesrecv_per_msg'].get('verack') == 1001 * 24, 20, 'all of them')
        self.assertEqual(node.rpc('getpeerinfo')[0]['version'], 70016)
        self.assertEqual(peer.accepted, 1)

    def test_what_the_rpc_says_of_peers(self):
        _, blocks = self.blocks(30)
        peer = self.peer(blocks)
        node = self.follow(peer)
        self.wait_tip(node, blocks[-1])
        row, = wait_until(lambda: [r for r in node.rpc('getpeerinfo') if r['synced_blocks'] == 30], 10, 'the row')
        self.assertEqual(row['addr'], f'127.0.0.1:{peer.port}')
        self.assertEqual(row['subver'], '/fake:1.0/?')  # what would spoil a terminal is left out
        self.assertEqual((row['version'], row['startingheight'], row['synced_headers']), (70016, 30, 30))
        self.assertEqual(row['servicesnames'], ['NETWORK', 'WITNESS'])
        self.assertEqual((row['inflight'], row['inbound'], row['connection_type']), ([], False, 'manual'))
        self.assertGreater(row['bytesrecv_per_msg']['block'], sum(len(b.raw) for b in blocks))
        self.assertEqual(sum(row['bytesrecv_per_msg'].values()), row['bytesrecv'])
        self.assertEqual(sum(row['bytessent_per_msg'].values()), row['bytessent'])
        self.assertEqual(node.rpc('getconnectioncount'), 1)
        self.assertEqual(node.rpc('getnetworkinfo')['connections_out'], 1)
        self.assertGreaterEqual(node.rpc('getnettotals')['totalbytesrecv'], row['bytesrecv'])
        peer.stop()
        wait_until(lambda: node.rpc('getconnectioncount') == 0, 10, 'no connection')

    def test_initial_download_is_silent_about_tips(self):
        """A chain that is older than a day: no hashblock until a block is younger."""
        _, old = self.blocks(20)
        late = harness.MOCKTIME + 10 * 24 * 3600
        peer = self.peer(old)
        node = self.follow(peer, mocktime=late)
        self.wait_tip(node, old[-1])
        stream = self.subscriber(node.endpoint)
        self.assertTrue(node.rpc('getblockchaininfo')['initialblockdownload'])
        chain = regtest.Chain(late - 100, old[-1])
        last = [regtest.make_block(old[-1], harness.MOCKTIME, tag=b'old')]
        while True:
            peer.announce(last[-1])
            self.wait_tip(node, last[-1])
            try:
                stream.wait_for(lambda frames: frames, 1)
                break
            except AssertionError:
                last.append(regtest.make_block(last[-1], harness.MOCKTIME + len(last), tag=b'old'))
        chain.tip = last[-1]
        fresh = chain.mine()
        peer.announce(fresh)
        got = stream.wait_for(lambda frames: harness.ends_block(frames, fresh))
        tips = [frame for frame in got if frame[0] in (b'hashblock', b'rawblock')]
        self.assert_frames(tips, regtest.tip_frames(fresh))
        self.assertFalse(node.rpc('getblockchaininfo')['initialblockdownload'])

    def test_restarts_of_the_node_and_cuts_heal(self):
        chain, blocks = self.blocks(10)
        peer = self.peer(blocks)
        node = self.follow(peer, args=['-peertimeout=1'])
        self.wait_tip(node, blocks[-1])
        peer.stop()
        missed = [chain.mine() for _ in range(3)]
        again = self.peer([*blocks, *missed], port=peer.port)
        self.wait_tip(node, missed[-1])
        # A cut that nobody tells of: the connection stands, and nothing comes through any more.
        again.on_message = lambda *_: None
        self.wait_log(node, 'no answer to a ping within')
        del again.on_message
        again.set_tip(chain.mine())
        self.wait_tip(node, chain.tip)

    def test_a_restart_goes_on_where_it_was(self):
        chain, blocks = self.blocks(50)
        peer = self.peer(blocks)
        node = self.follow(peer)
        self.wait_tip(node, blocks[-1])
        node.stop()
        peer.set_tip(chain.mine())
        peer.received.clear()
        node.start()
        self.wait_tip(node, chain.tip)
        self.assertEqual(peer.received.count('getdata'), 1)

    def test_peers_that_disagree(self):
        """The chain with more work wins; what the other has is there, too, and wins when it grows."""
        chain, common = self.blocks(20)
        less, more = chain.branch(common[-1], 2), chain.branch(common[-1], 4)
        one, other = self.peer([*common, *less]), self.peer([*common, *more])
        node = self.follow(one, other)
        self.wait_tip(node, more[-1])
        grown = chain.branch(less[-1], 3)
        one.announce(grown[-1], grown)
        self.wait_tip(node, grown[-1])

    def test_nothing_is_called_without_being_told(self):
        peer = self.peer()
        node = self.daemon(source='-connect=0')
        self.assertEqual(node.rpc('getconnectioncount'), 0)
        self.assertIn('No source of blocks was given', node.console())
        self.assertEqual(peer.accepted, 0)


COIN = 100_000_000


def pay(coins, amount, sequence=0xfffffffd, witness=None):
    """A transaction that anybody may spend on; `coins`: the outputs that it spends."""
    return regtest.Tx([(txid, n, b'', sequence) for txid, n in coins], [(amount, regtest.FREE_WITNESS)], witness)


class AtTip(P2pTest):
    """What needs a mempool."""

    def funded(self, *kinds, args=()):
        """Peers with a chain whose first coinbases can be spent, a daemon at its tip, and those coins."""
        chain, blocks = self.blocks(regtest.MATURITY + 20)
        peers = [self.peer(blocks, kind) for kind in kinds or (FakePeer,)]
        node = self.follow(*peers, args=['-acceptnonstdtxn=1', *args])
        self.wait_tip(node, blocks[-1])
        wait_until(lambda: all('feefilter' in peer.received for peer in peers), 20, 'the end of initial download')
        wait_until(lambda: all(peer.told_fee_filters()[-1:] == [1000] for peer in peers), 20, 'the fee filter')
        return node, chain, peers, [(block.txs[0].txid, 0) for block in blocks]

    def wait_mempool(self, node, txs, limit=20):
        wanted = {tx.txid for tx in txs}
        wait_until(lambda: set(node.rpc('getrawmempool')) == wanted, limit, f'a mempool of {len(wanted)} transactions')


class Transactions(AtTip):
    def test_what_is_announced_is_fetched_once_and_told_as_bitcoind_does(self):
        class ByTxid(FakePeer):
            by_wtxid = False
        node, chain, (one, other), coins = self.funded(FakePeer, ByTxid)
        stream = self.listener(node, chain, one)
        txs = [pay([coin], 50 * COIN - 1000, witness=[[b'w' * (i + 1)]]) for i, coin in enumerate(coins[:5])]
        one.announce_transactions(txs)
        self.wait_mempool(node, txs)
        got = stream.wait_count(3 * len(txs))
        told = [tx for tx in txs]
        order = [display for topic, body, _ in got if topic == b'hashtx' for display in [body.hex()]]
        told.sort(key=lambda tx: order.index(tx.txid))
        first = int.from_bytes(got[2][1][33:], 'little')
        self.assert_frames(got, [frame for i, tx in enumerate(told) for frame in (
            (b'hashtx', bytes.fromhex(tx.txid)), (b'rawtx', tx.raw),
            (b'sequence', bytes.fromhex(tx.txid) + b'A' + (first + i).to_bytes(8, 'little')))])
        other.announce_transactions(txs)
        one.announce_transactions(txs)
        more = pay([coins[5]], 50 * COIN - 1000, witness=[[b'more']])
        other.announce_transactions([more])
        self.wait_mempool(node, [*txs, more])
        self.assertEqual(sorted(one.asked_for), sorted(tx.wtxid_digest for tx in txs))
        self.assertEqual(other.asked_for, [more.digest])
        wait_until(lambda: node.rpc('getpeerinfo')[0]['last_transaction'] > 0, 10, 'the row')
        self.assertTrue(node.rpc('getpeerinfo')[0]['relaytxes'])
        # Mined: no R, as there.
        stream.take()
        one.announce(chain.mine(txs=[*txs, more], commit=True))
        got = stream.wait_for(lambda frames: harness.ends_block(frames, chain.tip))
        self.assert_frames(got, regtest.connect_frames(chain.tip) + regtest.tip_frames(chain.tip))
        self.assertEqual(node.rpc('getrawmempool'), [])

    def test_the_next_peer_is_asked_when_one_does_not_give_it(self):
        class Keeps(FakePeer):
            def give_transaction(self, connection, kind, digest):
                pass
        node, _, (keeps, lacks, gives), coins = self.funded(Keeps, FakePeer, FakePeer, args=['-peertimeout=3'])
        tx, other = (pay([coin], 50 * COIN - 1000) for coin in coins[:2])
        keeps.announce_transactions([tx])
        wait_until(lambda: keeps.asked_for, 20, 'the question')
        gives.announce_transactions([tx])
        self.wait_mempool(node, [tx])
        lacks.announce_transactions([other], take=False)
        wait_until(lambda: lacks.asked_for, 20, 'the question')
        gives.announce_transactions([other])
        self.wait_mempool(node, [tx, other])

    def test_children_wait_for_their_parents_and_fetch_them(self):
        node, chain, (peer,), coins = self.funded()
        parent = pay([coins[0]], 50 * COIN - 1000)
        child = pay([(parent.txid, 0)], 50 * COIN - 2000)
        grandchild = pay([(child.txid, 0)], 50 * COIN - 3000)
        peer.take_transactions([parent, child])
        peer.announce_transactions([grandchild])
        self.wait_mempool(node, [parent, child, grandchild])
        # More of them than are kept, without parents: they cost what is kept, and nothing else.
        strangers = [pay([(regtest.display(bytes([i, 1]) * 16), 0)], COIN) for i in range(200)]
        peer.announce_transactions(strangers)
        wait_until(lambda: len(peer.asked_for) >= 400, 20, 'the questions for parents')
        last = pay([coins[1]], 50 * COIN - 1000)
        peer.announce_transactions([last])
        self.wait_mempool(node, [parent, child, grandchild, last])
        # One whose parent comes in a block.
        mined = pay([coins[2]], 50 * COIN - 1000)
        waiting = pay([(mined.txid, 0)], 50 * COIN - 2000)
        peer.announce_transactions([waiting])
        wait_until(lambda: mined.digest in peer.asked_for, 20, 'the question for the parent')
        peer.announce(chain.mine(txs=[mined]))
        self.wait_mempool(node, [parent, child, grandchild, last, waiting])

    def test_replacement_expiry_and_size_limit_tell_of_removals(self):
        node, chain, (peer,), coins = self.funded(args=['-mempoolexpiry=2'])
        stream = self.listener(node, chain, peer, topics=(b'sequence',))
        first = pay([coins[0]], 50 * COIN - 1000)
        peer.announce_transactions([first])
        self.wait_mempool(node, [first])
        better = pay([coins[0]], 50 * COIN - 10_000)
        peer.announce_transactions([better])
        self.wait_mempool(node, [better])
        seen = stream.wait_for(lambda frames: any(body[32:33] == b'R' for _, body, _ in frames), what='a removal')
        removed = [body[:32].hex() for _, body, _ in seen if body[32:33] == b'R']
        self.assertEqual(removed, [first.txid])
        node.rpc('setmocktime', harness.MOCKTIME + 3 * 3600)
        late = pay([coins[1]], 50 * COIN - 1000)
        peer.announce_transactions([late])
        self.wait_mempool(node, [late])
        stream.wait_for(lambda frames: any(body[:33] == bytes.fromhex(better.txid) + b'R' for _, body, _ in frames),
                        what='the removal of what is too old')

    def assert_mempool_told(self, node, frames):
        """The frames are those of bitcoind, in its order and with its numbers, and tell what the mempool holds."""
        bodies, inside, number, tx = iter(frames), set(), 1, None
        for topic, body, _ in bodies:
            if topic == b'hashtx':
                tx = body
                topic, raw, _ = next(bodies)
                self.assertEqual((topic, regtest.parse_tx(regtest.Cursor(raw)).txid), (b'rawtx', tx.hex()))
                topic, body, _ = next(bodies)
                self.assertEqual((topic, body[:33]), (b'sequence', tx + b'A'))
                inside.add(tx.hex())
            else:
                self.assertEqual((topic, body[32:33]), (b'sequence', b'R'))
                inside.remove(body[:32].hex())
            self.assertEqual(int.from_bytes(body[33:], 'little'), number)
            number += 1
        now = node.rpc('getrawmempool', False, True)
        self.assertEqual((inside, number), (set(now['txids']), now['mempool_sequence']))

    def test_a_full_mempool_lets_go_of_the_cheapest_and_says_what_it_asks_for(self):
        node, chain, (peer,), coins = self.funded(args=['-maxmempool=5'])
        stream = self.listener(node, chain, peer, topics=(b'hashtx', b'rawtx', b'sequence'))
        before = node.resident_bytes()
        txs = [pay([coin], 50 * COIN - 200_000 - 20_000 * i, witness=[[b'w' * 390_000]]) for i, coin in enumerate(coins[:20])]
        for tx in txs:
            # One by one, so that their order is known.
            peer.announce_transactions([tx])
            wait_until(lambda tx=tx: tx.txid in node.rpc('getrawmempool'), 20, 'the transaction')
        info = node.rpc('getmempoolinfo')
        self.assertLessEqual(info['usage'], 5_000_000)
        self.assertEqual(info['maxmempool'], 5_000_000)
        self.assertLess(info['size'], len(txs))
        kept = set(node.rpc('getrawmempool'))
        self.assertEqual(kept, {tx.txid for tx in txs[-info['size']:]})
        frames = stream.wait_count(3 * len(txs) + len(txs) - info['size'])
        self.assert_mempool_told(node, frames)
        # The rate of the last that left, and the step for relay on top.
        weight = 4 * len(txs[0].stripped) + len(txs[0].raw) - len(txs[0].stripped)
        left = len(txs) - info['size'] - 1
        rate = (200_000 + 20_000 * left) * 1000 // -(-weight // 4) + 1000
        self.assertAlmostEqual(float(info['mempoolminfee']) * COIN, rate, delta=2)
        with self.assertRaises(harness.RpcError) as caught:
            node.rpc('sendrawtransaction', txs[0].raw.hex(), 0)
        self.assertIn('mempool min fee not met', caught.exception.message)
        self.assertLess(node.resident_bytes() - before, harness.memory(48))
        wait_until(lambda: peer.told_fee_filters()[-1] == round(float(info['mempoolminfee']) * COIN), 30, 'the new fee filter')

    def test_what_has_left_the_mempool_may_come_again(self):
        node, chain, (peer,), coins = self.funded(args=['-mempoolexpiry=1'])
        stream = self.listener(node, chain, peer, topics=(b'hashtx', b'rawtx', b'sequence'))
        first = pay([coins[0]], 50 * COIN - 1000)
        better = pay([coins[0]], 50 * COIN - 10_000)
        late = pay([coins[1]], 50 * COIN - 1000)
        for tx in (first, better):
            peer.announce_transactions([tx])
            self.wait_mempool(node, [tx])
        node.rpc('setmocktime', harness.MOCKTIME + 2 * 3600)
        peer.announce_transactions([late])
        self.wait_mempool(node, [late])
        peer.announce_transactions([first])
        self.wait_mempool(node, [late, first])
        # As there: what is replaced, or has been here too long, leaves before the newcomer is told of.
        self.assert_mempool_told(node, stream.wait_count(3 * 4 + 2))

    def test_what_a_block_has_is_not_handed_out_any_more(self):
        class Refuses(FakePeer):
            def is_valid(self, raw):
                return False
        node, chain, (peer,), coins = self.funded(Refuses, args=['-debug=net'])
        sent = [pay([coin], 50 * COIN - 1000) for coin in coins[:3]]
        for tx in sent:
            self.assertEqual(node.rpc('sendrawtransaction', tx.raw.hex(), 0), tx.txid)
        wait_until(lambda: len(peer.handed) == 3, 20, 'the transactions')
        # One is mined, and what another spends is spent.
        peer.announce(chain.mine(txs=[sent[0], pay([coins[1]], 50 * COIN - 5000)]))
        self.wait_tip(node, chain.tip)
        for tx in sent[:2]:
            self.wait_log(node, f'transaction {tx.txid} is not handed out any more: ')
        late = self.peer(peer.active[1:])
        node.rpc('addnode', f'127.0.0.1:{late.port}', 'add')
        wait_until(lambda: late.handed, 20, 'the one that is left')
        self.assertEqual(late.handed, [sent[2].raw])
        self.wait_mempool(node, [sent[2]])

    def test_a_transaction_is_handed_out_and_comes_back_from_a_node(self):
        node, _, (peer,), coins = self.funded()
        tx = pay([coins[0]], 50 * COIN - 1000)
        self.assertEqual(node.rpc('sendrawtransaction', tx.raw.hex(), 0), tx.txid)
        child = pay([(tx.txid, 0)], 50 * COIN - 2000)
        self.assertEqual(node.rpc('sendrawtransaction', child.raw.hex(), 0), child.txid)
        self.wait_mempool(node, [tx, child])
        self.assertEqual(peer.handed, [tx.raw, child.raw])
        self.assertEqual(node.rpc('sendrawtransaction', tx.raw.hex(), 0), tx.txid)
        with self.assertRaises(harness.RpcError) as caught:
            node.rpc('sendrawtransaction', pay([coins[0]], 51 * COIN).raw.hex(), 0)
        self.assertEqual(caught.exception.code, -26)
        with self.assertRaises(harness.RpcError) as caught:
            node.rpc('submitpackage', [tx.raw.hex(), child.raw.hex()])
        self.assertIn('-upstreamrpc', caught.exception.message)

    def test_a_node_that_asks_for_one_transaction_again_and_again(self):
        class Greedy(FakePeer):
            def on_inventory(self, connection, payload):
                connection.sendall(fake_peer.message('getdata', regtest.compact_size(20_000) + payload[1:] * 20_000))
        node, _, (peer,), coins = self.funded(Greedy)
        before = node.resident_bytes()
        tx = pay([coins[0]], 49 * COIN, witness=[[b'w' * 400_000]])
        node.rpc('sendrawtransaction', tx.raw.hex(), 0)
        self.wait_mempool(node, [tx])
        self.assertEqual(peer.handed, [tx.raw])
        self.assertLess(node.resident_bytes() - before, harness.memory(32))
        self.assertEqual(peer.accepted, 1)

    def test_a_node_that_asks_for_all_at_once_is_sent_more_than_may_wait(self):
        class Refuses(FakePeer):
            def is_valid(self, raw):
                return False
        node, _, (peer,), coins = self.funded(Refuses)
        txs = [pay([coin], 49 * COIN, witness=[[b'w' * 490_000]]) for coin in coins[:20]]
        self.assertGreater(sum(len(tx.raw) for tx in txs), 8 << 20)
        for tx in txs:
            node.rpc('sendrawtransaction', tx.raw.hex(), 0)
        late = self.peer(peer.active)
        before = node.resident_bytes()
        node.rpc('addnode', f'127.0.0.1:{late.port}', 'add')
        self.wait_mempool(node, txs, 40)
        self.assertEqual(sorted(late.handed), sorted(tx.raw for tx in txs))
        self.assertEqual(late.accepted, 1)
        self.assertEqual(peer.accepted, 1)
        self.assertLess(node.resident_bytes() - before, harness.memory(32))

    def test_what_no_node_takes_never_enters_the_mempool(self):
        class Refuses(FakePeer):
            def is_valid(self, raw):
                return False
        node, chain, (peer,), coins = self.funded(Refuses)
        stream = self.listener(node, chain, peer, topics=(b'rawtx',))
        tx = pay([coins[0]], 50 * COIN - 1000)
        self.assertEqual(node.rpc('sendrawtransaction', tx.raw.hex(), 0), tx.txid)
        # It has been asked for it, twice, and has it not.
        wait_until(lambda: peer.asked_for.count(regtest.sha256d(tx.raw)) >= 2, 20, 'the questions')
        self.assertEqual(node.rpc('getrawmempool'), [])
        self.assertEqual([frame for frame in stream.take() if frame[1] == tx.raw], [])
        peer.stop()
        wait_until(lambda: node.rpc('getconnectioncount') == 0, 20, 'no connection')
        with self.assertRaises(harness.RpcError) as caught:
            node.rpc('sendrawtransaction', pay([coins[1]], 50 * COIN - 1000).raw.hex(), 0)
        self.assertEqual((caught.exception.code, caught.exception.message),
                         (-9, 'The transaction was not sent: no node that takes transactions is connected'))

    def test_the_whole_mempool_is_asked_for_where_a_node_allows_it(self):
        class Allows(FakePeer):
            services = FakePeer.services | fake_peer.BLOOM
        _, _, (allows, other), _ = self.funded(Allows, FakePeer)
        wait_until(lambda: 'mempool' in allows.received, 20, 'the question')
        self.assertNotIn('mempool', other.received)

    def test_without_transactions(self):
        _, blocks = self.blocks(3)
        peer, talks = self.peer(blocks), self.peer(blocks, fake_peer.AnnouncesTransactions)
        node = self.follow(peer, talks, args=['-blocksonly'])
        self.wait_tip(node, blocks[-1])
        self.wait_log(node, f'Peer 127.0.0.1:{talks.port}: ', talks.reason)
        self.assertFalse(node.rpc('getpeerinfo')[0]['relaytxes'])
        self.assertEqual([name for name in peer.received if name in ('wtxidrelay', 'feefilter')], [])

    def test_nothing_enters_unseen_by_a_node_without_transactions(self):
        chain, blocks = self.blocks(regtest.MATURITY + 1)
        peer = self.peer(blocks)
        node = self.follow(peer, args=['-blocksonly', '-acceptnonstdtxn=1'])
        self.wait_tip(node, blocks[-1])
        with self.assertRaises(harness.RpcError) as caught:
            node.rpc('sendrawtransaction', pay([(blocks[0].txs[0].txid, 0)], 50 * COIN - 1000).raw.hex(), 0)
        self.assertEqual((caught.exception.code, caught.exception.message),
                         (-9, 'The transaction was not sent: with -blocksonly no transactions are handed to nodes'))
        self.assertEqual(node.rpc('getrawmempool'), [])

    def test_hostile_transactions(self):
        for kind in fake_peer.HOSTILE_AT_TIP:
            with self.subTest(kind=kind.__name__):
                chain, blocks = self.blocks(3)
                peer = self.peer(blocks)
                node = self.follow(peer)
                self.wait_tip(node, blocks[-1])
                node.stop()
                hostile = self.peer(blocks, kind, port=0)
                node.args.append(f'-connect=127.0.0.1:{hostile.port}')
                node.start()
                self.wait_log(node, f'Peer 127.0.0.1:{hostile.port}: ', kind.reason, 'Trying again in')
                peer.announce(chain.mine())
                self.wait_tip(node, chain.tip)


class CompactBlocks(AtTip):
    """Blocks at the tip, put together from the mempool."""

    def at_tip(self, *kinds, args=()):
        """As funded; the peers have been asked for compact blocks, and the first has given some transactions."""
        node, chain, peers, coins = self.funded(*kinds, args=args)
        for peer in peers:
            wait_until(lambda: (1, 2) in peer.compact_wishes, 20, 'the wish for compact blocks')
        txs = [pay([coin], 50 * COIN - 1000, witness=[[b'w']]) for coin in coins[:10]]
        peers[0].announce_transactions(txs)
        self.wait_mempool(node, txs)
        return node, chain, peers, coins, txs

    def test_a_block_is_put_together_from_the_mempool(self):
        node, chain, (peer,), coins, txs = self.at_tip()
        wait_until(lambda: node.rpc('getpeerinfo')[0]['bip152_hb_to'], 10, 'the row')
        stream = self.listener(node, chain, peer, topics=(b'rawblock',))
        given = len(peer.blocks_given)
        peer.announce_compact(chain.mine(txs=txs[:4]))
        self.wait_tip(node, chain.tip)
        unknown = pay([coins[11]], 50 * COIN - 1000, witness=[[b'unknown']])
        peer.announce_compact(chain.mine(txs=[*txs[4:6], unknown, *txs[6:]]))
        self.wait_tip(node, chain.tip)
        self.assertEqual(peer.places_asked_for, [[3]])
        peer.announce_compact(chain.mine())
        self.wait_tip(node, chain.tip)
        self.assertEqual(len(peer.blocks_given), given)
        got = stream.wait_for(lambda frames: frames and frames[-1][1] == chain.tip.raw)
        self.assertEqual(got[-1][1], chain.tip.raw)
        self.assertEqual(node.rpc('getrawmempool'), [])

    def test_what_cannot_be_put_together_is_fetched_whole_and_nobodys_fault(self):
        class GivesOthers(FakePeer):
            def give_block_transactions(self, connection, block, places):
                self.send_block_transactions(connection, block, [block.txs[0].raw for _ in places])
        node, chain, (peer,), coins, txs = self.at_tip(GivesOthers)
        given = len(peer.blocks_given)
        changes = (lambda ids: [ids[0], ids[0], *ids[2:]],  # two with the same short id
                   lambda ids: [ids[1], ids[0], *ids[2:]])  # those of others in the mempool
        for i, change in enumerate(changes):
            peer.announce_compact(chain.mine(txs=txs[3 * i:3 * i + 3]), change=change)
            self.wait_tip(node, chain.tip)
            self.assertEqual(len(peer.blocks_given), given + i + 1)
        peer.announce_compact(chain.mine(txs=[*txs[6:], pay([coins[11]], 50 * COIN - 1000)]))
        self.wait_tip(node, chain.tip)
        self.assertEqual(len(peer.blocks_given), given + 3)
        self.assertEqual(peer.accepted, 1)

    def test_an_invalid_block_passed_on_unchecked_says_nothing_against_its_peer(self):
        node, chain, (peer,), *_ = self.at_tip(FakePeer)
        accepted = peer.accepted
        bad = chain.build(outputs=[(5000 * COIN, regtest.OP_TRUE)])
        with peer.lock:
            peer.by_digest[bad.digest] = bad  # it never becomes part of its chain
        peer.broadcast(message('cmpctblock', fake_peer.compact_payload(bad)))
        self.wait_log(node, f'Peer 127.0.0.1:{peer.port}: ', bad.hash, 'passed on unchecked', 'bad-cb-amount')
        peer.announce_compact(chain.mine())
        self.wait_tip(node, chain.tip)
        self.assertEqual(peer.accepted, accepted)

    def test_an_invalid_block_and_one_that_cannot_be_put_together_behind_a_full_row(self):
        """The outcome of the first forgets the peer's best header, before that of the second comes."""
        class Holds(FakePeer):
            held = None

            def send_block(self, connection, block):
                if self.held is None:
                    super().send_block(connection, block)
                else:
                    self.held.append(block)
        for pause in (0.01, 0.03, 0.1):
            with self.subTest(pause=pause):
                node, chain, (peer,), *_ = self.at_tip(Holds)
                subsidy = (regtest.subsidy(chain.tip.height + 1), regtest.OP_TRUE)
                row = [chain.build(outputs=[subsidy, regtest.data_output(bytes(900_000))]) for _ in range(14)]
                bad = chain.build(outputs=[(22_000_000 * COIN, regtest.OP_TRUE)])
                mixed_up = chain.build()
                with peer.lock:
                    peer.by_digest.update({block.digest: block for block in (*row, bad, mixed_up)})
                mixed_up.txs = chain.build().txs
                peer.held = []
                for i, block in enumerate(row):
                    peer.broadcast(message('headers', fake_peer.headers_payload([block.raw[:80]])))
                    wait_until(lambda: len(peer.held) > i, 20, 'the question for a block')
                peer.held = None
                for block in row:
                    peer.broadcast(message('block', block.raw))
                peer.broadcast(message('cmpctblock', fake_peer.compact_payload(bad)))
                time.sleep(pause)
                peer.broadcast(message('cmpctblock', fake_peer.compact_payload(mixed_up)))
                # Whatever it was told of these, it follows.
                chain.tip = row[0]
                honest = FakePeer(port=harness.free_port())
                honest.set_tip(chain.mine(), [*peer.active[1:], row[0]])
                honest.start()
                self.addCleanup(honest.stop)
                node.rpc('addnode', f'127.0.0.1:{honest.port}', 'add')
                self.wait_tip(node, chain.tip)
                node.stop()

    def test_an_invalid_block_that_several_pass_on_unchecked_says_nothing_against_any(self):
        node, chain, peers, *_ = self.at_tip(FakePeer, FakePeer)
        accepted = [peer.accepted for peer in peers]
        bad = chain.build(outputs=[(5000 * COIN, regtest.OP_TRUE)])
        for peer in peers:
            with peer.lock:
                peer.by_digest[bad.digest] = bad  # it never becomes part of their chains
        peers[0].broadcast(message('cmpctblock', fake_peer.compact_payload(bad)))
        self.wait_log(node, f'Peer 127.0.0.1:{peers[0].port}: ', bad.hash, 'passed on unchecked')
        peers[1].broadcast(message('cmpctblock', fake_peer.compact_payload(bad)))
        # Told of later, and by those who waited for it from another.
        both = chain.build(outputs=[(5001 * COIN, regtest.OP_TRUE)])
        for peer in peers:
            with peer.lock:
                peer.by_digest[both.digest] = both
            peer.broadcast(message('cmpctblock', fake_peer.compact_payload(both)))
        for peer in peers:
            tip = chain.mine()
            for other in peers:
                other.set_tip(tip)
            peer.announce_compact(tip)
            self.wait_tip(node, tip)
        self.assertEqual([peer.accepted for peer in peers], accepted)
        self.assertEqual(node.rpc('getconnectioncount'), 2)

    def test_a_peer_that_gives_a_block_whole_instead_of_the_rest_is_fast_again_with_the_next(self):
        class GivesWhole(FakePeer):
            def give_block_transactions(self, connection, block, places):
                self.send_block(connection, block)
        node, chain, (peer,), coins, txs = self.at_tip(GivesWhole)
        given = len(peer.blocks_given)
        peer.announce_compact(chain.mine(txs=[*txs[:2], pay([coins[11]], 50 * COIN - 1000)]))
        self.wait_tip(node, chain.tip)
        self.assertEqual(len(peer.blocks_given), given)
        peer.announce_compact(chain.mine(txs=txs[2:4]))
        self.wait_tip(node, chain.tip)
        self.assertEqual(len(peer.blocks_given), given)

    def test_a_peer_that_keeps_the_rest_holds_up_nobody(self):
        class Keeps(FakePeer):
            def give_block_transactions(self, connection, block, places):
                pass
        node, chain, (keeps, other), coins, txs = self.at_tip(Keeps, FakePeer, args=['-peertimeout=3'])
        block = chain.mine(txs=[*txs, pay([coins[11]], 50 * COIN - 1000)])
        other.set_tip(block)
        keeps.announce_compact(block)
        wait_until(lambda: keeps.places_asked_for, 20, 'the question')
        other.announce_by_inv(block)
        self.wait_tip(node, block)
        self.wait_log(node, f'Peer 127.0.0.1:{keeps.port}: ', 'stalled: it was asked for')

    def test_a_block_that_a_node_says_it_lacks_is_not_asked_for_with_each_compact_block(self):
        class Lacks(FakePeer):
            def give_block_transactions(self, connection, block, places):
                connection.sendall(message('notfound', fake_peer.inventory_payload(fake_peer.BLOCK, [block.digest])))
        node, chain, (lacks, other), coins, txs = self.at_tip(Lacks, FakePeer)
        block = chain.mine(txs=[*txs, pay([coins[11]], 50 * COIN - 1000)])
        lacks.announce_compact(block)
        self.wait_log(node, f'Peer 127.0.0.1:{lacks.port}: does not have block {block.hash}')
        for i in range(10):
            lacks.announce_compact(block)
            lacks.broadcast(message('ping', bytes(8)))
            wait_until(lambda: lacks.received.count('pong') > i, 20, 'the answer')
        other.announce(block)
        self.wait_tip(node, block)
        # All that the first said has been dealt with by then.
        lacks.announce(chain.mine())
        self.wait_tip(node, chain.tip)
        self.assertEqual(len(lacks.places_asked_for), 1)

    def test_an_answer_of_the_wrong_length(self):
        class GivesTooMuch(FakePeer):
            def give_block_transactions(self, connection, block, places):
                self.send_block_transactions(connection, block, [tx.raw for tx in block.txs])
        node, chain, (wrong, honest), coins, txs = self.at_tip(GivesTooMuch, FakePeer)
        block = chain.mine(txs=[*txs, pay([coins[11]], 50 * COIN - 1000)])
        wrong.announce_compact(block)
        self.wait_log(node, f'Peer 127.0.0.1:{wrong.port}: ', 'more or fewer transactions of a block than it was asked for')
        honest.announce(block)
        self.wait_tip(node, block)


class Hostile(P2pTest):
    def test_each_fault_has_a_reason_and_the_honest_peer_is_followed(self):
        chain, blocks = self.blocks(200)
        hostile = [self.peer(blocks, kind) for kind in fake_peer.HOSTILE]
        honest = FakePeer(blocks, port=harness.free_port())
        node = self.follow(*hostile, honest, args=['-peertimeout=2'])
        self.wait_log(node, f'127.0.0.1:{honest.port}', 'connection refused: no node listens there')
        for peer in hostile:
            with self.subTest(kind=type(peer).__name__):
                self.wait_log(node, f'Peer 127.0.0.1:{peer.port}: ', peer.reason, 'Trying again in')
        # As of here whoever keeps blocks back has had its chance; those come from the honest one.
        honest.start()
        self.addCleanup(honest.stop)
        self.wait_tip(node, blocks[-1], 60)
        honest.announce(chain.mine())
        self.wait_tip(node, chain.tip)
        self.assertLess(node.resident_bytes(), harness.memory(300))
        # They were called again, later and later.
        for peer in hostile:
            with self.subTest(kind=type(peer).__name__):
                self.assertLessEqual(peer.accepted, 12)

    def test_headers_without_the_work_that_a_chain_must_have(self):
        """They are looked at and not kept; a chain with the work is kept, although it is as long."""
        chain, blocks = self.blocks(30)
        flood = self.peer(30_000, fake_peer.EndlessHeaders)
        node = self.follow(flood, args=['-minimumchainwork=f0000'])
        self.wait_log(node, f'127.0.0.1:{flood.port}', 'its chain, of height 30000, has less work', limit=60)
        self.assertEqual(node.rpc('getblockchaininfo')['headers'], 0)
        node.stop()
        # Enough for the first two thousand and some: they are asked for once more, and taken.
        node.args.remove('-minimumchainwork=f0000')
        node.args.append('-minimumchainwork=1500')
        flood.length = 5000
        node.start()
        wait_until(lambda: node.rpc('getblockchaininfo')['headers'] == 5000, 60, 'the headers')

    def test_headers_that_run_ahead_of_blocks(self):
        """Where headers cost nothing they are taken as far as blocks follow; the peer has none, and is left."""
        chain, blocks = self.blocks(10)
        flood = self.peer(60_000, fake_peer.EndlessHeaders)
        honest = self.peer(blocks)
        node = self.follow(flood, honest, args=['-peertimeout=3'])
        self.wait_tip(node, blocks[-1])
        self.wait_log(node, f'127.0.0.1:{flood.port}', 'stalled: it was asked for', limit=60)
        self.assertLessEqual(node.rpc('getblockchaininfo')['headers'], 52_000)
        honest.announce(chain.mine())
        self.wait_tip(node, chain.tip)


class OddNodes(P2pTest):
    def test_a_node_without_the_blocks_of_its_chain_is_named_and_asked_less_and_less(self):
        class Lacking(FakePeer):
            asked = ()

            def on_get_data(self, connection, payload):
                self.asked = [*self.asked, *(payload[at:at + 32] for at in range(5, len(payload), 36))]
                connection.sendall(message('notfound', payload))
        chain, blocks = self.blocks(100)
        lacking, whole = self.peer(blocks, Lacking), FakePeer(blocks, port=harness.free_port())
        node = self.follow(lacking, whole)
        self.wait_log(node, f'Peer 127.0.0.1:{lacking.port}: does not have block', 'of its own chain')
        whole.start()
        self.addCleanup(whole.stop)
        self.wait_tip(node, blocks[-1], 60)
        self.assertEqual(node.rpc('getconnectioncount'), 2)
        for tip in (chain.mine() for _ in range(3)):
            for peer in (lacking, whole):
                peer.announce(tip)
            self.wait_tip(node, tip)
        # Pauses of 5, 10, 20 seconds and so on, and a start of the honest one within few of them.
        self.assertLessEqual(max(lacking.asked.count(digest) for digest in lacking.asked), 5)

    def test_headers_that_do_not_connect_start_no_second_download(self):
        strangers = regtest.Chain(harness.CHAIN_START + 7)
        first = strangers.mine()
        strange = [strangers.mine() for _ in range(5)]
        self.assertEqual(strange[0].raw[4:36], first.digest)

        class Talkative(FakePeer):
            def on_get_headers(self, connection, payload):
                for block in strange:
                    self.send_headers(connection, [block.raw[:80]])
                super().on_get_headers(connection, payload)
        chain, blocks = self.blocks(50)
        peer = self.peer(blocks, Talkative)
        node = self.follow(peer)
        self.wait_tip(node, blocks[-1])
        self.assertEqual(peer.received.count('getheaders'), 1)
        peer.announce(chain.mine())
        self.wait_tip(node, chain.tip)
        self.assertEqual(peer.accepted, 1)


class FirstErrors(P2pTest):
    """What newcomers get wrong: one line each, with the remedy."""

    def test_the_rpc_port(self):
        other = self.daemon()
        node = self.daemon(source=f'-connect=127.0.0.1:{other.rpc_port}')
        line = self.wait_log(node, f'Peer 127.0.0.1:{other.rpc_port}: ')
        self.assertIn('RPC', line)

    def test_a_node_of_another_chain(self):
        for kind, remedy in ((fake_peer.OtherChain, 'give -chain=main, or another -connect'),
                             (fake_peer.SilentOtherChain, 'a node of another chain than regtest')):
            peer = self.peer(kind=kind)
            node = self.follow(peer)
            self.assertIn(remedy, self.wait_log(node, f'Peer 127.0.0.1:{peer.port}: '))

    def test_a_node_that_does_not_listen(self):
        port = harness.free_port()
        node = self.daemon(source=f'-connect=127.0.0.1:{port}')
        line = self.wait_log(node, f'Peer 127.0.0.1:{port}: ')
        self.assertIn('connection refused: no node listens there; is it running, and with -listen=1?', line)
        # One line, however often it is tried.
        peer = FakePeer(port=port).start()
        self.addCleanup(peer.stop)
        wait_until(lambda: node.rpc('getconnectioncount') == 1, 20, 'the connection')
        lines = [row for row in node.console().splitlines() if 'connection refused' in row]
        self.assertEqual(len(lines), 1, lines)

    def test_a_name_that_is_not_found(self):
        node = self.daemon(source='-connect=no-such-host.invalid')
        self.wait_log(node, 'Peer no-such-host.invalid:18444: ', 'the host is not found')

    def test_a_node_given_by_its_name(self):
        _, blocks = self.blocks(3)
        peer = self.peer(blocks)
        node = self.daemon(f'-connect=localhost:{peer.port}', source=None)
        self.wait_tip(node, blocks[-1])

    def test_a_chain_that_an_operator_calls_invalid(self):
        """That is not the node's fault: it is followed again soon after the operator takes it back."""
        chain, blocks = self.blocks(3)
        peer = self.peer(blocks)
        node = self.follow(peer)
        self.wait_tip(node, blocks[-1])
        node.rpc('invalidateblock', blocks[-1].hash)
        line = self.wait_log(node, 'its chain has a block that is invalid here')
        self.assertIn('Trying again in 0.5 s', line)
        node.rpc('reconsiderblock', blocks[-1].hash)
        block = chain.mine()
        peer.announce(block)
        self.wait_tip(node, block)

    def test_what_a_node_says_of_itself_beyond_all_bounds(self):
        peer = self.peer(kind=fake_peer.Boastful)
        node = self.follow(peer)
        row, = wait_until(lambda: [r for r in node.rpc('getpeerinfo') if r['bytesrecv_per_msg'].get('feefilter')],
                          10, 'the peer')
        self.assertEqual((row['timeoffset'], row['minfeefilter']), (0, 0))


class Lag(P2pTest):
    def test_a_lag_shows(self):
        _, blocks = self.blocks(30)
        peer = self.peer(blocks, fake_peer.Stalling)
        node = self.follow(peer)

        def following():
            return node.rpc('getblockpubinfo')['following']
        wait_until(lambda: following()['seconds_behind'] >= 1, 20, 'the lag')
        about = following()
        self.assertEqual((about['nodes'], about['connected'], about['best_height'], about['blocks_behind']), (1, 1, 30, 30))
        self.assertGreater(about['blocks_in_flight'], 0)
        chain = node.rpc('getblockchaininfo')
        self.assertEqual((chain['headers'], chain['blocks']), (30, 0))
        row, = node.rpc('getpeerinfo')
        self.assertEqual((row['synced_headers'], row['synced_blocks']), (30, 0))
        self.assertEqual(row['inflight'], list(range(1, len(row['inflight']) + 1)))
        self.wait_log(node, 'Following: height 0 of 30 (0.0%)')
        peer.stop()
        honest = self.peer(blocks, port=peer.port)
        self.wait_tip(node, blocks[-1])
        about = wait_until(lambda: (a := following())['blocks_behind'] == 0 and a, 20, 'no lag')
        self.assertEqual((about['seconds_behind'], about['blocks_received'], about['sessions']), (0, 30, 2))
        honest.stop()
        about = wait_until(lambda: (a := following())['seconds_alone'] >= 1 and a, 20, 'no node')
        self.assertEqual((about['nodes'], about['connected'], about['faulty']), (1, 0, 0))
        self.assertGreaterEqual(about['lost'], 2)


if __name__ == '__main__':
    main()
