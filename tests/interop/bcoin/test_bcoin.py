# SPDX-License-Identifier: MIT
"""Following a node that others wrote: bcoin, from npm."""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(os.path.dirname(os.path.dirname(HERE)), 'integration')]
import from_npm
import harness
import regtest
from harness import IntegrationTest, main, wait_until


class Bcoin:
    """A bcoin in a process of its own."""

    def __init__(self, directory, *calls):
        """`calls`: the address of whom it is to call."""
        self.port = harness.free_port()
        environment = {**os.environ, 'NODE_BACKEND': 'js'}
        self.process = subprocess.Popen(['node', 'node.cjs', str(self.port), str(harness.free_port()), *calls], cwd=directory,
                                        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.answer() == 'ready'

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError('bcoin has ended')
        answer = json.loads(line)
        if 'error' in answer:
            raise AssertionError(answer['error'])
        return answer['result']

    def call(self, name, **arguments):
        self.process.stdin.write(json.dumps({'call': name, **arguments}) + '\n')
        self.process.stdin.flush()
        return self.answer()

    def mine(self, count, **arguments):
        return [regtest.parse_block(bytes.fromhex(block['raw'])) for block in self.call('mine', count=count, **arguments)]

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(harness.seconds(10))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class FollowBcoin(IntegrationTest):
    def bcoin(self, *calls):
        node = Bcoin(from_npm.installed(HERE, 'node.cjs', 'bcoin', 'node'), *calls)
        self.addCleanup(node.end)
        return node

    def follow(self, *nodes):
        # The blocks have the time of the real clock.
        return self.daemon(*[f'-connect=127.0.0.1:{node.port}' for node in nodes], source=None, mocktime=0)

    def wait_tip(self, daemon, block):
        wait_until(lambda: daemon.rpc('getbestblockhash') == block.hash, 30, f'block {block.hash}')

    def test_from_nothing_to_the_tip_and_on(self):
        node = self.bcoin()
        first = node.mine(120)
        daemon = self.follow(node)
        self.wait_tip(daemon, first[-1])
        self.assertEqual(daemon.rpc('getblockcount'), 120)
        row, = daemon.rpc('getpeerinfo')
        self.assertIn('bcoin', row['subver'])
        stream = self.subscriber(daemon.endpoint)
        while True:  # A subscription is in force when something comes through it.
            block, = node.mine(1)
            try:
                stream.wait_for(lambda frames: harness.ends_block(frames, block), 1)
                break
            except AssertionError:
                self.wait_tip(daemon, block)
        stream.take()

        height = node.call('tip')['height']
        live = [node.mine(1)[0] for _ in range(5)]
        got = stream.wait_for(lambda frames: harness.ends_block(frames, live[-1]))
        told = [frame for frame in got if frame[0] == b'sequence']
        self.assert_frames(told, [(b'sequence', bytes.fromhex(block.hash) + b'C') for block in live])
        self.assertEqual(got[-1][1], live[-1].raw)
        stream.take()

        branch = node.mine(3, on=height + 3)
        got = stream.wait_for(lambda frames: harness.ends_block(frames, branch[-1]))
        self.assert_frames([frame for frame in got if frame[0] == b'sequence'],
                           [(b'sequence', bytes.fromhex(block.hash) + b'D') for block in (live[4], live[3])]
                           + [(b'sequence', bytes.fromhex(block.hash) + b'C') for block in branch])

        self.assertEqual(node.call('cut'), 1)
        after_cut = node.mine(2)
        self.wait_tip(daemon, after_cut[-1])

        node.call('close')
        wait_until(lambda: daemon.rpc('getconnectioncount') == 0, 20, 'no connection')
        node.call('open')
        after_restart = node.mine(2)
        self.wait_tip(daemon, after_restart[-1])

    def test_transactions_and_compact_blocks(self):
        node = self.bcoin()
        first = node.mine(110)
        daemon = self.follow(node)
        self.wait_tip(daemon, first[-1])

        def counted(message):
            return daemon.rpc('getpeerinfo')[0]['bytesrecv_per_msg'].get(message, 0)
        wait_until(lambda: daemon.rpc('getpeerinfo')[0]['bip152_hb_to'], 20, 'the wish for compact blocks')
        stream = self.subscriber(daemon.endpoint, topics=(b'rawtx', b'sequence'))
        # Announced by it.
        theirs = [node.call('pay', height=height, send=True) for height in (1, 2, 3)]
        txids = {tx['txid'] for tx in theirs}
        wait_until(lambda: set(daemon.rpc('getrawmempool')) == txids, 30, 'its transactions')
        seen = stream.wait_body(b'rawtx', bytes.fromhex(theirs[-1]['raw']))
        self.assertEqual(len([frame for frame in seen if frame[1][32:33] == b'A']), len(seen) // 2)
        # Handed to it, and back: its mempool has run the script.
        ours = node.call('pay', height=4, send=False)
        self.assertEqual(daemon.rpc('sendrawtransaction', ours['raw'], 0), ours['txid'])
        wait_until(lambda: set(daemon.rpc('getrawmempool')) == {*txids, ours['txid']}, 30, 'our transaction')
        self.assertIn(ours['txid'], node.call('mempool'))
        # Mined: the block comes as a compact block, and is whole with what is here.
        whole = counted('block')
        block, = node.mine(1)
        self.wait_tip(daemon, block)
        self.assertEqual(len(block.txs), 5)
        wait_until(lambda: counted('cmpctblock') > 0, 10, 'the compact block in the counts')
        self.assertEqual(counted('block'), whole)
        self.assertEqual(daemon.rpc('getrawmempool'), [])

    def test_two_that_disagree(self):
        one, other = self.bcoin(), self.bcoin()
        common = one.mine(10)
        other.call('take', raws=[block.hex for block in common])
        less, more = one.mine(2), other.mine(4)
        daemon = self.follow(one, other)
        self.wait_tip(daemon, more[-1])
        self.assertIn(less[-1].hash, [tip['hash'] for tip in daemon.rpc('getchaintips')])
        grown = one.mine(4)
        self.wait_tip(daemon, grown[-1])

    def test_it_takes_its_chain_from_the_daemon(self):
        """-listen: a chain of more than one message of headers, what is mined on, a transaction, and a reorganization."""
        port = harness.free_port()
        chain = regtest.Chain(int(time.time()) - 20_000)
        blocks = [chain.mine() for _ in range(600)]
        path = os.path.join(self.temporary_directory(), 'blocks.dat')
        with open(path, 'wb') as file:
            file.writelines(regtest.record(block.raw) for block in blocks)
        daemon = self.daemon('-listen=1', '-bind=127.0.0.1', f'-port={port}', f'-loadblock={path}', '-acceptnonstdtxn=1',
                             source=None, mocktime=0)
        self.wait_tip(daemon, blocks[-1])
        node = self.bcoin(f'127.0.0.1:{port}')

        def wait_bcoin(block):
            wait_until(lambda: node.call('tip')['hash'] == block.hash, 60, f'block {block.height} in bcoin')
        wait_bcoin(blocks[-1])
        row, = daemon.rpc('getpeerinfo')
        self.assertTrue(row['inbound'])
        self.assertIn('bcoin', row['subver'])
        for _ in range(3):
            daemon.submit(chain.mine())
            wait_bcoin(chain.tip)
        tx = regtest.spend(blocks[0].txs[0].txid, 0, regtest.subsidy(1) - 10_000, padding=30)
        daemon.rpc('sendrawtransaction', tx.raw.hex())
        wait_until(lambda: node.call('mempool') == [tx.txid], 20, 'the transaction in bcoin')
        branch = chain.branch(blocks[-1], 4)
        for block in branch:
            daemon.rpc('submitblock', block.hex)
        wait_bcoin(branch[-1])


if __name__ == '__main__':
    main()
