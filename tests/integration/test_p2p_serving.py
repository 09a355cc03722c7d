# SPDX-License-Identifier: MIT
"""Serving blocks to peers (-listen): what indexers ask for, in the order asked, and nothing that they do not know."""
import os
import socket
import struct
import time

import harness
import p2p_client
import regtest
from fake_peer import FakePeer, compact_payload, headers_payload, inventory_payload, message, version_payload
from harness import IntegrationTest, main, wait_until
from p2p_client import BLOCK, COMPACT, TX, WITNESS_FLAG, WTX, PeerClient, items_of

NETWORK, WITNESS, LIMITED = 1, 8, 1 << 10
COIN = 100_000_000
GENESIS = regtest.GENESIS.digest


class ServingTest(IntegrationTest):
    def serving(self, *args, **kwargs):
        daemon = self.daemon('-listen=1', '-bind=127.0.0.1', f'-port={self.port_for()}', *args, **kwargs)
        daemon.p2p_port = self.port
        return daemon

    def port_for(self):
        self.port = harness.free_port()
        return self.port

    def filled(self, count, *args, **kwargs):
        daemon = self.serving(*args, **kwargs)
        chain = self.chain()
        blocks = [regtest.GENESIS]
        for _ in range(count):
            blocks.append(chain.mine())
            daemon.submit(blocks[-1])
        return daemon, chain, blocks

    def imported(self, count):
        """As filled, for many."""
        chain = self.chain()
        blocks = [regtest.GENESIS] + [chain.mine() for _ in range(count)]
        path = os.path.join(self.temporary_directory(), 'blocks.dat')
        with open(path, 'wb') as file:
            file.writelines(regtest.record(block.raw) for block in blocks)
        daemon = self.serving(f'-loadblock={path}', topics=())
        wait_until(lambda: daemon.rpc('getblockcount') == count, 60, 'the import')
        return daemon, blocks

    def client(self, daemon, **kwargs):
        client = PeerClient(daemon.p2p_port, **kwargs)
        self.addCleanup(client.close)
        return client

    def wait_log(self, daemon, *texts):
        wait_until(lambda: any(all(t in line for t in texts) for line in daemon.console().splitlines()), 30, f'a line with {texts}')


