# SPDX-License-Identifier: MIT
"""Reads the event log of a daemon that is down, and holds it against itself, the chain and the blocks."""
import json
import os
import subprocess

import harness
import regtest


def dump(daemon):
    tool = os.environ.get('BLOCKPUB_STORE_DUMP') or os.path.join(harness.build_dir(), 'tests', 'integration', 'store_dump')
    done = subprocess.run([tool, daemon.chain_dir], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise AssertionError(f'store_dump: {done.returncode}: {done.stderr.decode()}')
    return json.loads(done.stdout)


def verify(test, daemon):
    """No gap, no double, no event without its block, but for those that a later record says are pruned; and the events
    lead exactly to the active chain.

    Returns the dump."""
    state = dump(daemon)
    stack = []
    told = max((event[4] for event in state['events'] if event[1] == 'P'), default=-1)
    for number, (index, kind, block_hash, previous, height, found) in enumerate(state['events']):
        where = f'event {number} of {len(state["events"])}'
        test.assertEqual(index, number, f'{where}: a gap or a double')
        if kind == 'P':
            stack += state['active'][len(stack):height + 1]  # a chain that began there (-startat=tip)
            test.assertEqual(block_hash, stack[height], f'{where}: names a block off the chain')
            continue
        test.assertTrue(found or height <= told, f'{where}: block {block_hash} is not there')
        if kind == 'C':
            test.assertEqual(previous, stack[-1] if stack else '0' * 64, f'{where}: connects elsewhere than to the tip')
            stack.append(block_hash)
        else:
            test.assertEqual(block_hash, stack.pop(), f'{where}: disconnects another block than the tip')
            test.assertEqual(previous, stack[-1], where)
        test.assertEqual(height, len(stack) - 1 + (kind == 'D'), where)
    test.assertEqual(stack, state['active'])
    test.assertEqual(state['tip'], {'hash': stack[-1], 'height': len(stack) - 1})
    test.assertEqual(stack[0], regtest.GENESIS_HASH)
    return state
