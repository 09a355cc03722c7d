#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the examples against each other: embed publishes, each subscriber has to print what it published.

  run_examples.py --embed BINARY [--subscriber BINARY]

The Node example is installed with npm into a temporary directory; without npm it is left out, and without a
registry too, unless the variable CI is set.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent
MESSAGES = 6


def run(embed, subscriber, cwd=None):
    """Publishes lines until the subscriber has had its messages. Result: its output."""
    with tempfile.TemporaryDirectory(prefix='blockpub-examples-') as directory:
        node = subprocess.Popen([embed, f'ipc://{directory}/blocks'], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True)
        endpoint = node.stdout.readline().split()[-1]
        process = subprocess.Popen(subscriber + [endpoint] + (['--count', str(MESSAGES)] if 'subscriber.py' in subscriber[-1]
                                                              else [str(MESSAGES)]),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd)
        # A subscription has no answer to wait for: publish until the subscriber has had enough and ends.
        ended = threading.Event()
        threading.Thread(target=lambda: (process.wait(), ended.set()), daemon=True).start()
        for block in range(600):
            if ended.wait(0.1):
                break
            node.stdin.write(f'block {block}\n')
            node.stdin.flush()
        output = process.communicate(timeout=10)[0]
        node.stdin.close()
        assert node.wait(timeout=10) == 0, 'embed failed'
        assert process.returncode == 0, f'{subscriber} left with {process.returncode}: {output}'
        return output


def check(name, output):
    lines = output.splitlines()
    for topic in ('rawblock', 'tipheight'):
        counters = [int(line.split()[1]) for line in lines if line.startswith(topic + ' ')]
        assert len(counters) == MESSAGES // 2, f'{name}: {output}'
        assert counters == list(range(counters[0], counters[0] + len(counters))), f'{name}: {output}'
    assert not any(': missed' in line for line in lines), f'{name}: {output}'
    print(f'{name}: {MESSAGES} messages received')


def install_node_example(directory):
    """Result: whether the Node example can be run from `directory`."""
    if not shutil.which('npm') or not shutil.which('node'):
        print('Node example left out: no npm')
        return False
    for name in ('package.json', 'subscriber.mjs'):
        shutil.copy(EXAMPLES / name, directory)
    install = subprocess.run(['npm', 'install', '--no-audit', '--no-fund', '--no-package-lock'], cwd=directory,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
    if install.returncode != 0:
        assert not os.environ.get('CI'), install.stdout
        print('Node example left out: npm could not install its dependency')
    return install.returncode == 0


def main():
    options = argparse.ArgumentParser()
    options.add_argument('--embed', required=True)
    options.add_argument('--subscriber')
    options = options.parse_args()

    python = run(options.embed, [sys.executable, str(EXAMPLES / 'subscriber.py')])
    assert python.splitlines()[0] == 'READY' and python.splitlines()[-1] == f'{MESSAGES} received, 0 missed', python
    check('subscriber.py', python)
    if options.subscriber:
        check('subscriber.cpp', run(options.embed, [options.subscriber]))
    with tempfile.TemporaryDirectory(prefix='blockpub-examples-') as directory:
        if install_node_example(directory):
            check('subscriber.mjs', run(options.embed, ['node', 'subscriber.mjs'], cwd=directory))


if __name__ == '__main__':
    main()