class Serving(ServingTest):
    def test_headers_by_locator_and_stop(self):
        daemon, chain, blocks = self.filled(30)
        peer = self.client(daemon)
        raw = [block.raw[:80] for block in blocks]
        unknown = b'\x11' * 32
        self.assertEqual(peer.headers([GENESIS]), raw[1:])
        self.assertEqual(peer.headers([blocks[10].digest, GENESIS]), raw[11:])
        self.assertEqual(peer.headers([unknown, blocks[10].digest]), raw[11:])
        self.assertEqual(peer.headers([unknown]), raw[1:])
        self.assertEqual(peer.headers([blocks[10].digest], blocks[12].digest), raw[11:13])
        self.assertEqual(peer.headers([blocks[-1].digest]), [])
        self.assertEqual(peer.headers([], blocks[7].digest), [raw[7]])
        self.assertEqual(peer.headers([], unknown), [])
        # A branch that left the chain: the locator's next hash counts.
        stale = blocks[-1]
        branch = chain.branch(blocks[-2], 2)
        for block in branch:
            daemon.rpc('submitblock', block.hex)
        wait_until(lambda: daemon.rpc('getbestblockhash') == branch[-1].hash)
        peer.synchronize()
        self.assertEqual(peer.headers([stale.digest, blocks[-2].digest]), [b.raw[:80] for b in branch])
        self.assertEqual(peer.headers([], stale.digest), [stale.raw[:80]])

    def test_two_thousand_headers_at_most(self):
        daemon, blocks = self.imported(2050)
        peer = self.client(daemon)
        first = peer.headers([GENESIS])
        self.assertEqual(first, [block.raw[:80] for block in blocks[1:2001]])
        self.assertEqual(peer.headers([blocks[2000].digest]), [block.raw[:80] for block in blocks[2001:]])
        # And five hundred hashes, with a hint to ask for more behind the last of these.
        peer.send('getblocks', p2p_client.get_headers([GENESIS]))
        told = items_of(peer.expect('inv').payload)
        self.assertEqual(told, [(BLOCK, block.digest) for block in blocks[1:501]])
        self.assertEqual(peer.blocks([blocks[500].digest]), [blocks[500].raw])
        self.assertEqual(items_of(peer.expect('inv').payload), [(BLOCK, blocks[-1].digest)])
        peer.send('getblocks', p2p_client.get_headers([blocks[500].digest], blocks[510].digest))
        self.assertEqual(items_of(peer.expect('inv').payload), [(BLOCK, block.digest) for block in blocks[501:510]])

    def test_blocks_come_in_the_order_asked_with_witness_or_without(self):
        daemon, chain, blocks = self.filled(3)
        coins = chain.fund(daemon.submit, 4, regtest.FREE_WITNESS)
        heavy = chain.mine(txs=[regtest.spend(*coin, witness=[[os.urandom(200_000)]]) for coin in coins])
        daemon.submit(heavy)
        peer = self.client(daemon)
        wanted = [heavy, blocks[2], heavy, regtest.GENESIS, blocks[1], chain.tip]
        self.assertEqual(peer.blocks([b.digest for b in wanted]), [b.raw for b in wanted])
        stripped = heavy.raw[:81] + b''.join(tx.stripped for tx in heavy.txs)
        self.assertEqual(peer.blocks([heavy.digest, blocks[1].digest], BLOCK), [stripped, blocks[1].raw])
        self.assertEqual(peer.blocks([heavy.digest], COMPACT), [heavy.raw])
        # What is not here is named at the end.
        unknown = b'\x22' * 32
        peer.send('getdata', inventory_payload(BLOCK, [unknown, blocks[1].digest]))
        self.assertEqual(peer.expect('block').payload, blocks[1].raw)
        self.assertEqual(items_of(peer.expect('notfound').payload), [(BLOCK, unknown)])
        # Nor is what was never valid.
        bad = chain.build(outputs=[(51 * COIN * 10, regtest.OP_TRUE)])
        daemon.rpc('submitblock', bad.hex)
        peer.send('getdata', inventory_payload(BLOCK | WITNESS_FLAG, [bad.digest]))
        self.assertEqual(items_of(peer.expect('notfound').payload), [(BLOCK | WITNESS_FLAG, bad.digest)])

    def test_new_blocks_by_inv_or_by_headers(self):
        daemon, chain, blocks = self.filled(5)
        plain, modern = self.client(daemon), self.client(daemon)
        modern.send('sendheaders')
        stranger = self.client(daemon)
        stranger.send('sendheaders')
        for peer in (plain, modern):
            peer.headers([blocks[-1].digest])
        stranger.synchronize()
        block = chain.mine()
        daemon.submit(block)
        self.assertEqual(items_of(plain.expect('inv').payload), [(BLOCK, block.digest)])
        self.assertEqual(p2p_client.headers_of(modern.expect('headers').payload), [block.raw[:80]])
        # Whoever is not known to have the parent is told the hash.
        self.assertEqual(items_of(stranger.expect('inv').payload), [(BLOCK, block.digest)])
        # What can be asked for has been said: at once.
        self.assertEqual(modern.blocks([block.digest]), [block.raw])
        # A reorganization of three blocks: all headers in one message; the tip alone by inv.
        branch = chain.branch(blocks[4], 3)
        for new in branch:
            daemon.rpc('submitblock', new.hex)
        self.assertEqual(p2p_client.headers_of(modern.expect('headers').payload), [b.raw[:80] for b in branch])
        self.assertEqual(items_of(plain.expect('inv').payload), [(BLOCK, branch[-1].digest)])

    def test_a_pruned_store_says_so(self):
        daemon = self.serving('-prune=1', '-fastprune', topics=())
        peer = self.client(daemon)
        self.assertEqual(peer.services, WITNESS | LIMITED)
        self.assertEqual(daemon.rpc('getnetworkinfo')['localservicesnames'], ['WITNESS', 'NETWORK_LIMITED'])
        whole = self.serving()
        self.assertEqual(self.client(whole).services, NETWORK | WITNESS | LIMITED)

    def test_a_store_that_began_at_the_tip(self):
        """All headers, the blocks that are here, and the services that fit."""
        chain = self.chain()
        blocks = [regtest.GENESIS] + [chain.mine() for _ in range(400)]
        node = FakePeer(blocks[1:]).start()
        self.addCleanup(node.stop)
        daemon = self.serving('-startat=tip', f'-connect=127.0.0.1:{node.port}', source=None, topics=())
        wait_until(lambda: daemon.rpc('getbestblockhash') == blocks[-1].hash, 30)
        daemon.stop()
        daemon.start()  # what it has told of already is not told of again
        peer = self.client(daemon)
        self.assertEqual(peer.services, WITNESS | LIMITED)
        self.assertEqual(peer.headers([GENESIS]), [block.raw[:80] for block in blocks[1:]])
        peer.send('getdata', inventory_payload(BLOCK | WITNESS_FLAG, [blocks[10].digest, blocks[-1].digest]))
        self.assertEqual(peer.expect('block').payload, blocks[-1].raw)
        self.assertEqual(items_of(peer.expect('notfound').payload), [(BLOCK | WITNESS_FLAG, blocks[10].digest)])
        peer.send('getblocks', p2p_client.get_headers([blocks[-3].digest]))
        self.assertEqual(items_of(peer.expect('inv').payload), [(BLOCK, block.digest) for block in blocks[-2:]])

    def test_blocks_that_were_pruned(self):
        chain = self.chain()
        daemon = self.serving('-prune=1', '-fastprune', topics=())
        blocks = [chain.mine_bytes(120_000) for _ in range(450)]
        path = os.path.join(self.temporary_directory(), 'blocks.dat')
        with open(path, 'wb') as file:
            file.writelines(regtest.record(block.raw) for block in blocks)
        daemon.stop()
        daemon.start(f'-loadblock={path}', limit=60)
        wait_until(lambda: daemon.rpc('getblockcount') == len(blocks), 60, 'the import')
        pruned_to = daemon.rpc('pruneblockchain', 150)
        self.assertGreater(pruned_to, 0)
        peer = self.client(daemon)
        peer.send('getdata', inventory_payload(BLOCK | WITNESS_FLAG, [blocks[0].digest, blocks[-1].digest]))
        self.assertEqual(peer.expect('block').payload, blocks[-1].raw)
        self.assertEqual(items_of(peer.expect('notfound').payload), [(BLOCK | WITNESS_FLAG, blocks[0].digest)])
        # Who was written before notfound is not left waiting.
        old = self.client(daemon, protocol=70001)
        old.send('getdata', inventory_payload(BLOCK, [blocks[0].digest]))
        old.wait_end()


