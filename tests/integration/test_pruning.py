# SPDX-License-Identifier: MIT
"""-prune and pruneblockchain on a real daemon: options, answers, what a restart finds, and kill -9 at any moment."""
import json
import os
import shutil
import threading
import time

import eventlog
import harness
import regtest
from fake_peer import FakePeer
from harness import IntegrationTest, main, rounds, seeded_random, wait_until

PRUNED = 'Block not available (pruned data)'
BLOCKS = 760
# Some 210 of them fill a segment of 16 MiB.
BLOCK_BYTES = 72_000
KEPT = 288
MANUAL = ('-prune=1', '-fastprune')


class Pruning(IntegrationTest):
    @classmethod
    def setUpClass(cls):
        """A store that every test begins with, made once."""
        super().setUpClass()
        chain = regtest.Chain(harness.CHAIN_START)
        cls.blocks = [regtest.GENESIS] + [chain.mine_bytes(BLOCK_BYTES) for _ in range(BLOCKS)]
        cls.chain_tip = chain.tip
        maker = harness.Daemon('-fastprune', topics=())
        cls.master = maker.datadir
        cls.addClassCleanup(shutil.rmtree, cls.master, ignore_errors=True)
        path = os.path.join(cls.master, 'blocks.dat')
        with open(path, 'wb') as file:
            file.writelines(regtest.record(block.raw) for block in cls.blocks)
        maker.start(f'-loadblock={path}')
        wait_until(lambda: maker.rpc('getblockcount') == BLOCKS, 60, 'the import')
        maker.stop()
        os.remove(path)

    def store(self, *args, start=True, **kwargs):
        """A daemon on a copy of the store."""
        directory = os.path.join(self.temporary_directory(), 'data')
        shutil.copytree(self.master, directory)
        kwargs.setdefault('topics', ())
        return self.daemon(*args, datadir=directory, start=start, **kwargs)

    def segments(self, daemon):
        return sorted(name for name in os.listdir(os.path.join(daemon.chain_dir, 'blocks')) if name.endswith('.mdb'))

    def rest(self, daemon, target):
        with harness.HttpConnection(daemon.rpc_port) as connection:
            connection.send(f'GET /rest/{target} HTTP/1.1\r\nHost: localhost\r\n\r\n'.encode())
            return connection.read_reply()

    def refused(self, daemon, code, message, method, *params):
        with self.assertRaises(harness.RpcError) as refusal:
            daemon.rpc(method, *params)
        self.assertEqual((refusal.exception.code, refusal.exception.message), (code, message))

    def check_blocks(self, daemon):
        """Every block is there, whole, or pruned whole; those that are gone are the lowest. Height of the last of them."""
        border = 0
        for block in self.blocks[1:]:
            try:
                self.assertEqual(daemon.rpc('getblock', block.hash, 0), block.hex)
                self.assertEqual(daemon.rpc('getblock', block.hash, 1)['tx'], [tx.txid for tx in block.txs])
                self.assertIn('avgfee', daemon.rpc('getblockstats', block.hash))
            except harness.RpcError as error:
                self.assertEqual((error.code, error.message), (-1, PRUNED))
                self.assertEqual(border, block.height - 1, 'a gap')
                border = block.height
                for method, *params in (['getblock', block.hash, 1], ['getblockstats', block.hash]):
                    self.refused(daemon, -1, PRUNED, method, *params)
        return border

    def test_options(self):
        for arguments, text in (
                (['-prune=-1'], 'Prune cannot be configured with a negative value.'),
                (['-prune=2'], 'Prune configured below the minimum of 550 MiB.  Please use a higher number.'),
                (['-prune=549'], 'Prune configured below the minimum of 550 MiB.  Please use a higher number.'),
                (['-prune=1', '-txindex'], 'Prune mode is incompatible with -txindex.'),
                (['-prune=550', '-txindex'], 'Prune mode is incompatible with -txindex.')):
            with self.subTest(arguments):
                self.assert_refused(*arguments, contains=[text])

    def test_by_hand(self):
        """Scenarios 12, 43: what is pruned says so in Core's words on every path; pruneheight is true."""
        daemon = self.store(*MANUAL, '-rest=1', topics=harness.TOPICS)
        stream = self.subscriber(daemon.endpoint)
        chain = regtest.Chain(harness.CHAIN_START, self.chain_tip)
        stream.synchronize(daemon, chain)
        info = daemon.rpc('getblockchaininfo')
        self.assertEqual((info['pruned'], info['pruneheight'], info['automatic_pruning']), (True, 0, False))
        self.assertNotIn('prune_target_size', info)
        size = info['size_on_disk']
        self.assertEqual(daemon.rpc('pruneblockchain', 100), -1)
        pruned = daemon.rpc('pruneblockchain', BLOCKS)
        tip = daemon.rpc('getblockcount')
        self.assertTrue(150 < pruned <= tip - KEPT, pruned)
        self.assertEqual(self.check_blocks(daemon), pruned)
        info = daemon.rpc('getblockchaininfo')
        self.assertEqual(info['pruneheight'], pruned + 1)
        self.assertLess(info['size_on_disk'], size)
        self.assertEqual(daemon.rpc('getnetworkinfo')['localservicesnames'], ['WITNESS', 'NETWORK_LIMITED'])
        self.assertEqual(json.loads(self.rest(daemon, 'chaininfo.json').body)['pruneheight'], pruned + 1)

        gone, here = self.blocks[pruned].hash, self.blocks[pruned + 1].hash
        for path in ('block/%s.bin', 'block/%s.hex', 'block/%s.json', 'block/notxdetails/%s.json', 'blockpart/%s.bin?offset=0&size=80'):
            reply = self.rest(daemon, path % gone)
            self.assertEqual((reply.status, reply.body), (404, f'{gone} not available (pruned data)\r\n'.encode()), path)
            self.assertEqual(self.rest(daemon, path % here).status, 200, path)
        reply = self.rest(daemon, f'spenttxouts/{gone}.bin')
        self.assertEqual((reply.status, reply.body), (404, f'{gone} undo not available\r\n'.encode()))
        self.refused(daemon, -1, PRUNED, 'gettxoutproof', [self.blocks[pruned].txs[0].txid], gone)
        self.refused(daemon, -1, 'Block not available', 'getrawtransaction', self.blocks[pruned].txs[0].txid, 1, gone)
        self.assertEqual(daemon.rpc('getblockheader', gone)['height'], pruned)
        self.assertEqual(daemon.rpc('getblockheader', gone)['nTx'], 1)
        self.assertIsNotNone(daemon.rpc('gettxout', self.blocks[pruned].txs[0].txid, 0))
        self.assertIn(f'up to height {pruned}', daemon.debug_log())

        # The stream goes on, and nothing of this was on it.
        stream.take()
        block = chain.mine()
        daemon.submit(block)
        stream.wait_for(lambda frames: harness.ends_block(frames, block))
        daemon.stop()
        state = eventlog.verify(self, daemon)
        self.assertEqual([event[4] for event in state['events'] if event[1] == 'P'], [pruned])

    def test_a_pruned_block_is_had_again_from_a_peer(self):
        """Its bytes are there again, and nothing is announced."""
        peer = FakePeer(self.blocks[1:]).start()
        self.addCleanup(peer.stop)
        daemon = self.store(*MANUAL, source=f'-connect=127.0.0.1:{peer.port}')
        wait_until(lambda: daemon.rpc('getconnectioncount') == 1, 20, 'the peer')
        pruned = daemon.rpc('pruneblockchain', 400)
        block = self.blocks[5]
        self.refused(daemon, -1, PRUNED, 'getblock', block.hash, 0)
        events = daemon.rpc('getblockpubinfo')['chain']['durable_events']
        tip_block = regtest.Chain(harness.CHAIN_START, self.blocks[-1]).mine()
        self.assertIsNone(daemon.rpc('submitheader', tip_block.raw[:80].hex()))
        number = daemon.rpc('getpeerinfo')[0]['id']
        self.refused(daemon, -1, 'In prune mode, only blocks that the node has already synced previously can be fetched from a '
                     'peer', 'getblockfrompeer', tip_block.hash, number)
        self.refused(daemon, -1, 'Block already downloaded', 'getblockfrompeer', self.blocks[-1].hash, number)
        self.assertEqual(daemon.rpc('getblockfrompeer', block.hash, number), {})

        def fetched():
            try:
                return daemon.rpc('getblock', block.hash, 0) == block.hex
            except harness.RpcError:
                return False
        wait_until(fetched, 20, 'the block')
        self.assertEqual(daemon.rpc('getblock', block.hash, 1)['tx'], [tx.txid for tx in block.txs])
        self.assertEqual(daemon.rpc('getblockchaininfo')['blocks'], BLOCKS)
        self.refused(daemon, -1, PRUNED, 'getblock', self.blocks[6].hash, 0)
        self.assertEqual(daemon.rpc('getblockpubinfo')['chain']['durable_events'], events)
        daemon.stop()
        daemon.start()
        self.assertEqual(daemon.rpc('getblock', block.hash, 0), block.hex)
        # The tip still moves, and comes back.
        chain = regtest.Chain(harness.CHAIN_START, self.blocks[-1])
        branch = chain.branch(self.blocks[-3], 3)
        for other in branch:
            daemon.rpc('submitblock', other.hex)
        self.assertEqual(daemon.rpc('getbestblockhash'), branch[-1].hash)
        self.assertGreaterEqual(daemon.rpc('pruneblockchain', 450), pruned)
        daemon.stop()
        daemon.start()
        self.assertEqual(daemon.rpc('getbestblockhash'), branch[-1].hash)

    def test_without_prune_again(self):
        """What is gone stays gone and is told; all else goes on. An index of all blocks cannot be made."""
        daemon = self.store(*MANUAL)
        pruned = daemon.rpc('pruneblockchain', BLOCKS)
        daemon.stop()
        daemon.args.remove('-prune=1')
        daemon.start()
        self.assertIn(f'Blocks up to height {pruned} were pruned', daemon.console())
        info = daemon.rpc('getblockchaininfo')
        self.assertEqual((info['pruned'], info['pruneheight'], info['automatic_pruning']), (True, pruned + 1, False))
        self.refused(daemon, -1, 'Cannot prune blocks because node is not in prune mode.', 'pruneblockchain', 1)
        self.assertEqual(daemon.rpc('submitblock', self.blocks[5].hex), 'duplicate')
        self.assertEqual(self.check_blocks(daemon), pruned)
        daemon.stop()
        daemon.spawn('-txindex')
        self.assertNotEqual(daemon.wait_exit(), 0)
        self.assertIn('-txindex needs every block', daemon.console())
        daemon.process = None
        shutil.rmtree(os.path.join(daemon.chain_dir, 'coins'))
        daemon.spawn()
        self.assertNotEqual(daemon.wait_exit(), 0)
        self.assertIn('the coins cannot be brought to the tip', daemon.console())
        daemon.process = None

    def test_kill9(self):
        """Killed while it prunes: the store opens, each block is whole or gone whole, no file is left over."""
        dice = seeded_random()
        began = time.monotonic()
        daemon = self.store(*MANUAL)
        self.assertGreater(daemon.rpc('pruneblockchain', BLOCKS), 0)
        whole = time.monotonic() - began
        daemon.stop()
        for _ in range(rounds(10)):
            daemon = self.store(*MANUAL)
            threading.Timer(dice.uniform(0, min(0.1, whole)), daemon.process.kill).start()
            try:
                daemon.rpc('pruneblockchain', BLOCKS)
            except (ConnectionError, OSError):
                pass
            daemon.kill9()
            state = eventlog.verify(self, daemon)
            told = [event[4] for event in state['events'] if event[1] == 'P']
            daemon.start()
            border = self.check_blocks(daemon)
            self.assertEqual(border, max(told, default=0))
            # What is left of the files is what the blocks need.
            self.assertEqual(self.segments(daemon)[0] == '00000.mdb', border == 0, (border, self.segments(daemon)))
            self.assertGreaterEqual(daemon.rpc('pruneblockchain', BLOCKS), max(border, 150))
            chain = regtest.Chain(harness.CHAIN_START, self.chain_tip)
            daemon.submit(chain.mine())
            daemon.stop()
            eventlog.verify(self, daemon)
            shutil.rmtree(os.path.dirname(daemon.datadir))


if __name__ == '__main__':
    main()
