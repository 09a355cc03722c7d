# SPDX-License-Identifier: MIT
"""Strangers on the ports, readers beside the writer, slow clients, large blocks: nothing grows, nothing stalls."""
import json
import os
import socket
import statistics
import struct
import sys
import threading
import time

import harness
import regtest
from harness import HttpConnection, IntegrationTest, main, rounds, rpc_request, seconds, wait_until


class Strangers(IntegrationTest):
    def test_mass_connects_to_the_publisher_cost_nothing(self):
        """Scenario 28: plain TCP, an HTTP GET, a REQ greeting, half a greeting, junk; a subscriber misses nothing, memory and
        descriptors are back afterwards."""
        daemon, chain = self.daemon(), self.chain()
        stream = self.subscriber(daemon.endpoint)
        counters = stream.synchronize(daemon, chain)
        host, port = '127.0.0.1', int(daemon.endpoint.rsplit(':', 1)[1])
        greeting = b'\xff' + bytes(8) + b'\x7f\x03\x00' + b'NULL'.ljust(20, b'\0') + b'\x00' + bytes(31)
        ready = b'\x05READY\x0bSocket-Type' + struct.pack('>I', 3) + b'REQ'
        payloads = [b'', b'GET / HTTP/1.1\r\nHost: x\r\n\r\n', greeting + bytes([4, len(ready)]) + ready,
                    greeting[:11], os.urandom(200), greeting + b'\x02' + b'\xff' * 8]

        def wave(count):
            for number in range(count):
                with socket.create_connection((host, port), timeout=seconds(20)) as sock:
                    try:
                        sock.sendall(payloads[number % len(payloads)])
                    except OSError:
                        pass
            harness.wait_until(lambda: daemon.open_files() <= files + 2, 45, 'the descriptors returned')

        files = daemon.open_files()
        wave(rounds(600))
        before = daemon.resident_bytes()
        blocks = []
        for _ in range(4):
            wave(rounds(600))
            blocks.append(chain.mine())
            daemon.submit(blocks[-1])
        after = daemon.resident_bytes()
        print(f'anonymous memory {before >> 10} KiB, after {rounds(600) * 4} more connections {after >> 10} KiB', file=sys.stderr)
        self.assertLess(after - before, harness.memory(8))
        got = stream.wait_for(lambda frames: harness.ends_block(frames, blocks[-1]))
        self.assert_frames(got, [f for b in blocks for f in regtest.connect_frames(b) + regtest.tip_frames(b)])
        self.assert_counters(got, counters)

    def test_many_connections_held_at_once(self):
        """Half-open ones to both ports, hundreds at a time: the daemon goes on and takes new ones afterwards."""
        daemon, chain = self.daemon(), self.chain()
        stream = self.subscriber(daemon.endpoint)
        stream.synchronize(daemon, chain)
        held = []
        try:
            for port in (int(daemon.endpoint.rsplit(':', 1)[1]), daemon.rpc_port):
                for _ in range(300):
                    sock = socket.create_connection(('127.0.0.1', port), timeout=seconds(10))
                    sock.sendall(b'\xff')
                    held.append(sock)
            block = chain.mine()
            daemon.submit(block)
            stream.wait_for(lambda frames: harness.ends_block(frames, block))
        finally:
            for sock in held:
                sock.close()
        fresh = self.subscriber(daemon.endpoint)
        fresh.synchronize(daemon, chain)

    def test_keepalive_is_on(self):
        """Scenario 13: the kernel's timer of an idle accepted connection is the keepalive's."""
        daemon, chain = self.daemon(), self.chain()
        stream = self.subscriber(daemon.endpoint)
        stream.synchronize(daemon, chain)
        port = f':{int(daemon.endpoint.rsplit(":", 1)[1]):04X}'

        def timers():
            with open('/proc/net/tcp', encoding='ascii') as file:
                rows = [line.split() for line in file][1:]
            return [row[5][:2] for row in rows if row[1].endswith(port) and row[3] == '01']
        wait_until(lambda: timers() and set(timers()) == {'02'}, 10, 'the keepalive timer')

    def test_sockets_are_taken_up_again_after_a_cut(self):
        """Scenario 13: a proxy between them goes away and comes back: the subscriber is connected again and gets what
        comes next."""
        daemon, chain = self.daemon(), self.chain()
        proxy = Proxy(int(daemon.endpoint.rsplit(':', 1)[1]))
        self.addCleanup(proxy.close)
        stream = self.subscriber(f'tcp://127.0.0.1:{proxy.port}')
        stream.synchronize(daemon, chain)
        proxy.cut()
        lost = chain.mine()
        daemon.submit(lost)
        counters = stream.synchronize(daemon, chain)
        self.assertEqual(counters[b'hashblock'], chain.tip.height)


