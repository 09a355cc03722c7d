# SPDX-License-Identifier: MIT
"""The mempool: what it takes, what clients ask it, and what becomes of it over a restart."""
import os

import harness
import regtest
from harness import IntegrationTest, RpcError, main

COIN = 100_000_000
REPLACEABLE = 0xfffffffd


def pay(outputs_spent, amount, sequence=REPLACEABLE):
    """A transaction that anybody may spend on."""
    return regtest.Tx([(txid, n, b'', sequence) for txid, n in outputs_spent], [(amount, regtest.FREE_WITNESS)])


class MempoolTest(IntegrationTest):
    def funded(self, *args, **kwargs):
        """A daemon with a chain whose first coinbases can be spent, and those."""
        daemon = self.daemon('-acceptnonstdtxn=1', *args, **kwargs)
        chain = self.chain()
        coins = []
        for _ in range(regtest.MATURITY + 6):
            block = chain.mine()
            daemon.submit(block)
            coins.append((block.txs[0].txid, 0))
        return daemon, chain, coins

    def assert_error(self, code, message, daemon, method, *params):
        with self.assertRaises(RpcError) as caught:
            daemon.rpc(method, *params)
        self.assertEqual((caught.exception.code, caught.exception.message), (code, message))


class Sending(MempoolTest):
    def test_a_transaction_is_announced_listed_and_mined(self):
        daemon, chain, coins = self.funded()
        subscriber = self.subscriber(daemon.endpoint)
        subscriber.synchronize(daemon, chain)
        tx = pay([coins[0]], 50 * COIN - 1000)
        self.assertEqual(daemon.rpc('sendrawtransaction', tx.raw.hex(), 0, '1'), tx.txid)
        seen = subscriber.wait_body(b'sequence', bytes.fromhex(tx.txid) + b'A' + (1).to_bytes(8, 'little'))
        self.assert_frames(seen[-3:], [(b'hashtx', bytes.fromhex(tx.txid)), (b'rawtx', tx.raw),
                                       (b'sequence', bytes.fromhex(tx.txid) + b'A' + (1).to_bytes(8, 'little'))])
        self.assertEqual(daemon.rpc('getrawmempool'), [tx.txid])
        self.assertEqual(daemon.rpc('getrawmempool', False, True), {'txids': [tx.txid], 'mempool_sequence': 2})
        self.assertEqual(daemon.rpc('gettxspendingprevout', [{'txid': coins[0][0], 'vout': 0}, {'txid': coins[1][0], 'vout': 0}]),
                         [{'txid': coins[0][0], 'vout': 0, 'spendingtxid': tx.txid}, {'txid': coins[1][0], 'vout': 0}])
        self.assertEqual(daemon.rpc('sendrawtransaction', tx.raw.hex()), tx.txid)
        block = chain.mine(txs=[tx])
        daemon.submit(block)
        self.assertEqual(daemon.rpc('getrawmempool', False, True), {'txids': [], 'mempool_sequence': 3})
        self.assert_error(-27, 'Transaction outputs already in utxo set', daemon, 'sendrawtransaction', tx.raw.hex())

    def test_an_entry_has_the_members_of_bitcoind_byte_for_byte(self):
        daemon, _, coins = self.funded()
        parent = pay([coins[0]], 50 * COIN - 1000, 0xffffffff)
        child = pay([(parent.txid, 0)], 50 * COIN - 3000)
        for tx in (parent, child):
            daemon.rpc('sendrawtransaction', tx.raw.hex())
        body = daemon.raw_rpc('getmempoolentry', child.txid).body.decode()
        self.assertEqual(body, (
            '{"result":{"vsize":94,"weight":376,"time":%d,"height":106,"descendantcount":1,"descendantsize":94,'
            '"ancestorcount":2,"ancestorsize":188,"wtxid":"%s","fees":{"base":0.00002000,"modified":0.00002000,'
            '"ancestor":0.00003000,"descendant":0.00002000},"depends":["%s"],"spentby":[],'
            '"bip125-replaceable":true,"unbroadcast":true},"error":null,"id":1}\n')
            % (harness.MOCKTIME, child.txid, parent.txid))
        listed = daemon.rpc('getrawmempool', True)
        self.assertEqual(list(listed), [parent.txid, child.txid])
        self.assertEqual(listed[parent.txid]['spentby'], [child.txid])
        self.assertFalse(listed[parent.txid]['bip125-replaceable'])
        self.assertEqual(daemon.rpc('getmempoolancestors', child.txid), [parent.txid])
        self.assertEqual(daemon.rpc('getmempooldescendants', parent.txid, True), {child.txid: listed[child.txid]})
        info = daemon.raw_rpc('getmempoolinfo').body.decode()
        self.assertRegex(info, r'^{"result":{"loaded":true,"size":2,"bytes":188,"usage":\d+,"total_fee":0\.00003000,'
                               r'"maxmempool":300000000,"mempoolminfee":0\.00001000,"minrelaytxfee":0\.00001000,'
                               r'"incrementalrelayfee":0\.00001000,"unbroadcastcount":2,"fullrbf":true},')

    def test_the_fee_rates_shown_are_those_that_are_applied(self):
        daemon = self.daemon('-minrelaytxfee=0.00002', '-incrementalrelayfee=0.00003', topics=())
        network, pool = daemon.rpc('getnetworkinfo'), daemon.rpc('getmempoolinfo')
        self.assertEqual((network['relayfee'], network['incrementalfee']), (0.00002, 0.00003))
        self.assertEqual((pool['minrelaytxfee'], pool['incrementalrelayfee']), (0.00002, 0.00003))

    def test_refusals_have_the_codes_and_words_of_bitcoind(self):
        daemon, _, coins = self.funded()
        good = pay([coins[0]], 50 * COIN - 1000)
        lost = pay([('11' * 32, 0)], COIN)
        rich = pay([coins[1]], 40 * COIN)
        burning = regtest.Tx([(*coins[2], b'', 0)], [(COIN, b'\x6a' + bytes(40))])
        self.assert_error(-22, 'TX decode failed. Make sure the tx has at least one input.', daemon,
                          'sendrawtransaction', 'zz')
        self.assert_error(-25, 'bad-txns-inputs-missingorspent', daemon, 'sendrawtransaction', lost.raw.hex())
        self.assert_error(-25, 'Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)', daemon,
                          'sendrawtransaction', rich.raw.hex())
        self.assert_error(-25, 'Unspendable output exceeds maximum configured by user (maxburnamount)', daemon,
                          'sendrawtransaction', burning.raw.hex(), 0)
        self.assert_error(-8, 'Fee rates larger than or equal to 1BTC/kvB are not accepted', daemon,
                          'sendrawtransaction', good.raw.hex(), '1')
        self.assert_error(-3, 'Amount is not a number or string', daemon, 'sendrawtransaction', good.raw.hex(), True)
        low = pay([coins[0]], 50 * COIN - 10)
        self.assert_error(-26, 'min relay fee not met, 10 < 94', daemon, 'sendrawtransaction', low.raw.hex())
        self.assert_error(-5, 'Transaction not in mempool', daemon, 'getmempoolentry', good.txid)
        self.assert_error(-8, "parameter 1 must be of length 64 (not 2, for 'zz')", daemon, 'getmempoolancestors', 'zz')
        self.assert_error(-8, 'Verbose results cannot contain mempool sequence values.', daemon, 'getrawmempool', True, True)
        self.assert_error(-8, 'Invalid parameter, outputs are missing', daemon, 'gettxspendingprevout', [])
        self.assert_error(-3, 'Missing vout', daemon, 'gettxspendingprevout', [{'txid': good.txid}])
        self.assert_error(-8, 'Array must contain between 1 and 25 transactions.', daemon, 'testmempoolaccept', [])
        tested = daemon.raw_rpc('testmempoolaccept', [good.raw.hex()]).body.decode()
        self.assertEqual(tested, (
            '{"result":[{"txid":"%s","wtxid":"%s","allowed":true,"vsize":94,"fees":{"base":0.00001000,'
            '"effective-feerate":0.00010638,"effective-includes":["%s"]}}],"error":null,"id":1}\n') % ((good.txid,) * 3))
        self.assertEqual(daemon.rpc('testmempoolaccept', [lost.raw.hex()])[0]['reject-reason'], 'missing-inputs')
        self.assertEqual(daemon.rpc('testmempoolaccept', [rich.raw.hex()])[0]['reject-reason'], 'max-fee-exceeded')
        self.assertEqual(daemon.rpc('getrawmempool'), [])
        self.assertIn('Scripts and signatures are not run', daemon.rpc('help', 'testmempoolaccept'))

    def test_a_package_brings_in_a_parent_that_pays_nothing(self):
        daemon, _, coins = self.funded()
        parent = regtest.Tx([(*coins[0], b'', 0)], [(50 * COIN, regtest.FREE_WITNESS)], version=3)
        child = regtest.Tx([(parent.txid, 0, b'', 0)], [(50 * COIN - 1000, regtest.FREE_WITNESS)], version=3)
        answer = daemon.rpc('submitpackage', [parent.raw.hex(), child.raw.hex()])
        self.assertEqual(answer['package_msg'], 'success')
        self.assertEqual(answer['tx-results'][parent.txid]['fees'],
                         {'base': 0, 'effective-feerate': 0.00005319, 'effective-includes': [parent.txid, child.txid]})
        self.assertEqual(answer['replaced-transactions'], [])
        self.assertEqual(daemon.rpc('getrawmempool'), [parent.txid, child.txid])


    def test_a_block_made_on_request_takes_the_mempool_and_its_fees(self):
        daemon, chain, coins = self.funded()
        parent = pay([coins[0]], 50 * COIN - 1000)
        child = pay([(parent.txid, 0)], 50 * COIN - 3000)
        for tx in (parent, child):
            daemon.rpc('sendrawtransaction', tx.raw.hex())
        [made] = daemon.rpc('generatetodescriptor', 1, 'raw(51)')
        block = regtest.parse_block(bytes.fromhex(daemon.rpc('getblock', made, 0)), chain.tip.height + 1)
        self.assertEqual([tx.txid for tx in block.txs[1:]], [parent.txid, child.txid])
        self.assertIn((50 * COIN + 3000).to_bytes(8, 'little'), block.txs[0].raw)
        self.assertEqual(daemon.rpc('getrawmempool'), [])
        other = pay([coins[1]], 50 * COIN - 1000)
        daemon.rpc('sendrawtransaction', other.raw.hex())
        self.assertEqual(daemon.rpc('generateblock', 'raw(51)', [])['hash'], daemon.rpc('getbestblockhash'))
        self.assertEqual(daemon.rpc('getrawmempool'), [other.txid])
        daemon.rpc('generateblock', 'raw(51)', [other.txid])
        self.assertEqual(daemon.rpc('getrawmempool'), [])


