# SPDX-License-Identifier: MIT
"""A client of bitcoind from npm, as it stands: bitcoin-core, which knows JSON-RPC and REST."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'integration'))
import from_npm
import regtest
from harness import IntegrationTest, main, seconds

# A pay-to-witness-pubkey-hash address of regtest whose key nobody has.
ADDRESS = 'bcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqdku202'


class NpmClient(IntegrationTest):
    def test_bitcoin_core(self):
        directory = from_npm.installed(HERE, 'bitcoin_core_client.mjs', 'node')
        daemon, chain = self.daemon('-rest', topics=()), self.chain()
        blocks = [regtest.GENESIS]
        for size in (0, 0, 20_000, 0):
            blocks.append(chain.mine_bytes(size) if size else chain.mine())
            daemon.submit(blocks[-1])
        username, password = daemon.cookie.split(':')
        told = {'url': f'http://127.0.0.1:{daemon.rpc_port}', 'username': username, 'password': password,
                'blocks': [{'hash': block.hash, 'hex': block.hex, 'txids': [tx.txid for tx in block.txs]}
                           for block in blocks],
                'next': chain.mine().hex, 'address': ADDRESS}
        client = subprocess.run(['node', 'bitcoin_core_client.mjs'], cwd=directory, input=json.dumps(told), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=seconds(100))
        self.assertEqual(client.returncode, 0, client.stdout)
        self.assertTrue(client.stdout.endswith('9 checks passed\n'), client.stdout)
        print(client.stdout, end='', file=sys.stderr)


if __name__ == '__main__':
    main()
