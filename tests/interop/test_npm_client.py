# SPDX-License-Identifier: MIT
"""A client of bitcoind from npm, as it stands: bitcoin-core, which knows JSON-RPC and REST."""
import json
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), 'integration'))
import harness
import regtest
from harness import IntegrationTest, main, seconds

# A pay-to-witness-pubkey-hash address of regtest whose key nobody has.
ADDRESS = 'bcrt1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqdku202'


def read(path):
    try:
        with open(path, 'rb') as file:
            return file.read()
    except FileNotFoundError:
        return None


def installed():
    """The directory with the client and what it needs, beside the build. Where npm is not, or the registry is not
    reached, the test is left out, but never where CI says that it is one."""
    if not (shutil.which('node') and shutil.which('npm')):
        if os.environ.get('CI'):
            raise AssertionError('CI without node and npm')
        raise unittest.SkipTest('no node and npm')
    directory = os.path.join(harness.build_dir(), 'tests', 'interop', 'node')
    os.makedirs(directory, exist_ok=True)
    lock, done = read(os.path.join(HERE, 'package-lock.json')), os.path.join(directory, 'installed-lock.json')
    if read(done) != lock:
        for name in ('package.json', 'package-lock.json'):
            shutil.copy(os.path.join(HERE, name), directory)
        # No package here needs a script of its own: the optional one that has some is for tracing.
        npm = subprocess.run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund'], cwd=directory, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
        if npm.returncode != 0:
            if os.environ.get('CI'):
                raise AssertionError(npm.stdout)
            raise unittest.SkipTest(f'npm cannot install bitcoin-core: {npm.stdout[-300:]}')
        with open(done, 'wb') as file:
            file.write(lock)
    shutil.copy(os.path.join(HERE, 'bitcoin_core_client.mjs'), directory)
    return directory


class NpmClient(IntegrationTest):
    def test_bitcoin_core(self):
        directory = installed()
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