class Transactions(ServingTest):
    def funded(self, *args):
        daemon, chain, _ = self.filled(0, *args)
        return daemon, chain, chain.fund(daemon.submit, 6, regtest.FREE_WITNESS)

    @staticmethod
    def pay(coin, fee):
        txid, n, amount = coin
        return regtest.Tx([(txid, n, b'', 0xfffffffd)], [(amount - fee, regtest.FREE_WITNESS)], [[b'w' * 50]])

    def test_they_are_announced_as_each_peer_wants_and_served(self):
        daemon, chain, coins = self.funded('-acceptnonstdtxn=1')
        by_txid = self.client(daemon)
        by_wtxid = self.client(daemon, before_verack=['wtxidrelay', 'sendaddrv2'])
        self.assertIn('wtxidrelay', by_wtxid.names)
        self.assertNotIn('wtxidrelay', by_txid.names)
        silent = self.client(daemon, relay=False)
        frugal = self.client(daemon)
        frugal.send('feefilter', struct.pack('<q', 50_000))
        for peer in (silent, frugal):
            peer.synchronize()
        cheap, dear = self.pay(coins[0], 1_000), self.pay(coins[1], 100_000)
        for tx in (cheap, dear):
            daemon.rpc('sendrawtransaction', tx.raw.hex(), 0)
        told = []
        while len(told) < 2:
            told += items_of(by_txid.expect('inv').payload)
        self.assertCountEqual(told, [(TX, cheap.digest), (TX, dear.digest)])
        told = []
        while len(told) < 2:
            told += items_of(by_wtxid.expect('inv').payload)
        self.assertCountEqual(told, [(WTX, cheap.wtxid_digest), (WTX, dear.wtxid_digest)])
        self.assertEqual(items_of(frugal.expect('inv').payload), [(TX, dear.digest)])
        self.assertEqual(silent.synchronize(), [])

        by_txid.send('getdata', inventory_payload(TX, [cheap.digest]))
        self.assertEqual(by_txid.expect('tx').payload, cheap.stripped)
        by_txid.send('getdata', inventory_payload(TX | WITNESS_FLAG, [dear.digest, b'\x33' * 32]))
        self.assertEqual(by_txid.expect('tx').payload, dear.raw)
        self.assertEqual(items_of(by_txid.expect('notfound').payload), [(TX | WITNESS_FLAG, b'\x33' * 32)])
        by_wtxid.send('getdata', inventory_payload(WTX, [cheap.wtxid_digest]))
        self.assertEqual(by_wtxid.expect('tx').payload, cheap.raw)
        # Mined, they are gone.
        daemon.submit(chain.mine(txs=[cheap, dear], outputs=[(regtest.subsidy(chain.tip.height + 1), regtest.OP_TRUE)]))
        by_wtxid.expect('inv')
        by_wtxid.send('getdata', inventory_payload(WTX, [cheap.wtxid_digest]))
        self.assertEqual(items_of(by_wtxid.expect('notfound').payload), [(WTX, cheap.wtxid_digest)])

    def test_nothing_is_taken_from_who_comes(self):
        daemon, chain, coins = self.funded('-acceptnonstdtxn=1')
        tx, tip = self.pay(coins[0], 1_000), chain.tip
        block = chain.mine()
        peer = self.client(daemon, before_verack=['wtxidrelay'])
        said = [('inv', inventory_payload(WTX, [tx.wtxid_digest])), ('tx', tx.raw), ('inv', inventory_payload(BLOCK, [block.digest])),
                ('headers', headers_payload([block.raw[:80]])), ('block', block.raw), ('cmpctblock', compact_payload(block)),
                ('blocktxn', block.digest + b'\1' + block.txs[0].raw), ('notfound', inventory_payload(WTX, [tx.wtxid_digest])),
                ('addr', b'\1' + bytes(30)), ('getblocktxn', tip.digest + b'\2\xfe\xff\xff\xff\xff\xff'), ('unheard-of', b'x' * 5)]
        for name, payload in said:
            peer.send(name, payload)
        self.assertEqual(peer.synchronize(), [])
        self.assertEqual((daemon.rpc('getrawmempool'), daemon.rpc('getbestblockhash')), ([], tip.hash))
        wait_until(lambda: daemon.rpc('getpeerinfo')[0]['bytesrecv_per_msg'].get('block') == 24 + len(block.raw), 10, 'the row')

    def test_one_large_transaction_again_and_again(self):
        daemon, _, coins = self.funded('-acceptnonstdtxn=1')
        txid, n, amount = coins[0]
        tx = regtest.Tx([(txid, n, b'', 0xfffffffd)], [(amount - 1_000_000, regtest.FREE_WITNESS)], [[b'w' * 1_000_000]])
        daemon.rpc('sendrawtransaction', tx.raw.hex(), 0)
        before = daemon.resident_bytes()
        peer = self.client(daemon, receive_buffer=1 << 16)
        peer.send('getdata', inventory_payload(TX | WITNESS_FLAG, [tx.digest] * 1000))
        honest = self.client(daemon)
        honest.send('getdata', inventory_payload(TX | WITNESS_FLAG, [tx.digest]))
        self.assertEqual(honest.expect('tx').payload, tx.raw)
        self.assertLess(daemon.resident_bytes() - before, harness.memory(16))

    def test_the_whole_mempool_for_who_has_the_permission(self):
        daemon, _, coins = self.funded('-acceptnonstdtxn=1', '-whitelist=mempool@127.0.0.1')
        txs = [self.pay(coin, 10_000) for coin in coins]
        for tx in txs:
            daemon.rpc('sendrawtransaction', tx.raw.hex(), 0)
        peer = self.client(daemon)
        peer.send('mempool')
        self.assertCountEqual(items_of(peer.expect('inv').payload), [(TX, tx.digest) for tx in txs])
        row, = daemon.rpc('getpeerinfo')
        self.assertEqual(row['permissions'], ['mempool'])

    def test_without_it_the_question_ends_the_connection(self):
        daemon, _, _ = self.filled(1)
        peer = self.client(daemon)
        peer.send('mempool')
        peer.wait_end()
        self.wait_log(daemon, 'is left: it asked for the mempool, for which it needs that permission')


