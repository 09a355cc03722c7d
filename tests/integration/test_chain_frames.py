# SPDX-License-Identifier: MIT
"""The recorded chain goes in by every source; the recorded frames, answers and tip come out."""
import os
import re
import signal
import shutil

import frames as fr
import harness
import regtest
from harness import IntegrationTest, main, vector_manifest, vector_rows, wait_until

CHAIN = vector_manifest()['chain-a']
REJECT = vector_manifest()['reject']


def recorded_blocks():
    return [bytes.fromhex(row['hex']) for row in vector_rows('chain-a.jsonl') if row['op'] == 'block']


def feed(test, daemon, step):
    """Does one recorded step and holds the answer against the node's."""
    if step['op'] == 'block':
        answer = daemon.rpc('submitblock', step['hex'])
        test.assertEqual(answer, step['result'], step.get('note', step['hash']))
    elif step['op'] == 'send':
        test.assertEqual(daemon.rpc('sendrawtransaction', step['hex'], 0, '1'), step['txid'])
    else:
        body = daemon.raw_rpc(step['method'], *step['params']).body.decode()
        test.assertEqual(test.without_probe(body), step['response'], step['method'])


class SubmittedChain(IntegrationTest):
    probe = None

    def without_probe(self, body):
        """A response without the invalidated block that opened the subscription."""
        if not self.probe:
            return body
        row = f',{{"height":1,"hash":"{self.probe.hash}","branchlen":1,"status":"invalid"}}'
        return body.replace(row, '')

    def open_subscription(self, daemon, mocktime):
        """A subscriber that certainly gets what comes next, and the tip is genesis: a block of ours is connected
        until it is heard of, then invalidated."""
        subscriber = self.subscriber(daemon.endpoint)
        self.probe = probe = regtest.make_block(regtest.GENESIS, mocktime - 3600, tag=b'probe')
        daemon.submit(probe)
        while True:
            try:
                subscriber.wait_for(lambda got: harness.ends_block(got, probe), 0.5)
                break
            except AssertionError:
                daemon.rpc('invalidateblock', probe.hash)
                daemon.rpc('reconsiderblock', probe.hash)
        daemon.rpc('invalidateblock', probe.hash)
        subscriber.wait_body(b'sequence', bytes.fromhex(probe.hash) + b'D')
        return subscriber, self.assert_counters(subscriber.take())

    def hold_to_recording(self, steps, recording):
        """Does the steps, which end on the recorded tip, and holds every frame against the node's: those of
        transactions that enter, leave or return included, with their numbers."""
        daemon = self.daemon('-acceptnonstdtxn=1', mocktime=CHAIN['mocktime'])
        subscriber, counters = self.open_subscription(daemon, CHAIN['mocktime'])
        for step in steps:
            feed(self, daemon, step)
        self.assertEqual(daemon.rpc('getbestblockhash'), CHAIN['best_hash'])
        tip = regtest.parse_block(bytes.fromhex(daemon.rpc('getblock', CHAIN['best_hash'], 0)), CHAIN['best_height'])
        last = regtest.make_block(tip, CHAIN['mocktime'])
        daemon.submit(last)
        got = subscriber.wait_for(lambda seen: harness.ends_block(seen, last))
        end = len(got) - len(regtest.connect_frames(last) + regtest.tip_frames(last))
        self.assert_frames(got[end:], regtest.connect_frames(last) + regtest.tip_frames(last))
        self.assert_counters(got, counters)
        self.assert_frames(fr.condensed(got[:end]), fr.recorded(recording))
        self.assertEqual(subscriber.malformed, [])

    def test_recorded_steps_make_the_recorded_frames(self):
        self.hold_to_recording(vector_rows('chain-a.jsonl'), 'chain-a-zmq.jsonl')

    def test_recorded_transactions_make_the_recorded_frames(self):
        sent = vector_rows('chain-a-mempool.jsonl')
        steps = []
        for done, step in enumerate(vector_rows('chain-a.jsonl')):
            steps += [{'op': 'send', **row} for row in sent if row['after'] == done]
            steps.append(step)
        self.hold_to_recording(steps, 'chain-a-mempool-zmq.jsonl')

    def test_blocks_a_node_refuses_get_its_words(self):
        daemon = self.daemon('-maxtipage=100000000', mocktime=REJECT['mocktime'])
        subscriber, counters = self.open_subscription(daemon, REJECT['mocktime'])
        self.assertEqual(daemon.rpc('getbestblockhash'), regtest.GENESIS_HASH)
        for row in vector_rows('reject.jsonl'):
            self.assertEqual(daemon.raw_rpc('submitblock', row['hex']).body.decode(), row['response'], row['name'])
            self.assertEqual(daemon.rpc('getbestblockhash'), row['tip'], row['name'])
        last = regtest.parse_block(bytes.fromhex(daemon.rpc('getblock', row['tip'], 0)), daemon.rpc('getblockcount'))
        last = regtest.make_block(last, last.time + 1)
        daemon.submit(last)
        got = subscriber.wait_for(lambda seen: harness.ends_block(seen, last))
        owed = regtest.connect_frames(last) + regtest.tip_frames(last)
        self.assert_frames(got[-len(owed):], owed)
        self.assert_counters(got, counters)
        self.assert_frames(fr.condensed(got[:-len(owed)]), fr.recorded('reject-zmq.jsonl'))

    def test_a_daemon_sends_genesis_with_counter_zero(self):
        """What the recordings say of genesis: it took counter 0 of hashtx, rawtx and sequence, none of hashblock."""
        daemon = self.daemon()
        subscriber = self.subscriber(daemon.endpoint)
        chain = self.chain()
        counters = subscriber.synchronize(daemon, chain)
        blocks = chain.tip.height
        self.assertEqual(counters, {b'hashtx': 1 + blocks, b'rawtx': 1 + blocks, b'sequence': 1 + blocks,
                                    b'hashblock': blocks, b'rawblock': blocks})


