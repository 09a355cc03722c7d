# SPDX-License-Identifier: MIT
"""The coins of the recorded chain, by every way to it: their sums and hashes are a node's, and a second opinion's."""
import json
import os
import shutil
import threading

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

    def test_scantxoutset_finds_what_the_blocks_hold(self):
        """The reply to the byte, worked out from the blocks: order, descriptors, sums."""
        daemon, blocks = self.recorded_chain()
        branch = coinset.branch_of(blocks, CHAIN['best_hash'])
        hashes = {height: block.hash for height, block in enumerate(branch, 1)}
        coins = coinset.CoinSet.of(branch).coins
        with open(os.path.join(harness.VECTORS, 'scripts.txt'), encoding='ascii') as lines:
            descriptors = {row[0]: row[3] for row in (line.split() for line in lines)}
        scripts = sorted({coin[3] for coin in coins.values()} & {bytes.fromhex(s) for s in descriptors if s != '-'})
        self.assertGreater(len(scripts), 5)

        def amount(satoshi):
            return f'{satoshi // 10 ** 8}.{satoshi % 10 ** 8:08}'

        def expected(wanted):
            found = [(txid, n, *coins[txid, n]) for txid, n in sorted(coins) if coins[txid, n][3] in wanted]
            rows = [f'{{"txid":"{txid[::-1].hex()}","vout":{n},"scriptPubKey":"{script.hex()}","desc":"{descriptors[script.hex()]}",'
                    f'"amount":{amount(value)},"coinbase":{"true" if coinbase else "false"},"height":{height},'
                    f'"blockhash":"{hashes[height]}","confirmations":{len(branch) - height + 1}}}'
                    for txid, n, height, coinbase, value, script in found]
            return (f'{{"result":{{"success":true,"txouts":568,"height":169,"bestblock":"{CHAIN["best_hash"]}",'
                    f'"unspents":[{",".join(rows)}],"total_amount":{amount(sum(row[4] for row in found))}}},'
                    f'"error":null,"id":1}}\n')
        for wanted in [[script] for script in scripts] + [scripts]:
            reply = daemon.raw_rpc('scantxoutset', 'start', [f'raw({script.hex()})' for script in wanted])
            self.assertEqual(reply.body.decode(), expected(wanted))
        self.assertIsNone(daemon.rpc('scantxoutset', 'status'))
        self.assertIs(daemon.rpc('scantxoutset', 'abort'), False)

    def test_scantxoutset_while_blocks_arrive(self):
        """Each scan is the set of one tip, whatever is connected and disconnected meanwhile."""
        daemon, chain = self.daemon(), self.chain()
        coins, sums = coinset.CoinSet(), {}

        def add(block):
            coins.connect(block)
            sums[block.hash] = (coins.height, len(coins.coins), sum(coin[2] for coin in coins.coins.values()))
        first = chain.mine()
        daemon.submit(first)
        add(regtest.parse_block(first.raw))
        scripts = {coin[3].hex() for coin in coins.coins.values()}
        results, ended = [], threading.Event()

        def scan():
            with harness.HttpConnection(daemon.rpc_port) as connection:
                while not ended.is_set():
                    connection.send(harness.rpc_request(daemon.cookie, 'scantxoutset', ['start', [f'raw({s})' for s in scripts]]))
                    results.append(json.loads(connection.read_reply().body)['result'])
        thread = threading.Thread(target=scan)
        thread.start()
        try:
            for number in range(120):
                block = chain.mine()
                daemon.submit(block)
                add(regtest.parse_block(block.raw))
                if number % 20 == 19:
                    daemon.rpc('invalidateblock', block.hash)
                    daemon.rpc('reconsiderblock', block.hash)
        finally:
            ended.set()
            thread.join()
        self.assertGreater(len({result['bestblock'] for result in results}), 5)
        for result in results:
            height, count, total = sums[result['bestblock']]
            self.assertEqual((result['success'], result['height'], result['txouts'], len(result['unspents'])), (True, height, count, count))
            self.assertEqual(round(result['total_amount'] * 10 ** 8), total)

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