class Indexers(ServingTest):
    """Clients as others have written them, by what they say and what they bear."""

    def test_an_old_electrs_is_told_nothing_that_would_end_it(self):
        """It speaks version 70001, and ends at any message but these."""
        daemon, chain, blocks = self.filled(40)
        known = {'version', 'verack', 'inv', 'headers', 'block', 'ping'}
        peer = self.client(daemon, protocol=70001, relay=False)
        have = [regtest.GENESIS.digest]
        index = []

        def catch_up():
            while True:
                headers = peer.headers([have[-1]])
                if not headers:
                    return
                hashes = [regtest.sha256d(header) for header in headers]
                for at in range(0, len(hashes), 10):
                    index.extend(peer.blocks(hashes[at:at + 10]))
                have.extend(hashes)
        catch_up()
        for _ in range(3):
            block = chain.mine()
            blocks.append(block)
            daemon.submit(block)
            self.assertEqual(items_of(peer.expect('inv').payload), [(BLOCK, block.digest)])
            catch_up()
        self.assertEqual(index, [block.raw for block in blocks[1:]])
        self.assertLessEqual(set(peer.names), known)

    def test_nothing_unasked_is_said_to_who_says_nothing_of_itself(self):
        daemon, chain, blocks = self.filled(3)
        for protocol in (70001, 70012, 70015, 70016):
            with self.subTest(protocol=protocol):
                peer = self.client(daemon, protocol=protocol)
                peer.headers([blocks[-1].digest])
                block = chain.mine()
                blocks.append(block)
                daemon.submit(block)
                peer.expect('inv')
                self.assertLessEqual(set(peer.names), {'version', 'verack', 'inv', 'headers', 'block', 'ping'})

    def test_an_nbxplorer_like_sync(self):
        """Headers with a long locator, then batches of ten blocks with witness, asked for ahead; sendheaders; pings."""
        daemon, chain, blocks = self.filled(120, '-whitelist=127.0.0.1')
        peer = self.client(daemon, protocol=70015)
        peer.send('sendheaders')
        peer.send('getaddr')
        headers = peer.headers([GENESIS])
        hashes = [regtest.sha256d(header) for header in headers]
        self.assertEqual(hashes, [block.digest for block in blocks[1:]])
        for at in range(0, 120, 10):
            peer.send('getdata', inventory_payload(BLOCK | WITNESS_FLAG, hashes[at:at + 10]))
        self.assertEqual([peer.expect('block').payload for _ in hashes], [block.raw for block in blocks[1:]])
        block = chain.mine()
        daemon.submit(block)
        self.assertEqual(p2p_client.headers_of(peer.expect('headers').payload), [block.raw[:80]])
        row, = daemon.rpc('getpeerinfo')
        self.assertEqual(row['permissions'], ['noban', 'relay', 'mempool', 'download'])

    def test_what_the_rpc_shows(self):
        daemon, _, blocks = self.filled(3, '-whitebind=noban,relay@127.0.0.1:%d' % harness.free_port())
        peer = self.client(daemon)
        peer.headers([blocks[-1].digest])
        peer.blocks([blocks[1].digest])
        peer.synchronize()
        wait_until(lambda: 'block' in daemon.rpc('getpeerinfo')[0]['bytessent_per_msg'])
        row, = daemon.rpc('getpeerinfo')
        self.assertEqual((row['inbound'], row['connection_type'], row['version'], row['subver'], row['relaytxes']),
                         (True, 'inbound', 70016, '/fake:1.0/?', True))
        self.assertEqual(row['addr'], '127.0.0.1:%d' % peer.sock.getsockname()[1])
        self.assertEqual(row['addrbind'], f'127.0.0.1:{daemon.p2p_port}')
        self.assertEqual(row['synced_headers'], 3)
        self.assertEqual(row['bytessent_per_msg']['block'], 24 + len(blocks[1].raw))
        self.assertEqual(row['bytesrecv_per_msg']['verack'], 24)
        self.assertEqual(daemon.rpc('getconnectioncount'), 1)
        info = daemon.rpc('getnetworkinfo')
        self.assertEqual((info['connections'], info['connections_in'], info['connections_out']), (1, 1, 0))
        self.assertEqual(info['localaddresses'][0], {'address': '127.0.0.1', 'port': daemon.p2p_port, 'score': 2})
        totals = daemon.rpc('getnettotals')
        self.assertGreaterEqual(totals['totalbytessent'], row['bytessent'])
        self.assertGreaterEqual(totals['totalbytesrecv'], row['bytesrecv'])
        peer.close()
        wait_until(lambda: daemon.rpc('getconnectioncount') == 0)
        self.assertGreaterEqual(daemon.rpc('getnettotals')['totalbytessent'], totals['totalbytessent'])

    def test_operators_steer_those_that_came_too(self):
        daemon, _, _ = self.filled(1)
        first, second = self.client(daemon), self.client(daemon)
        wait_until(lambda: daemon.rpc('getconnectioncount') == 2)
        rows = daemon.rpc('getpeerinfo')
        daemon.rpc('ping')
        for peer in (first, second):
            peer.send('pong', peer.expect('ping').payload)
        daemon.rpc('disconnectnode', rows[0]['addr'])
        first.wait_end()
        daemon.rpc('disconnectnode', '', rows[1]['id'])
        second.wait_end()
        wait_until(lambda: daemon.rpc('getconnectioncount') == 0)
        third = self.client(daemon)
        daemon.rpc('setban', '127.0.0.0/8', 'add')
        third.wait_end()
        self.client(daemon, shake_hands=False).wait_end()
        self.wait_log(daemon, 'came and is banned: refused')
        daemon.rpc('clearbanned')
        # One that is still shaking hands has to go, too.
        early = self.client(daemon, shake_hands=False)
        early.send('version', version_payload(0))
        early.expect('version')
        daemon.rpc('setban', '127.0.0.1', 'add')
        early.wait_end()
        daemon.rpc('clearbanned')
        fourth = self.client(daemon)
        daemon.rpc('setnetworkactive', False)
        fourth.wait_end()
        self.client(daemon, shake_hands=False).wait_end()
        daemon.rpc('setnetworkactive', True)
        self.client(daemon).headers([GENESIS])

    def test_bans_do_not_concern_who_has_noban(self):
        daemon, _, _ = self.filled(1, '-whitelist=noban@127.0.0.1')
        peer = self.client(daemon)
        daemon.rpc('setban', '127.0.0.1', 'add')
        peer.synchronize()
        self.client(daemon).headers([GENESIS])

    def test_another_blockpub_follows_it(self):
        served, chain, blocks = self.filled(30)
        follower = self.daemon(f'-connect=127.0.0.1:{served.p2p_port}', source=None)
        wait_until(lambda: follower.rpc('getbestblockhash') == blocks[-1].hash)
        block = chain.mine()
        served.submit(block)
        wait_until(lambda: follower.rpc('getbestblockhash') == block.hash)

    def test_one_that_is_told_to_follow_itself_says_so(self):
        port = harness.free_port()
        daemon = self.daemon(f'-connect=127.0.0.1:{port}', '-listen=1', '-bind=127.0.0.1', f'-port={port}', source=None)
        self.wait_log(daemon, 'it is this very daemon')