class Prioritising(MempoolTest):
    def test_a_fee_that_is_too_low_may_count_for_more_and_does_so_after_a_restart(self):
        daemon, chain, coins = self.funded()
        low = pay([coins[0]], 50 * COIN - 10)
        late = '7f' * 32
        self.assertEqual(daemon.rpc('getprioritisedtransactions'), {})
        self.assert_error(-26, 'min relay fee not met, 10 < 94', daemon, 'sendrawtransaction', low.raw.hex())
        self.assertIs(daemon.rpc('prioritisetransaction', low.txid, 0, 100), True)
        self.assertIs(daemon.rpc('prioritisetransaction', late, None, -5), True)
        self.assertEqual(daemon.rpc('getprioritisedtransactions')[low.txid], {'fee_delta': 100, 'in_mempool': False})
        daemon.rpc('sendrawtransaction', low.raw.hex())
        daemon.rpc('prioritisetransaction', low.txid, -0.0, -16)
        fees = daemon.rpc('getmempoolentry', low.txid)['fees']
        self.assertEqual((fees['base'], fees['modified']), (0.0000001, 0.00000094))
        expected = {low.txid: {'fee_delta': 84, 'in_mempool': True, 'modified_fee': 94},
                    late: {'fee_delta': -5, 'in_mempool': False}}
        self.assertEqual(daemon.rpc('getprioritisedtransactions'), expected)
        daemon.stop()
        daemon.start()
        harness.wait_until(lambda: daemon.rpc('getmempoolinfo')['loaded'], what='the mempool loaded')
        self.assertEqual(daemon.rpc('getprioritisedtransactions'), expected)
        daemon.submit(chain.mine(txs=[low]))
        self.assertEqual(daemon.rpc('getprioritisedtransactions'), {late: expected[late]})
        daemon.rpc('prioritisetransaction', late, 0, 5)
        self.assertEqual(daemon.rpc('getprioritisedtransactions'), {})

    def test_refusals_have_the_codes_and_words_of_bitcoind(self):
        daemon = self.daemon()
        txid = '7f' * 32
        self.assert_error(-8, "txid must be of length 64 (not 2, for 'zz')", daemon, 'prioritisetransaction', 'zz', 0, 1)
        self.assert_error(-8, 'Priority is no longer supported, dummy argument to prioritisetransaction must be 0.', daemon,
                          'prioritisetransaction', txid, 0.5, 1)
        self.assert_error(-1, 'JSON integer out of range', daemon, 'prioritisetransaction', txid, 1, 1.5)
        self.assert_error(-3, 'Wrong type passed:\n{\n    "Position 2 (dummy)": "JSON value of type string is not of expected type '
                              'number",\n    "Position 3 (fee_delta)": "JSON value of type null is not of expected type number"\n}',
                          daemon, 'prioritisetransaction', txid, '0', None)
        with self.assertRaises(RpcError) as caught:
            daemon.rpc('prioritisetransaction', txid, 0)
        self.assertEqual(caught.exception.code, -1)
        self.assertIn('prioritisetransaction "txid" ( dummy ) fee_delta\n', caught.exception.message)
        self.assertEqual(daemon.rpc('getprioritisedtransactions'), {})


