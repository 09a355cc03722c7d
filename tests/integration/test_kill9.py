# SPDX-License-Identifier: MIT
"""kill -9 at random moments: every start opens, the log is whole, what was announced or answered is still there, and
the coins are those of the tip."""
import os
import threading
import time

import coinset
import eventlog
import harness
import regtest
from harness import IntegrationTest, main, rounds, seeded_random, wait_until


class Kill9(IntegrationTest):
    def assert_log_extends(self, state, before):
        """What was in the log once stays in it: no index is ever used for something else."""
        self.assertEqual(state['events'][:len(before)], before)
        return state['events']

    def test_during_import(self):
        """Scenario 49 for bulk writing."""
        dice = seeded_random()
        count, branch_every = 1500, 200
        chain, blocks = self.chain(), []
        for height in range(1, count + 1):
            parent = chain.tip
            outputs = regtest.fan_out(height, 60) + [(0, b'\x6a' + bytes(dice.randrange(8000)))]
            blocks.append(chain.mine(outputs=outputs))
            if height % branch_every == 0:
                blocks += chain.branch(parent, 2)
        best = chain.tip
        by_hash = {block.hash: block for block in blocks}
        # Real block files hold blocks in the order of arrival.
        for at in range(0, len(blocks) - 20, 20):
            part = blocks[at:at + 20]
            dice.shuffle(part)
            blocks[at:at + 20] = part
        directory = self.temporary_directory()
        with open(os.path.join(directory, 'blk00000.dat'), 'wb') as file:
            file.writelines(regtest.record(block.raw) for block in blocks)
        log, longest = [], 0.05
        # Little memory for coins: some are written in every round, most are not.
        arguments = ['-dbcache=4', f'-importblocks={directory}']
        daemon = self.daemon(*arguments, topics=(), start=False)
        began = time.monotonic()
        daemon.start()
        wait_until(lambda: daemon.rpc('getblockcount') == count, 60, 'the import')
        longest = time.monotonic() - began
        self.assertGreater(daemon.rpc('getblockpubinfo')['coins']['flushed_height'], 0)
        coinset.check(self, daemon, by_hash)
        daemon.kill9()
        eventlog.verify(self, daemon)
        for round_number in range(rounds(25)):
            if round_number % 5 == 0:
                daemon.destroy()
                log = []
                daemon = self.daemon(*arguments, topics=(), start=False)
            daemon.spawn()
            time.sleep(dice.uniform(0, longest))
            daemon.kill9()
            if os.path.exists(os.path.join(daemon.chain_dir, 'chain', 'data.mdb')):
                try:
                    eventlog.dump(daemon)
                except AssertionError as error:
                    # Killed before genesis was committed: there is nothing to tell yet.
                    self.assertEqual(log, [], error)
                    continue
                log = self.assert_log_extends(eventlog.verify(self, daemon), log)
                self.check_coins(daemon, by_hash)
                log = self.assert_log_extends(eventlog.verify(self, daemon), log)
        daemon.start()
        wait_until(lambda: daemon.rpc('getbestblockhash') == best.hash, 60, 'the tip of the import')
        coinset.check(self, daemon, by_hash)
        daemon.stop()
        self.assert_log_extends(eventlog.verify(self, daemon), log)

    def check_coins(self, daemon, by_hash):
        """A start without a source finds the coins of the tip that the last one left (or makes them so)."""
        imports = daemon.args.pop()
        daemon.start()
        coinset.check(self, daemon, by_hash)
        daemon.kill9()
        daemon.args.append(imports)

    def test_during_submitblock(self):
        """Scenario 49 at the tip: a block whose submitblock was answered, or that was announced, is never lost; the
        stream of a subscriber goes on with what it has not seen."""
        dice = seeded_random()
        chain = self.chain()
        daemon = self.daemon('-dbcache=4')
        log, answered, by_hash = [], 0, {}
        for _ in range(rounds(25)):
            subscriber = harness.Subscriber(daemon.endpoint)
            try:
                done = self.kill_while_submitting(daemon, chain, dice)
                seen = subscriber.take()
            finally:
                subscriber.close()
            state = eventlog.verify(self, daemon)
            log = self.assert_log_extends(state, log)
            connected = {event[2] for event in state['events'] if event[1] == 'C'}
            for block in done:
                self.assertIn(block.hash, connected, 'an answered block is not in the log')
            for topic, body, _ in seen:
                if topic == b'hashblock' or (topic == b'sequence' and body[32:] == b'C'):
                    self.assertIn(body[:32].hex(), connected, 'an announced block is not in the log')
            answered += len(done)
            daemon.start()
            self.assertEqual(daemon.rpc('getbestblockhash'), state['tip']['hash'])
            chain.tip = regtest.parse_block(bytes.fromhex(daemon.rpc('getblock', state['tip']['hash'], 0)), state['tip']['height'])
            for block_hash in state['active'][1:]:
                if block_hash not in by_hash:
                    by_hash[block_hash] = regtest.parse_block(bytes.fromhex(daemon.rpc('getblock', block_hash, 0)))
            coinset.check(self, daemon, by_hash)
        self.assertGreater(answered, 0)

    def kill_while_submitting(self, daemon, chain, dice):
        """Submits blocks, a reorganization among them, until the daemon is killed; those that were answered."""
        done, killer = [], threading.Timer(dice.uniform(0.005, 0.25), daemon.process.kill)
        killer.start()
        try:
            while True:
                if dice.random() < 0.15 and chain.tip.height > 3:
                    fork = regtest.parse_block(bytes.fromhex(daemon.rpc('getblock', chain.tip.previous, 0)), chain.tip.height - 1)
                    branch = chain.branch(fork, 2)
                else:
                    branch = chain.branch(chain.tip, 1)
                for block in branch:
                    daemon.rpc('submitblock', block.hex)
                    # A block with less work is stored, and connected with its child.
                    if block is branch[-1]:
                        done += branch
                chain.tip = branch[-1]
        except (ConnectionError, OSError):
            pass
        finally:
            killer.join()
            daemon.kill9()
        return done


if __name__ == '__main__':
    main()
