# SPDX-License-Identifier: MIT
"""The coins of the recorded chain, by every way to it: their sums and hashes are a node's, and a second opinion's."""
import os
import shutil

import coinset
import harness
import regtest
from harness import IntegrationTest, RpcError, main, vector_manifest, vector_rows

CHAIN = vector_manifest()['chain-a']
RECORDED = '01e588de9ea5434e8d68a0d29cf4283131356676a6c36721bdd88e35eb7990fe'
RECORDED_SUMS = {'height': 169, 'bestblock': CHAIN['best_hash'], 'txouts': 568, 'bogosize': 48711,
                 'total_amount': 7949.99484500, 'transactions': 263}


class Coins(IntegrationTest):
    def recorded_chain(self):
        """A daemon with the recorded chain, and its blocks by hash."""
        daemon, blocks = self.daemon('-maxtipage=100000000', mocktime=CHAIN['mocktime']), {}
        for step in vector_rows('chain-a.jsonl'):
            if step['op'] == 'block':
                daemon.rpc('submitblock', step['hex'])
                block = regtest.parse_block(bytes.fromhex(step['hex']))
                blocks[block.hash] = block
            else:
                daemon.raw_rpc(step['method'], *step['params'])
        self.assertEqual(daemon.rpc('getbestblockhash'), CHAIN['best_hash'])
        return daemon, blocks

    def assert_recorded(self, daemon):
        self.assertEqual(daemon.rpc('gettxoutsetinfo')['hash_serialized_3'], RECORDED)

    def test_sums_and_hashes(self):
        daemon, blocks = self.recorded_chain()
        sums = daemon.rpc('gettxoutsetinfo', 'none')
        self.assertGreater(sums.pop('disk_size'), 0)
        self.assertEqual(list(sums.items()), list(RECORDED_SUMS.items()))
        self.assert_recorded(daemon)
        coins = coinset.CoinSet.of(coinset.branch_of(blocks, CHAIN['best_hash']))
        self.assertEqual(coins.hash_serialized_3(), RECORDED)
        self.assertEqual(daemon.rpc('gettxoutsetinfo', 'muhash')['muhash'], coins.muhash())
        with self.assertRaises(RpcError) as refused:
            daemon.rpc('gettxoutsetinfo', 'sha512')
        self.assertEqual((refused.exception.code, refused.exception.message), (-8, "'sha512' is not a valid hash_type"))
        for where in (10, CHAIN['best_hash']):
            with self.assertRaises(RpcError) as refused:
                daemon.rpc('gettxoutsetinfo', 'none', where)
            self.assertEqual((refused.exception.code, refused.exception.message),
                             (-8, 'Querying specific block heights requires coinstatsindex'))

    def test_after_a_stop_and_after_kill9(self):
        daemon, _ = self.recorded_chain()
        daemon.stop()
        daemon.start()
        self.assert_recorded(daemon)
        self.assertEqual(daemon.rpc('getblockpubinfo')['coins']['flushed_height'], CHAIN['best_height'])
        daemon.rpc('invalidateblock', daemon.rpc('getblockhash', 150))
        daemon.kill9()  # The coins on disk are those of the old tip.
        daemon.start()
        self.assertEqual(daemon.rpc('getblockcount'), 149)
        self.assertEqual(daemon.rpc('gettxoutsetinfo', 'none')['height'], 149)
        daemon.rpc('reconsiderblock', CHAIN['best_hash'])
        self.assert_recorded(daemon)

    def test_twenty_blocks_back_and_forth(self):
        daemon, blocks = self.recorded_chain()
        block = daemon.rpc('getblockhash', CHAIN['best_height'] - 19)
        daemon.rpc('invalidateblock', block)
        coinset.check(self, daemon, blocks)
        daemon.rpc('reconsiderblock', block)
        self.assert_recorded(daemon)

    def test_coins_that_are_gone_are_made_again(self):
        daemon, blocks = self.recorded_chain()
        daemon.stop()
        shutil.rmtree(os.path.join(daemon.chain_dir, 'coins'))
        daemon.start()
        self.assert_recorded(daemon)
        log = [line.split('Z ', 1)[1] for line in daemon.debug_log().splitlines() if 'Z coins: ' in line]
        self.assertIn(f'coins: none stored, making them from the blocks up to height {CHAIN["best_height"]}', log)
        self.assertEqual(log[1].partition(' in ')[0], f'coins: at height {CHAIN["best_height"]}, {CHAIN["best_height"] + 1} blocks')

    def test_coins_of_another_chain_are_refused(self):
        daemon, _ = self.recorded_chain()
        daemon.stop()
        other, chain = self.daemon(), self.chain()
        other.submit(chain.mine())
        other.stop()
        coins = os.path.join(daemon.chain_dir, 'coins')
        shutil.rmtree(coins)
        shutil.copytree(os.path.join(other.chain_dir, 'coins'), coins)
        daemon.spawn()
        self.assertEqual(daemon.wait_exit(), 1)
        daemon.process = None
        self.assertIn('remove the directory `coins` to have them made again', daemon.console())
        shutil.rmtree(coins)
        daemon.start()
        self.assert_recorded(daemon)

    def test_scans_take_turns(self):
        """Calls in parallel are all answered, each with its cost in the log, while others go on."""
        daemon, _ = self.recorded_chain()
        connections = [harness.HttpConnection(daemon.rpc_port) for _ in range(20)]
        for connection in connections:
            self.addCleanup(connection.close)
            connection.send(harness.rpc_request(daemon.cookie, 'gettxoutsetinfo', []))
        self.assertEqual(daemon.rpc('getblockcount'), CHAIN['best_height'])
        for connection in connections:
            self.assertIn(RECORDED.encode(), connection.read_reply().body)
        costs = [line for line in daemon.debug_log().splitlines() if 'gettxoutsetinfo hash_serialized_3: 568 coins in ' in line]
        self.assertGreater(len(costs), 0)


if __name__ == '__main__':
    main()