class Restart(MempoolTest):
    def test_the_mempool_is_there_again_after_a_restart(self):
        daemon, _, coins = self.funded()
        parent = pay([coins[0]], 50 * COIN - 1000)
        child = pay([(parent.txid, 0)], 50 * COIN - 3000)
        for tx in (parent, child):
            daemon.rpc('sendrawtransaction', tx.raw.hex())
        before = daemon.rpc('getrawmempool', True)
        path = os.path.join(daemon.chain_dir, 'mempool.dat')
        self.assertEqual(daemon.rpc('savemempool'), {'filename': path})
        with open(path, 'rb') as file:
            self.assertEqual(file.read(9), (2).to_bytes(8, 'little') + b'\x08')
        os.unlink(path)
        daemon.stop()
        self.assertTrue(os.path.exists(path))
        daemon.start()
        harness.wait_until(lambda: daemon.rpc('getmempoolinfo')['loaded'], what='the mempool loaded')
        self.assertEqual(daemon.rpc('getrawmempool', True), before)
        # Numbers begin again with the process.
        self.assertEqual(daemon.rpc('getrawmempool', False, True)['mempool_sequence'], 3)

    def test_without_persistmempool_nothing_is_kept_and_a_damaged_file_is_left_alone(self):
        daemon, _, coins = self.funded('-persistmempool=0')
        daemon.rpc('sendrawtransaction', pay([coins[0]], 50 * COIN - 1000).raw.hex())
        daemon.stop()
        path = os.path.join(daemon.chain_dir, 'mempool.dat')
        self.assertFalse(os.path.exists(path))
        with open(path, 'wb') as file:
            file.write(b'\x02' + bytes(7) + b'\x08' + bytes(8) + b'\xff' * 40)
        daemon.start('-persistmempool=1')
        harness.wait_until(lambda: daemon.rpc('getmempoolinfo')['loaded'], what='the mempool loaded')
        self.assertEqual(daemon.rpc('getrawmempool'), [])
        self.assertIn('mempool.dat', daemon.debug_log())


if __name__ == '__main__':
    main()
