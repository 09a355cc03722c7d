# SPDX-License-Identifier: MIT
"""The example subscribers beside a living daemon: they start as they stand, and hear of its blocks."""
import os
import shutil
import subprocess
import sys
import threading

import harness
from harness import IntegrationTest, main

EXAMPLES = os.path.join(harness.ROOT, 'examples')


class Examples(IntegrationTest):
    def hears_blocks(self, command, cwd=None):
        """Runs a subscriber until it names a block that was mined beside it."""
        daemon, chain = self.daemon(), self.chain()
        subscriber = subprocess.Popen([*command, daemon.endpoint], cwd=cwd, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
        self.addCleanup(subscriber.stdout.close)
        self.addCleanup(subscriber.wait)
        self.addCleanup(subscriber.kill)
        lines, hashes, heard = [], set(), threading.Event()

        def read():
            for line in subscriber.stdout:
                lines.append(line)
                if any(block_hash in line for block_hash in list(hashes)):
                    heard.set()
        threading.Thread(target=read, daemon=True).start()
        for _ in range(int(harness.seconds(100))):
            block = chain.mine()
            hashes.add(block.hash)
            daemon.submit(block)
            if heard.wait(0.2):
                break
        self.assertTrue(heard.is_set(), f'{command} names no block; it said:\n{"".join(lines[-20:])}')

    def test_python(self):
        self.hears_blocks([sys.executable, '-u', os.path.join(EXAMPLES, 'subscriber.py')])

    def test_cpp(self):
        program = os.path.join(harness.build_dir(), 'examples', 'subscriber')
        if not os.path.exists(program):
            self.skipTest('not built: no cppzmq')
        self.hears_blocks(['stdbuf', '-oL', program])

    def test_node(self):
        if not (shutil.which('node') and shutil.which('npm')):
            self.skipTest('no node and npm')
        directory = self.temporary_directory()
        for name in ('package.json', 'subscriber.mjs'):
            shutil.copy(os.path.join(EXAMPLES, name), directory)
        installed = subprocess.run(['npm', 'install', '--no-audit', '--no-fund', '--no-package-lock'], cwd=directory,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
        if installed.returncode != 0:
            self.skipTest(f'npm cannot install zeromq: {installed.stdout[-300:]}')
        self.hears_blocks(['node', 'subscriber.mjs'], cwd=directory)


if __name__ == '__main__':
    main()