class Proxy:
    """Passes bytes between a port of its own and another, until it is told to cut."""

    def __init__(self, target):
        self.target, self.pairs, self.open = target, [], True
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while self.open:
            try:
                inner, _ = self.listener.accept()
                outer = socket.create_connection(('127.0.0.1', self.target))
            except OSError:
                return
            self.pairs.append((inner, outer))
            for a, b in ((inner, outer), (outer, inner)):
                threading.Thread(target=self._pump, args=(a, b), daemon=True).start()

    @staticmethod
    def _pump(a, b):
        try:
            while data := a.recv(1 << 16):
                b.sendall(data)
        except OSError:
            pass
        for sock in (a, b):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for sock in pair:
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                sock.close()

    def close(self):
        self.open = False
        self.listener.close()
        self.cut()


class Readers(IntegrationTest):
    def call_forever(self, daemon, requests, stop, problems, counts):
        try:
            with HttpConnection(daemon.rpc_port) as connection:
                done = 0
                while not stop.is_set():
                    method, params = requests[done % len(requests)]
                    connection.send(rpc_request(daemon.cookie, method, params))
                    answer = connection.read_reply()
                    if answer.status != 200:
                        problems.append(answer.body[:300])
                    done += 1
                counts.append(done)
        except (ConnectionError, OSError) as error:
            problems.append(repr(error))

    def test_readers_while_blocks_connect(self):
        """Scenario 32: sixteen readers of a 1 MB block; blocks go on connecting; every answer is right."""
        daemon, chain = self.daemon(), self.chain()
        big = chain.mine_bytes(900_000)
        daemon.submit(big)

        def latencies(count):
            took = []
            for _ in range(count):
                block = chain.mine_bytes(20_000)
                began = time.perf_counter()
                daemon.submit(block)
                took.append(time.perf_counter() - began)
            return statistics.median(took)
        alone = latencies(rounds(50))
        stop, problems, counts = threading.Event(), [], []
        requests = [('getblock', [big.hash, 0]), ('getblockheader', [big.hash]), ('getblockcount', []), ('getchaintips', [])]
        readers = [threading.Thread(target=self.call_forever, args=(daemon, requests, stop, problems, counts)) for _ in range(16)]
        for reader in readers:
            reader.start()
        beside = latencies(rounds(50))
        stop.set()
        for reader in readers:
            reader.join()
        print(f'submitblock alone {alone * 1e3:.1f} ms, beside 16 readers {beside * 1e3:.1f} ms (median); '
              f'{sum(counts)} answers', file=sys.stderr)
        self.assertEqual(problems, [])
        self.assertGreater(sum(counts), 0)

    def test_raw_blocks_are_read_while_blocks_connect(self):
        """Scenario 32: sixteen clients fetch a 2 MB block as bytes without a pause, ten blocks a second connect meanwhile."""
        daemon, chain = self.daemon('-rest', topics=()), self.chain()
        coin, = chain.fund(daemon.submit, 1, regtest.FREE_WITNESS)
        tx = regtest.spend(*coin, witness=[[bytes(2_000_000)]], script=regtest.FREE_WITNESS)
        big = chain.mine(txs=[tx])
        daemon.submit(big)
        request = f'GET /rest/block/{big.hash}.bin HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.encode()
        raw, stop, problems, counts = big.raw, threading.Event(), [], []

        def fetch():
            body, done = memoryview(bytearray(len(raw))), 0
            try:
                with HttpConnection(daemon.rpc_port) as connection:
                    while not stop.is_set():
                        connection.send(request)
                        while b'\r\n\r\n' not in connection.buffer:
                            connection._more()
                        head, _, begin = connection.buffer.partition(b'\r\n\r\n')
                        connection.buffer, filled = b'', len(begin)
                        body[:filled] = begin
                        while filled < len(raw):
                            filled += connection.sock.recv_into(body[filled:])
                        if not head.startswith(b'HTTP/1.1 200 ') or body != raw:
                            problems.append(head)
                            return
                        done += 1
                counts.append(done)
            except (ConnectionError, OSError, ValueError) as error:
                problems.append(repr(error))
        readers = [threading.Thread(target=fetch) for _ in range(16)]
        for reader in readers:
            reader.start()
        took, began = [], time.monotonic()
        for number in range(rounds(30)):
            block = chain.mine()
            time.sleep(max(0.0, began + number / 10 - time.monotonic()))
            start = time.perf_counter()
            daemon.submit(block)
            took.append(time.perf_counter() - start)
        lasted = time.monotonic() - began
        stop.set()
        for reader in readers:
            reader.join()
        print(f'{sum(counts)} blocks of {len(raw) >> 10} KiB in {lasted:.1f} s, submitblock beside them '
              f'{statistics.median(took) * 1e3:.1f} ms (median)', file=sys.stderr)
        self.assertEqual(problems, [])
        self.assertEqual(len(counts), 16)
        self.assertTrue(all(counts), counts)
        # The clients share the cores with the daemon; what must not be is that a connection waits for their blocks.
        self.assertLess(statistics.median(took), seconds(2))

    def test_a_burst_of_requests_is_slowed_down_not_refused(self):
        """Scenario 31's kind, for the methods that are here: 200 clients at once, all are answered."""
        daemon, chain = self.daemon(), self.chain()
        big = chain.mine_bytes(500_000)
        daemon.submit(big)
        expected = json.dumps({'result': big.hex, 'error': None, 'id': 1}, separators=(',', ':')).encode() + b'\n'
        connections = [HttpConnection(daemon.rpc_port) for _ in range(200)]
        try:
            for connection in connections:
                connection.send(rpc_request(daemon.cookie, 'getblock', [big.hash, 0]))
            for connection in connections:
                reply = connection.read_reply()
                self.assertEqual((reply.status, reply.body == expected), (200, True))
        finally:
            for connection in connections:
                connection.close()

    def test_a_client_that_reads_slowly_holds_no_snapshot(self):
        """Scenario 46: clients that ask for an 8 MB answer and read nothing; the chain tables stay as small as without
        them while blocks go on, and one of them gets its answer whole in the end."""
        # Without the time-out, which ends a client that reads nothing for half a minute.
        daemon, chain = self.daemon('-rpcservertimeout=600'), self.chain()
        coin, = chain.fund(daemon.submit, 1, regtest.FREE_WITNESS)
        tx = regtest.spend(*coin, witness=[[bytes(3_900_000)]], script=regtest.FREE_WITNESS)
        big = chain.mine(txs=[tx])
        daemon.submit(big)
        table = os.path.join(daemon.chain_dir, 'chain', 'data.mdb')

        def growth(count):
            before = os.stat(table).st_blocks
            for _ in range(count):
                daemon.submit(chain.mine())
            return (os.stat(table).st_blocks - before) * 512
        without = growth(rounds(200))
        clients = [HttpConnection(daemon.rpc_port) for _ in range(8)]
        for client in clients:
            if client is not clients[0]:  # That one is read in the end: a window of 4 KB would take minutes.
                client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.send(rpc_request(daemon.cookie, 'getblock', [big.hash, 0]))
        beside = growth(rounds(200))
        print(f'chain tables grew by {without >> 10} KiB without, by {beside >> 10} KiB beside slow clients', file=sys.stderr)
        self.assertLess(beside, 2 * without + (1 << 20))
        self.assertEqual(json.loads(clients[0].read_reply().body)['result'], big.hex)
        for client in clients:
            client.close()

    def test_blocks_of_all_sizes_cost_the_same_at_the_end_as_at_the_start(self):
        """Scenario 50, scaled down: hundreds of blocks of 1 KB to 1 MB; the files hold little more than the blocks."""
        dice = harness.seeded_random()
        daemon, chain = self.daemon(topics=()), self.chain()
        count, total, took = rounds(240), 0, []
        for _ in range(count):
            block = chain.mine_bytes(dice.choice([1_000, 30_000, 300_000, 990_000]))
            total += len(block.raw)
            began = time.perf_counter()
            daemon.submit(block)
            took.append((time.perf_counter() - began) / (1 + len(block.raw) / 200_000))
        part = max(1, count // 5)
        first, last = statistics.median(took[:part]), statistics.median(took[-part:])
        used = sum(os.stat(os.path.join(path, name)).st_blocks * 512 for path, _, names in os.walk(daemon.chain_dir) for name in names)
        print(f'{total >> 20} MiB of blocks in {used >> 20} MiB of files; {first * 1e3:.1f} ms a block at first, '
              f'{last * 1e3:.1f} ms at last', file=sys.stderr)
        self.assertLess(used, 1.3 * total + (16 << 20))
        self.assertLess(last, 3 * first + 0.02)


if __name__ == '__main__':
    main()
