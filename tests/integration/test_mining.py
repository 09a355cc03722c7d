# SPDX-License-Identifier: MIT
"""Blocks that the daemon makes itself on regtest: they are as good as any, and are announced."""
import harness
import regtest
from harness import IntegrationTest, RpcError, main

# A witness program of 32 zeros, and the script it stands for.
ADDRESS = 'bcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq3xueyj'
ADDRESS_SCRIPT = b'\x00\x20' + bytes(32)
PUBLIC_KEY = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798'


class Mining(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.node = self.daemon()

    def block(self, block_hash):
        return regtest.parse_block(bytes.fromhex(self.node.rpc('getblock', block_hash, 0)))

    def refused(self, code, text, method, *params):
        with self.assertRaises(RpcError) as caught:
            self.node.rpc(method, *params)
        self.assertEqual(caught.exception.code, code)
        self.assertIn(text, caught.exception.message)

    def test_blocks_to_an_address_are_announced(self):
        stream = self.subscriber(self.node.endpoint)
        counters = stream.synchronize(self.node, self.chain())
        height = self.node.rpc('getblockcount')
        hashes = self.node.rpc('generatetoaddress', 5, ADDRESS)
        self.assertEqual(len(hashes), 5)
        self.assertEqual(self.node.rpc('getblockcount'), height + 5)
        self.assertEqual(self.node.rpc('getbestblockhash'), hashes[-1])
        blocks = [self.block(h) for h in hashes]
        got = stream.wait_for(lambda frames: harness.ends_block(frames, blocks[-1]))
        self.assert_frames(got, [f for b in blocks for f in regtest.connect_frames(b) + regtest.tip_frames(b)])
        self.assert_counters(got, counters)
        for block in blocks:
            self.assertIn(ADDRESS_SCRIPT, block.txs[0].raw)

    def test_every_kind_of_descriptor(self):
        scripts = {
            'raw(51)': b'\x51',
            f'addr({ADDRESS})': ADDRESS_SCRIPT,
            f'pk({PUBLIC_KEY})': b'\x21' + bytes.fromhex(PUBLIC_KEY) + b'\xac',
            f'pkh({PUBLIC_KEY})': bytes.fromhex('76a914751e76e8199196d454941c45d1b3a323f1433bd688ac'),
            f'wpkh({PUBLIC_KEY})': bytes.fromhex('0014751e76e8199196d454941c45d1b3a323f1433bd6'),
            f'multi(1,{PUBLIC_KEY})': b'\x51\x21' + bytes.fromhex(PUBLIC_KEY) + b'\x51\xae',
            f'rawtr({PUBLIC_KEY[2:]})': b'\x51\x20' + bytes.fromhex(PUBLIC_KEY[2:]),
        }
        for descriptor, script in scripts.items():
            with self.subTest(descriptor=descriptor):
                block_hash, = self.node.rpc('generatetodescriptor', 1, descriptor)
                self.assertIn(bytes([len(script)]) + script, self.block(block_hash).txs[0].raw)
        for descriptor in (f'sh(wpkh({PUBLIC_KEY}))', f'wsh(pk({PUBLIC_KEY}))', f'sh(multi(1,{PUBLIC_KEY}))'):
            with self.subTest(descriptor=descriptor):
                self.node.rpc('generatetodescriptor', 1, descriptor)

    def test_a_block_of_given_transactions(self):
        chain = self.chain()
        coin, = chain.fund(self.node.submit, 1)
        tx = regtest.spend(*coin)
        made = self.node.rpc('generateblock', ADDRESS, [tx.raw.hex()])
        self.assertEqual(list(made), ['hash'])
        self.assertEqual([t.txid for t in self.block(made['hash']).txs[1:]], [tx.txid])
        made = self.node.rpc('generateblock', 'raw(51)', [], False)
        self.assertEqual(list(made), ['hash', 'hex'])
        self.assertNotEqual(self.node.rpc('getbestblockhash'), made['hash'])
        self.assertIsNone(self.node.rpc('submitblock', made['hex']))
        self.assertEqual(self.node.rpc('getbestblockhash'), made['hash'])

    def test_what_cannot_be_made_is_refused(self):
        self.refused(-5, 'Invalid address', 'generatetoaddress', 1, 'nonsense')
        self.refused(-5, 'Invalid address', 'generatetoaddress', 1, '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa')
        self.refused(-5, '', 'generatetodescriptor', 1, 'nonsense(51)')
        self.refused(-5, '', 'generateblock', ADDRESS, ['ab' * 32])
        self.refused(-22, '', 'generateblock', ADDRESS, ['zz'])
        self.assertEqual(self.node.rpc('generatetoaddress', 0, ADDRESS), [])
        self.assertEqual(self.node.rpc('getblockcount'), 0)

    def test_two_clients_mine_at_once(self):
        import threading
        problems = []
        def mine():
            try:
                with harness.HttpConnection(self.node.rpc_port) as connection:
                    for _ in range(10):
                        connection.send(harness.rpc_request(self.node.cookie, 'generatetoaddress', [2, ADDRESS]))
                        reply = connection.read_reply()
                        if reply.status != 200:
                            problems.append(reply.body)
            except OSError as error:
                problems.append(error)
        threads = [threading.Thread(target=mine) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])
        self.assertGreater(self.node.rpc('getblockcount'), 19)


if __name__ == '__main__':
    main()
