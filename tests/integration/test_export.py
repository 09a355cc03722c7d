# SPDX-License-Identifier: MIT
"""-exportblocks is the way back to the tools that read block files."""
import os
import subprocess

import regtest
from harness import IntegrationTest, main, seconds, vector_manifest, vector_rows, wait_until

CHAIN = vector_manifest()['chain-a']


class ExportedChain(IntegrationTest):
    def test_export_and_import_again(self):
        """-exportblocks is the way back: it writes the active chain, and that brings another daemon to the same tip."""
        for key in (None, '0011223344556677'):
            with self.subTest(key=key):
                out = self.temporary_directory()
                daemon = self.daemon(mocktime=CHAIN['mocktime'], topics=())
                for step in vector_rows('chain-a.jsonl'):
                    if step['op'] == 'block':
                        daemon.rpc('submitblock', step['hex'])
                self.assertEqual(daemon.rpc('getbestblockhash'), CHAIN['best_hash'])
                daemon.stop()
                daemon.spawn(f'-exportblocks={out}', *([f'-exportkey={key}'] if key else []))
                self.assertEqual(daemon.wait_exit(30), 0)
                daemon.process = None
                with open(os.path.join(out, 'blk00000.dat'), 'rb') as file:
                    head = file.read(8)
                self.assertEqual(regtest.xor(head, bytes.fromhex(key or '00' * 8))[:4], regtest.MAGIC)
                again = self.daemon(f'-importblocks={out}', mocktime=CHAIN['mocktime'], topics=())
                wait_until(lambda: again.rpc('getbestblockhash') == CHAIN['best_hash'], 30, 'the tip of the import')
                self.assertEqual([tip['status'] for tip in again.rpc('getchaintips')], ['active'])
                again.stop()

    def test_an_export_that_fails_says_so_and_ends_with_status_3(self):
        out = self.temporary_directory()
        open(os.path.join(out, 'blk00000.dat'), 'wb').close()
        daemon = self.daemon(f'-exportblocks={out}', topics=(), start=False)
        ended = subprocess.run([daemon.binary, *daemon.args, '-printtoconsole=0'], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=seconds(30), check=False)
        self.assertEqual(ended.returncode, 3)
        self.assertEqual(ended.stderr.decode(), f'Error: export to {out}: {out} holds blk00000.dat already: export to an '
                         'empty directory\n')

    def test_the_blocks_of_another_chain_are_refused_at_the_start(self):
        directory = self.temporary_directory()
        with open(os.path.join(directory, 'blk00000.dat'), 'wb') as file:
            file.write(bytes.fromhex('f9beb4d9') + regtest.record(b'x' * 100)[4:])
        daemon = self.daemon(f'-importblocks={directory}', topics=(), start=False)
        ended = subprocess.run([daemon.binary, *daemon.args, '-printtoconsole=0'], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=seconds(30), check=False)
        self.assertEqual(ended.returncode, 1)
        self.assertIn('holds blocks of chain main, not of chain regtest', ended.stderr.decode())


if __name__ == '__main__':
    main()