class ImportedChain(IntegrationTest):
    def wait_tip(self, daemon, best=CHAIN['best_hash']):
        wait_until(lambda: daemon.rpc('getbestblockhash') == best, 30, 'the tip of the import')

    def assert_stale_branch(self, daemon):
        """The side branch of the recording came along."""
        tips = {tip['hash']: tip for tip in daemon.rpc('getchaintips')}
        self.assertEqual(tips[CHAIN['best_hash']]['status'], 'active')
        for stale in CHAIN['stale_tips']:
            self.assertIn(stale, tips)

    def blocks_directory(self, key=None):
        """A copy of the node's own `blocks` directory, with its xor.dat."""
        directory = self.temporary_directory()
        for name in ('blk00000.dat', 'xor.dat'):
            shutil.copyfile(os.path.join(harness.VECTORS, name), os.path.join(directory, name))
        return directory

    def records(self):
        """The records of the node's file as (offset, raw block)."""
        with open(os.path.join(harness.VECTORS, 'blk00000.dat'), 'rb') as file:
            data = file.read()
        with open(os.path.join(harness.VECTORS, 'xor.dat'), 'rb') as file:
            data = regtest.xor(data, file.read())
        out, at = [], 0
        while data[at:at + 4] == regtest.MAGIC:
            size = int.from_bytes(data[at + 4:at + 8], 'little')
            out.append(data[at + 8:at + 8 + size])
            at += 8 + size
        self.assertGreater(len(out), 170)
        return out

    def test_loadblock_of_a_plain_file(self):
        path = os.path.join(self.temporary_directory(), 'bootstrap.dat')
        with open(path, 'wb') as file:
            file.writelines(regtest.record(raw) for raw in recorded_blocks())
        daemon = self.daemon(f'-loadblock={path}', mocktime=CHAIN['mocktime'])
        self.wait_tip(daemon)
        self.assert_stale_branch(daemon)

    def test_loadblock_of_several_files_one_of_them_with_a_key(self):
        directory, blocks = self.temporary_directory(), recorded_blocks()
        key = bytes.fromhex('0102030405060708')
        with open(os.path.join(directory, 'first.dat'), 'wb') as file:
            file.writelines(regtest.record(raw) for raw in blocks[:90])
        with open(os.path.join(directory, 'second.dat'), 'wb') as file:
            file.write(regtest.xor(b''.join(regtest.record(raw) for raw in blocks[90:]), key))
        with open(os.path.join(directory, 'xor.dat'), 'wb') as file:
            file.write(key)
        daemon = self.daemon(f'-loadblock={directory}/first.dat', f'-loadblock={directory}/second.dat',
                             mocktime=CHAIN['mocktime'])
        self.wait_tip(daemon)

    def test_importblocks_of_a_nodes_directory(self):
        daemon = self.daemon(f'-importblocks={self.blocks_directory()}', mocktime=CHAIN['mocktime'])
        self.wait_tip(daemon)
        self.assert_stale_branch(daemon)

    def test_importblocks_of_the_same_records_shuffled(self):
        order = harness.seeded_random()
        directory, blocks = self.temporary_directory(), self.records()
        order.shuffle(blocks)
        key = order.randbytes(8)
        with open(os.path.join(directory, 'xor.dat'), 'wb') as file:
            file.write(key)
        for number, part in enumerate((blocks[:60], blocks[60:61], blocks[61:])):
            with open(os.path.join(directory, f'blk{number:05}.dat'), 'wb') as file:
                file.write(regtest.xor(b''.join(regtest.record(raw) for raw in part), key))
        daemon = self.daemon(f'-importblocks={directory}', mocktime=CHAIN['mocktime'])
        self.wait_tip(daemon)

    def test_importblocks_shuffled_and_stopped_half_way(self):
        """The file grows after the first start has read its half: the rest is taken up, children included that
        had been waiting for their parents over the restart."""
        order = harness.seeded_random()
        directory, blocks = self.temporary_directory(), self.records()
        order.shuffle(blocks)
        half = len(blocks) // 2
        path = os.path.join(directory, 'blk00000.dat')
        with open(path, 'wb') as file:
            file.writelines(regtest.record(raw) for raw in blocks[:half])
        daemon = self.daemon(f'-importblocks={directory}', mocktime=CHAIN['mocktime'])
        daemon.stop()
        with open(path, 'ab') as file:
            file.writelines(regtest.record(raw) for raw in blocks[half:])
        daemon.start()
        self.wait_tip(daemon)
        daemon.stop()
        daemon.start()
        self.wait_tip(daemon)

    def test_import_stopped_again_and_again_ends_at_the_tip(self):
        """SIGTERM at random moments of the import."""
        moments = harness.seeded_random()
        daemon = self.daemon(f'-importblocks={self.blocks_directory()}', start=False, mocktime=CHAIN['mocktime'])
        for _ in range(harness.rounds(6)):
            daemon.spawn()
            pause = moments.uniform(0, 0.2)
            try:
                daemon.process.wait(pause)
            except Exception:
                pass
            # A signal that comes before the process has taken its signals ends it before it has opened anything.
            self.assertIn(daemon.terminate(), (0, -signal.SIGTERM), daemon.console())
        daemon.start()
        self.wait_tip(daemon)

    def test_importblocks_survives_what_block_files_hold(self):
        """Scenario 33: a torn record, a length of 2 GB, stray magic, zeros, a record of another network; the whole
        blocks between them are found; each of the first ten bad spots of the file is a warning, the others are counted."""
        blocks = recorded_blocks()
        directory = self.temporary_directory()
        bad = [regtest.MAGIC + b'\xff\xff\xff\x7f', regtest.MAGIC * 2, regtest.record(blocks[1])[:150], bytes(16),
               regtest.record(regtest.GENESIS_RAW, bytes.fromhex('f9beb4d9')), b'junk']
        path, spots = os.path.join(directory, 'blk00000.dat'), []
        with open(path, 'wb') as file:
            file.write(regtest.record(regtest.GENESIS_RAW))
            for number, raw in enumerate(blocks):
                file.write(regtest.record(raw))
                if number % 7 == 0:
                    spots.append(file.tell())
                    if number // 7 % len(bad) == 1:  # each magic may begin a record
                        spots.append(file.tell() + 4)
                    file.write(bad[number // 7 % len(bad)])
            spots.append(file.tell())
            file.write(regtest.record(blocks[-1])[:-10])
        daemon = self.daemon(f'-importblocks={directory}', mocktime=CHAIN['mocktime'])
        self.wait_tip(daemon)
        self.assertLess(daemon.resident_bytes(), harness.memory(1024))
        summary = f'[import:warning] {path}: {len(spots) - 10} more places passed over'
        wait_until(lambda: summary in daemon.debug_log(), 20, summary)
        warned = re.findall(re.escape(path) + r': passed over \d+ bytes at byte (\d+): ', daemon.debug_log())
        self.assertEqual([int(begin) for begin in warned], spots[:10])

    def test_frames_of_an_import_are_silent_about_tips(self):
        """Scenario 23: in initial download rawtx, hashtx and C are sent, hashblock and rawblock not; afterwards a
        block is announced whole."""
        blocks = recorded_blocks()
        directory = self.temporary_directory()
        path = os.path.join(directory, 'bootstrap.dat')
        with open(path, 'wb') as file:
            file.writelines(regtest.record(raw) for raw in blocks[:150])
        daemon = self.daemon(f'-loadblock={path}', mocktime=CHAIN['mocktime'])
        wait_until(lambda: daemon.rpc('getblockcount') == 150, 30, 'the import')
        # It holds as long as the import does, which may outlast the last block's connection.
        wait_until(lambda: not daemon.rpc('getblockchaininfo')['initialblockdownload'], 30, 'the end of initial download')
        subscriber = self.subscriber(daemon.endpoint)
        tip = regtest.parse_block(blocks[149], 150)
        chain = regtest.Chain(CHAIN['mocktime'] - 3600, tip)
        counters = subscriber.synchronize(daemon, chain)
        since = chain.tip.height - 150
        self.assertEqual(counters[b'sequence'], 1 + 150 + since)
        self.assertEqual(counters[b'hashblock'], since)
        self.assertEqual(counters[b'rawblock'], since)


if __name__ == '__main__':
    main()
