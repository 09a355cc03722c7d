# SPDX-License-Identifier: MIT
"""A disk that is really full: writing waits and says so once, queries go on, all goes on when there is room."""
import os
import subprocess
import threading
import time

import coinset
import eventlog
import harness
import regtest
from harness import IntegrationTest, main, seconds, wait_until

DISK_MIB = 160
DISK_MIB_WITH_COINS = 100


class FullDisk(IntegrationTest):
    def small_disk(self, mebibytes=DISK_MIB):
        directory = self.temporary_directory()
        mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={mebibytes}m', 'tmpfs', directory],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if mounted.returncode != 0:
            self.skipTest(f'a file system cannot be mounted here: {mounted.stderr.decode().strip()}')
        self.addCleanup(subprocess.run, ['umount', '-l', directory], check=True)
        return directory

    def fill(self, directory, leave):
        """Takes all the room but `leave` bytes."""
        path = os.path.join(directory, 'filler')
        state = os.statvfs(directory)
        size = state.f_bavail * state.f_frsize - leave
        with open(path, 'wb') as file:
            os.posix_fallocate(file.fileno(), 0, size)
        return path

    def check_waiting_and_going_on(self, daemon, directory, leave):
        chain = self.chain()
        stream = self.subscriber(daemon.endpoint)
        counters = stream.synchronize(daemon, chain)
        filler = self.fill(directory, leave)
        blocks, done = [chain.mine_bytes(900_000) for _ in range(12)], []
        # An own connection for the writer: it waits in submitblock.
        def submit():
            with harness.HttpConnection(daemon.rpc_port, limit=120) as connection:
                for block in blocks:
                    connection.send(harness.rpc_request(daemon.cookie, 'submitblock', [block.hex]))
                    done.append(connection.read_reply().body)
        writer = threading.Thread(target=submit)
        writer.start()

        wait_until(lambda: self.trouble_lines(daemon), 20, 'a line about the disk')
        time.sleep(1)  # Several tries pass meanwhile: the line must not come with each.
        self.assertLess(len(done), len(blocks))
        self.assertLessEqual(len(self.trouble_lines(daemon)), 3, self.trouble_lines(daemon))
        for _ in range(20):
            self.assertGreaterEqual(daemon.rpc('getblockcount'), len(done))
            daemon.rpc('getblock', blocks[0].previous, 0)
        os.unlink(filler)
        writer.join(seconds(60))
        self.assertFalse(writer.is_alive(), 'submitblock does not go on')
        self.assertEqual(done, [b'{"result":null,"error":null,"id":1}\n'] * len(blocks))
        got = stream.wait_for(lambda frames: harness.ends_block(frames, blocks[-1]))
        self.assert_frames(got, [f for b in blocks for f in regtest.connect_frames(b) + regtest.tip_frames(b)])
        self.assert_counters(got, counters)
        daemon.stop()
        self.assertEqual(eventlog.verify(self, daemon)['tip']['hash'], blocks[-1].hash)

    def test_less_than_the_reserve_is_left(self):
        directory = self.small_disk()
        daemon = self.daemon('-minfreedisk=50', datadir=directory)
        self.check_waiting_and_going_on(daemon, directory, leave=52 << 20)

    def test_full_to_the_last_byte(self):
        directory = self.small_disk()
        daemon = self.daemon('-minfreedisk=0', datadir=directory)
        self.check_waiting_and_going_on(daemon, directory, leave=2 << 20)

    def test_stop_while_the_disk_is_full(self):
        """SIGTERM ends it all the same, and the next start has all that was answered."""
        directory = self.small_disk()
        daemon, chain = self.daemon('-minfreedisk=0', datadir=directory), self.chain()
        first = chain.mine()
        daemon.submit(first)
        filler = self.fill(directory, 2 << 20)
        blocks, replies = [chain.mine_bytes(900_000) for _ in range(4)], []
        def submit():
            try:
                with harness.HttpConnection(daemon.rpc_port, limit=120) as connection:
                    for block in blocks:
                        connection.send(harness.rpc_request(daemon.cookie, 'submitblock', [block.hex]))
                        replies.append(connection.read_reply().body)
            except OSError:
                pass
        writer = threading.Thread(target=submit)
        writer.start()
        wait_until(lambda: self.trouble_lines(daemon), 20, 'a line about the disk')
        # One failure may be a moment's: a block that is just being written ahead counts as written and as to be written.
        wait_until(lambda: daemon.rpc('getblockpubinfo')['store']['failed_commits'] >= 4, 20, 'a disk that is full for good')
        began = time.monotonic()
        self.assertEqual(daemon.terminate(), 4, daemon.console())
        self.assertLess(time.monotonic() - began, seconds(8))
        writer.join()
        daemon.process = None
        answered = sum(reply.startswith(b'{"result":null,"error":null') for reply in replies)
        self.assertLess(answered, len(blocks))
        os.unlink(filler)
        daemon.start()
        # The block that the end cut off may be there as well.
        told = [first, *blocks][answered:answered + 2]
        self.assertIn(daemon.rpc('getbestblockhash'), [block.hash for block in told])

    def test_import_into_a_full_disk(self):
        directory, chain = self.small_disk(), self.chain()
        blocks = [chain.mine_bytes(900_000) for _ in range(60)]
        files = self.temporary_directory()
        with open(os.path.join(files, 'blk00000.dat'), 'wb') as file:
            file.writelines(regtest.record(block.raw) for block in blocks)
        filler = self.fill(directory, 20 << 20)
        daemon = self.daemon('-minfreedisk=0', f'-importblocks={files}', datadir=directory)
        wait_until(lambda: self.trouble_lines(daemon), 30, 'a line about the disk')
        daemon.rpc('getblockcount')
        os.unlink(filler)
        wait_until(lambda: daemon.rpc('getbestblockhash') == chain.tip.hash, 60, 'the tip of the import')
        daemon.stop()
        eventlog.verify(self, daemon)

    def test_import_with_many_coins_into_a_full_disk(self):
        """100 MB, full to the brim: the import stands still with a clear line, queries and the notifications of what is
        durable go on, and all goes on by itself when there is room."""
        directory, chain = self.small_disk(DISK_MIB_WITH_COINS), self.chain()
        blocks = [chain.mine(outputs=regtest.fan_out(height, 1000)) for height in range(1, 301)]
        files = self.temporary_directory()
        with open(os.path.join(files, 'blk00000.dat'), 'wb') as file:
            file.writelines(regtest.record(block.raw) for block in blocks)
        filler = self.fill(directory, 16 << 20)
        daemon = self.daemon('-minfreedisk=0', '-dbcache=4', f'-importblocks={files}', datadir=directory, topics=('sequence',))
        wait_until(lambda: self.trouble_lines(daemon), 60, 'a line about the disk')
        status = wait_until(lambda: self.standing_still(daemon), 60, 'the import to stand still')
        self.assertLess(status['chain']['height'], len(blocks))
        stood_at = status['chain']['durable_events']
        time.sleep(1)  # Several tries pass meanwhile: no line comes with each, and nothing moves.
        self.assertLessEqual(len(self.trouble_lines(daemon)), 4, self.trouble_lines(daemon))
        self.assertEqual(daemon.rpc('getblockpubinfo')['chain']['durable_events'], stood_at)
        self.assertGreater(daemon.rpc('gettxoutsetinfo', 'none')['txouts'], 0)
        daemon.rpc('getblock', daemon.rpc('getbestblockhash'), 0)
        self.assertEqual(daemon.rpc('getblockpubinfo')['publishers'][0]['next_event'], stood_at)
        os.unlink(filler)
        wait_until(lambda: daemon.rpc('getbestblockhash') == chain.tip.hash, 60, 'the tip of the import')
        self.assertEqual(daemon.rpc('getblockpubinfo')['chain']['write_error'], '')
        coinset.check(self, daemon, {block.hash: block for block in blocks})
        daemon.stop()
        eventlog.verify(self, daemon)
        daemon.start()
        coinset.check(self, daemon, {block.hash: block for block in blocks})

    @staticmethod
    def trouble_lines(daemon):
        return [line for line in daemon.debug_log().splitlines() if '[error]' in line or ':error]' in line]

    @staticmethod
    def standing_still(daemon):
        status = daemon.rpc('getblockpubinfo')
        return status if status['chain']['write_error'] else None


if __name__ == '__main__':
    main()