class Limits(ServingTest):
    def test_a_full_house_gives_up_who_is_least_settled(self):
        daemon, _, blocks = self.filled(1, '-maxconnections=4')
        old = [self.client(daemon, source=f'127.{i}.0.1') for i in range(2)]
        young = [self.client(daemon, source='127.7.0.1') for _ in range(2)]
        wait_until(lambda: daemon.rpc('getconnectioncount') == 4)
        # Of those that came last the last, and what takes its place is the last then.
        other = self.client(daemon, source='127.8.0.1')
        young.pop().wait_end()
        self.wait_log(daemon, 'and 4 are here already (-maxconnections): 127.7.0.1:', 'has to go for it')
        # Who does not shake hands goes before all others.
        silent = self.client(daemon, source='127.9.0.1', shake_hands=False)
        other.wait_end()
        last = self.client(daemon, source='127.10.0.1')
        silent.wait_end()
        for peer in (*old, *young, last):
            self.assertEqual(peer.headers([GENESIS]), [blocks[1].raw[:80]])
        self.assertEqual(daemon.rpc('getconnectioncount'), 4)

    def test_a_crowd_of_one_network_pushes_out_itself(self):
        daemon, _, blocks = self.filled(1, '-maxconnections=4')
        old = [self.client(daemon, source=f'127.{i}.0.1') for i in range(2)]
        self.client(daemon, source='127.7.0.1')
        guest = self.client(daemon, source='127.8.0.1')
        wait_until(lambda: daemon.rpc('getconnectioncount') == 4)
        for i in range(50):
            self.client(daemon, source=f'127.7.1.{i + 1}')
        for peer in (*old, guest):
            self.assertEqual(peer.headers([GENESIS]), [blocks[1].raw[:80]])

    def test_a_crowd_pushes_out_none_who_are_shaking_hands(self):
        daemon, _, blocks = self.filled(1, '-maxconnections=4')
        crowd = [self.client(daemon, source=f'127.7.0.{i + 1}') for i in range(2)]
        slow = [self.client(daemon, source=f'127.{i}.0.1', shake_hands=False) for i in (8, 9)]
        for peer in slow:
            peer.send('version', version_payload(0, 0, nonce=7))
            for name in ('version', 'verack'):
                peer.expect(name)
        for i in range(20):
            crowd.append(self.client(daemon, source=f'127.7.1.{i + 1}'))
            crowd.pop(1).wait_end()
        for peer in slow:
            peer.send('verack')
            self.assertEqual(peer.headers([GENESIS]), [blocks[1].raw[:80]])
        crowd[0].synchronize()

    def test_who_has_noban_has_a_place(self):
        daemon, _, blocks = self.filled(1, '-maxconnections=2', '-whitelist=noban@127.9.0.0/16')
        stranger = self.client(daemon, source='127.1.0.1')
        own = self.client(daemon, source='127.9.0.1')
        wait_until(lambda: daemon.rpc('getconnectioncount') == 2)
        # The only one that could go is settled.
        self.client(daemon, source='127.2.0.1', shake_hands=False).wait_end()
        self.wait_log(daemon, 'Peer 127.2.0.1:', 'came, and the 2 that are here stay', 'refused')
        stranger.synchronize()
        # But not for the operator's own.
        second = self.client(daemon, source='127.9.0.2')
        stranger.wait_end()
        for source in ('127.1.0.1', '127.9.0.3'):
            self.client(daemon, source=source, shake_hands=False).wait_end()
        for peer in (own, second):
            self.assertEqual(peer.headers([GENESIS]), [blocks[1].raw[:80]])
        # A place that is given up is free.
        own.close()
        wait_until(lambda: daemon.rpc('getconnectioncount') == 1)
        self.client(daemon, source='127.1.0.1').synchronize()

    def test_blocks_of_long_ago_are_kept_back_beyond_the_upload_target(self):
        """144 blocks of 4 MB a day are kept free for what is new: a target below that leaves history none."""
        chain = self.chain()
        daemon = self.serving('-maxuploadtarget=1', topics=())
        old = chain.mine()
        daemon.submit(old)
        daemon.rpc('setmocktime', harness.MOCKTIME + 30 * 24 * 3600)
        late = chain.mine(time=harness.MOCKTIME + 30 * 24 * 3600 - 100)
        daemon.submit(late)
        peer = self.client(daemon)
        self.assertEqual(peer.blocks([late.digest]), [late.raw])
        peer.send('getdata', inventory_payload(BLOCK, [old.digest]))
        peer.wait_end()
        target = daemon.rpc('getnettotals')['uploadtarget']
        self.assertEqual((target['target'], target['target_reached'], target['serve_historical_blocks']), (1 << 20, False, False))

    def test_a_reader_that_stands_still_costs_little_and_goes_on_where_it_stood(self):
        chain = self.chain()
        daemon = self.serving(topics=())
        block = chain.mine_bytes(900_000)
        daemon.submit(block)
        peer = self.client(daemon, receive_buffer=1 << 16)
        before = daemon.resident_bytes()
        wanted = 60
        peer.send('getdata', inventory_payload(BLOCK | WITNESS_FLAG, [block.digest] * wanted))
        peer.send('ping', bytes(8))
        # Meanwhile others are served, and memory does not grow with what is asked for.
        for _ in range(5):
            self.assertEqual(self.client(daemon).blocks([block.digest]), [block.raw])
        self.assertLess(daemon.resident_bytes() - before, harness.memory(24))
        for _ in range(wanted):
            self.assertEqual(peer.expect('block').payload, block.raw)
        self.assertEqual(peer.expect('pong').payload, bytes(8))

    def test_floods_end_in_a_bounded_cost(self):
        daemon, blocks = self.imported(2050)
        before = daemon.resident_bytes()
        greedy = self.client(daemon)
        greedy.send('getdata', inventory_payload(BLOCK, [bytes([i % 251] * 32) for i in range(50_000)]))
        self.assertEqual(len(items_of(greedy.expect('notfound').payload)), 50_000)
        # Answers without end, asked for and not read: it is not read from either.
        for question in (message('getheaders', p2p_client.get_headers([bytes(32)] * 100 + [GENESIS])), message('ping', bytes(8)),
                         message('getblocks', p2p_client.get_headers([GENESIS])),
                         message('getdata', inventory_payload(BLOCK, [blocks[-1].digest]))):
            endless = self.client(daemon, receive_buffer=1 << 16)
            endless.sock.settimeout(1)
            with self.assertRaises(socket.timeout):
                for _ in range(100):
                    endless.sock.sendall(question * (1_000_000 // len(question)))
        honest = self.client(daemon)
        self.assertEqual(honest.blocks([blocks[-1].digest]), [blocks[-1].raw])
        self.assertLess(daemon.resident_bytes() - before, harness.memory(64))

    def test_what_is_of_no_interest_is_not_held(self):
        daemon, _, blocks = self.filled(1)
        before = daemon.resident_bytes()
        crowd = [self.client(daemon) for _ in range(30)]
        for i, peer in enumerate(crowd):
            peer.sock.sendall(message(('tx', 'block', 'unheard-of')[i % 3], bytes(3_900_000))[:-1])
        wait_until(lambda: sum(row['bytesrecv'] for row in daemon.rpc('getpeerinfo')) >= 30 * 3_900_000, 30, 'all of it')
        self.assertLess(daemon.resident_bytes() - before, harness.memory(24))
        crowd[0].sock.sendall(b'\0')
        self.assertEqual(crowd[0].headers([GENESIS]), [blocks[1].raw[:80]])
        crowd[1].sock.sendall(b'\1')
        crowd[1].wait_end()
        self.wait_log(daemon, 'is left: message block with a wrong checksum')


class Hostile(ServingTest):
    CASES = {
        'wrong magic': (b'GET / HTTP/1.1\r\nHost: x\r\n\r\n', 'wrong magic 47455420'),
        'another chain': (message('version', version_payload(0), magic=bytes.fromhex('f9beb4d9')),
                          'it speaks the protocol of chain main, and chain regtest is served'),
        'before version': (message('getheaders', p2p_client.get_headers([GENESIS])), 'it said getheaders before version'),
        'oversize': (message('version', length=0xffffffff), 'message version claims 4294967295 bytes, 10000 are allowed'),
        'long version': (message('version', length=10_001), 'message version claims 10001 bytes, 10000 are allowed'),
        'wrong checksum': (message('version', version_payload(0), checksum=b'abcd'), 'message version with a wrong checksum'),
        'short version': (message('version', b'\x01'), 'version'),
        'too old': (message('version', version_payload(0, 0, 209)), 'it speaks version 209 of the protocol, 31800 is needed'),
    }
    AFTER = {
        'too many items': (message('getdata', regtest.compact_size(50_001) + bytes(36 * 50_001)),
                           'inventory of 50001 entries, 50000 are allowed'),
        'too long a locator': (message('getheaders', p2p_client.get_headers([bytes(32)] * 102)),
                               'getheaders of 102 entries, 101 are allowed'),
        'truncated': (message('getheaders', b'\0' * 6), 'getheaders'),
        'filters': (message('filterload', bytes(9)), 'it said filterload, and no filters are served'),
    }

    def test_each_fault_has_a_reason(self):
        daemon, _, blocks = self.filled(2)
        for shaken, cases in ((False, self.CASES), (True, self.AFTER)):
            for name, (data, reason) in cases.items():
                with self.subTest(name=name):
                    peer = self.client(daemon, shake_hands=shaken)
                    peer.sock.sendall(data)
                    peer.wait_end()
                    self.wait_log(daemon, '127.0.0.1:%d, which came, is left: ' % peer.sock.getsockname()[1], reason)
        self.assertEqual(self.client(daemon).blocks([blocks[1].digest]), [blocks[1].raw])
        wait_until(lambda: daemon.rpc('getconnectioncount') == 1)

    def test_of_version_and_verack_the_first_counts(self):
        daemon, _, blocks = self.filled(2)
        peer = self.client(daemon)
        for _ in range(100):
            peer.send('version', version_payload(0, 0, 209))
            peer.send('verack')
        peer.synchronize()
        self.assertEqual(peer.blocks([blocks[1].digest]), [blocks[1].raw])
        row, = daemon.rpc('getpeerinfo')
        self.assertEqual(row['version'], 70016)

    def test_slow_handshakes_are_cut(self):
        daemon, _, _ = self.filled(1, '-peertimeout=1')
        silent = self.client(daemon, shake_hands=False)
        loris = self.client(daemon, shake_hands=False)
        halfway = self.client(daemon, shake_hands=False)
        halfway.send('version', version_payload(0))
        end = time.monotonic() + harness.seconds(30)
        try:
            for byte in message('version', version_payload(0)):
                loris.sock.sendall(bytes([byte]))
                time.sleep(0.05)
                self.assertLess(time.monotonic(), end)
        except OSError:
            pass
        for peer in (silent, loris, halfway):
            peer.wait_end()
        self.wait_log(daemon, 'is left: no version within')
        self.wait_log(daemon, 'is left: no verack within')

    def test_lines_about_them_do_not_fill_the_log(self):
        daemon, _, _ = self.filled(1)
        for _ in range(60):
            peer = self.client(daemon, shake_hands=False)
            peer.sock.sendall(b'x' * 24)
            peer.wait_end()
        self.assertLessEqual(daemon.console().count('which came, is left'), 20)


class Options(ServingTest):
    def test_starts_that_are_refused(self):
        with socket.socket() as holder:
            holder.bind(('127.0.0.1', 0))
            holder.listen()
            taken = holder.getsockname()[1]
            self.assert_refused('-listen', '-bind=127.0.0.1', f'-port={taken}', contains=(
                f'Unable to bind to 127.0.0.1:{taken} on this computer', '-port=<another port>'))
        self.assert_refused('-bind=127.0.0.1', '-listen=0', contains=('Cannot set -bind or -whitebind together with -listen=0',))
        self.assert_refused('-listen', '-whitelist=nobody@127.0.0.1', contains=("Invalid P2P permission: 'nobody'",))

    def test_off_unless_asked_for(self):
        daemon = self.daemon()
        self.assertNotIn('Serving peers', daemon.console())
        self.assertEqual(daemon.rpc('getnetworkinfo')['localaddresses'], [])

    def test_a_stop_with_peers_in_the_middle_of_things(self):
        chain = self.chain()
        daemon = self.serving(topics=())
        block = chain.mine_bytes(900_000)
        daemon.submit(block)
        for _ in range(3):
            peer = self.client(daemon, receive_buffer=1 << 16)
            peer.send('getdata', inventory_payload(BLOCK | WITNESS_FLAG, [block.digest] * 100))
        daemon.stop()


if __name__ == '__main__':
    main()
