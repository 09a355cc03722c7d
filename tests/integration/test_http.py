# SPDX-License-Identifier: MIT
"""REST and the HTTP side under clients of every kind: recorded answers, bursts, slow readers, half-sent requests."""
import hashlib
import json
import os
import re
import socket
import sys
import threading
import time

import harness
import regtest
from harness import HttpConnection, IntegrationTest, main, rounds, rpc_request, seconds, wait_until


def get(target, fields='', method='GET'):
    return f'{method} /rest/{target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{fields}\r\n'.encode()


def without_size(body):
    """A body, but for the size of the files, which no two daemons share."""
    return re.sub(rb'"size_on_disk":\d+', b'', body)


class Rest(IntegrationTest):
    def test_recorded_answers(self):
        """Every REST answer that bitcoind gave on the recorded chain, to the byte, status and type included."""
        manifest = harness.vector_manifest()['chain-a']
        daemon = self.daemon('-rest', f'-loadblock={os.path.join(harness.VECTORS, "blk00000.dat")}', topics=(),
                             mocktime=manifest['mocktime'])
        wait_until(lambda: daemon.rpc('getbestblockhash') == manifest['best_hash'] and
                   not daemon.rpc('getblockchaininfo')['initialblockdownload'], 30, 'the end of the import')
        checked = 0
        with HttpConnection(daemon.rpc_port) as connection:
            for row in harness.vector_rows('chain-a-rest.jsonl'):
                connection.send(get(row['path'].removeprefix('/rest/')))
                reply = connection.read_reply()
                with self.subTest(path=row['path']):
                    self.assertEqual((reply.status, reply.header('Content-Type')), (row['status'], row['type']))
                    if 'sha256' in row:
                        self.assertEqual((len(reply.body), hashlib.sha256(reply.body).hexdigest()),
                                         (row['size'], row['sha256']))
                    else:
                        body = bytes.fromhex(row['hex']) if 'hex' in row else row['text'].encode()
                        self.assertEqual(*(without_size(text) for text in (reply.body, body)))
                checked += 1
        self.assertGreater(checked, 50)

    def test_a_transaction_by_its_id(self):
        """In a block (by the index) and off it: bytes, digits, and the JSON of getrawtransaction without the block's time."""
        daemon, chain = self.daemon('-rest', '-txindex', topics=()), self.chain()
        block = chain.mine()
        daemon.submit(block)
        txid = daemon.rpc('getblock', block.hash)['tx'][0]
        wait_until(lambda: daemon.rpc('getindexinfo')['txindex']['best_block_height'] == 1, 20, 'the index')
        raw = daemon.rpc('getrawtransaction', txid)
        with HttpConnection(daemon.rpc_port) as connection:
            bodies = []
            for suffix in ('bin', 'hex', 'json'):
                connection.send(get(f'tx/{txid}.{suffix}'))
                reply = connection.read_reply()
                self.assertEqual(reply.status, 200)
                bodies.append(reply.body)
            connection.send(get(f'tx/{"0" * 64}.json'))
            self.assertEqual(connection.read_reply().status, 404)
        self.assertEqual(bodies[:2], [bytes.fromhex(raw), raw.encode() + b'\n'])
        told = daemon.rpc('getrawtransaction', txid, 1)
        for extra in ('confirmations', 'time', 'blocktime'):
            told.pop(extra)
        self.assertEqual(json.loads(bodies[2]), told)
        self.assertEqual(list(json.loads(bodies[2]))[-2:], ['blockhash', 'hex'])

    def test_without_the_option_there_is_no_rest(self):
        daemon = self.daemon(topics=())
        with HttpConnection(daemon.rpc_port) as connection:
            connection.send(get('chaininfo.json'))
            self.assertEqual(connection.read_reply().status, 404)

    def test_a_large_body_is_refused_where_no_password_is_asked_for(self):
        """413 at the head for a length, at the limit for chunks; a body of the size that a question has passes."""
        daemon = self.daemon('-rest', topics=())
        question = b'\0\1' + bytes(36)

        def ask(framing, body):
            with HttpConnection(daemon.rpc_port) as connection:
                connection.send(get('getutxos.bin', framing, 'POST') + body)
                return connection.read_reply().status
        self.assertEqual(ask(f'Content-Length: {len(question)}\r\n', question), 200)
        self.assertEqual(ask('Transfer-Encoding: chunked\r\n', b'26\r\n' + question + b'\r\n0\r\n\r\n'), 200)
        self.assertEqual(ask('Content-Length: 65537\r\n', b''), 413)
        self.assertEqual(ask('Transfer-Encoding: chunked\r\n', b'10001\r\n'), 413)
        # Who shows a password may send more.
        self.assertEqual(daemon.rpc('echo', 'a' * 70_000), ['a' * 70_000])

    def test_head_tags_and_ranges_on_the_wire(self):
        daemon, chain = self.daemon('-rest', topics=()), self.chain()
        big = chain.mine_bytes(300_000)
        daemon.submit(big)
        raw, path = bytes.fromhex(big.hex), f'block/{big.hash}'
        with HttpConnection(daemon.rpc_port) as connection:
            def ask(*args, **kwargs):
                connection.send(get(*args, **kwargs))
                return connection.read_reply()
            whole = ask(path + '.bin')
            self.assertEqual((whole.status, whole.body), (200, raw))
            self.assertEqual(ask(path + '.hex').body, raw.hex().encode() + b'\n')
            part = ask(path + '.bin', 'Range: bytes=200000-\r\n')
            self.assertEqual((part.status, part.body, part.header('Content-Range')),
                             (206, raw[200000:], f'bytes 200000-{len(raw) - 1}/{len(raw)}'))
            beyond = ask(path + '.bin', 'Range: bytes=9999999-\r\n')
            self.assertEqual((beyond.status, beyond.body), (416, b''))
            connection.send(get(path + '.bin', f'If-None-Match: {whole.header("ETag")}\r\n') +
                            get(path + '.bin', method='HEAD') + get('blockhashbyheight/0.hex'))
            while connection.buffer.count(b'\r\n\r\n') < 3 or not connection.buffer.endswith(b'\n'):
                connection._more()
            known, head, last = connection.buffer.split(b'\r\n\r\n', 2)
            self.assertTrue(known.startswith(b'HTTP/1.1 304 '), known)
            self.assertIn(f'Content-Length: {len(raw)}\r\n'.encode(), head + b'\r\n')
            self.assertTrue(last.startswith(b'HTTP/1.1 200 '), last)
            connection.buffer = b''
            self.assertEqual(ask('chaininfo.json', 'Origin: http://evil.example\r\n').status, 403)


class Pages(IntegrationTest):
    """What a browser asks and is told for the pages that it shows."""
    APP = 'https://app.example'

    def ask(self, daemon, request):
        with HttpConnection(daemon.rpc_port) as connection:
            connection.send(request)
            return connection.read_reply()

    def question(self, target, origin, fields='', method='POST'):
        return (f'OPTIONS {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: {origin}\r\n'
                f'Access-Control-Request-Method: {method}\r\n{fields}\r\n').encode()

    def allowances(self, reply):
        return {name.lower(): value for name, value in reply.headers if name.lower().startswith('access-control-')}

    def test_a_page_of_a_named_origin_calls(self):
        daemon, chain = self.daemon('-rest', f'-corsorigin={self.APP}', '-corsorigin=http://localhost:3000', topics=()), self.chain()
        block = chain.mine()
        daemon.submit(block)
        origin = f'Origin: {self.APP}\r\n'
        readable = {'access-control-allow-origin': self.APP,
                    'access-control-expose-headers': 'ETag, Content-Range, Accept-Ranges, Retry-After'}
        asked = {'access-control-allow-methods': 'GET, HEAD, POST', 'access-control-max-age': '7200'}
        wanted = 'Access-Control-Request-Headers: authorization,content-type\r\n'
        with HttpConnection(daemon.rpc_port) as connection:
            # As a browser does it: the question without a password, then the call, on one connection.
            connection.send(self.question('/', self.APP, wanted))
            reply = connection.read_reply()
            self.assertEqual((reply.status, reply.body, reply.header('Vary')), (204, b'', 'Origin'))
            self.assertEqual(self.allowances(reply),
                             {**readable, **asked, 'access-control-allow-headers': 'authorization,content-type'})
            for method, params in (('getbestblockhash', []), ('getblock', [block.hash, 2])):
                connection.send(rpc_request(daemon.cookie, method, params, extra_headers=origin))
                reply = connection.read_reply()
                self.assertEqual((reply.status, self.allowances(reply)), (200, readable))
                self.assertIn(block.hash, reply.body.decode())
            connection.send(self.question('/rest/chaininfo.json', self.APP, method='GET'))
            reply = connection.read_reply()
            self.assertEqual((reply.status, self.allowances(reply)), (204, {**readable, **asked}))
            for target, status in ((f'block/{block.hash}.hex', 200), (f'block/{"0" * 64}.json', 404), ('nosuch', 404)):
                connection.send(get(target, origin))
                reply = connection.read_reply()
                self.assertEqual((reply.status, self.allowances(reply)), (status, readable))
        # What goes wrong can be read, too.
        reply = self.ask(daemon, rpc_request('__cookie__:wrong', 'getblockcount', [], extra_headers=origin))
        self.assertEqual((reply.status, self.allowances(reply)), (401, readable))
        reply = self.ask(daemon, self.question('/', 'http://localhost:3000'))
        self.assertEqual((reply.status, reply.header('Access-Control-Allow-Origin')), (204, 'http://localhost:3000'))

    def test_a_page_of_another_origin_is_told_nothing(self):
        daemon = self.daemon('-rest', f'-corsorigin={self.APP}', topics=())
        for origin in ('https://evil.example', 'http://app.example', 'https://app.example:8443', 'null'):
            with self.subTest(origin=origin):
                for target in ('/', '/rest/chaininfo.json'):
                    reply = self.ask(daemon, self.question(target, origin))
                    self.assertEqual((reply.status, reply.body, self.allowances(reply)), (403, b'', {}))
                    self.assertEqual(reply.header('Vary'), 'Origin')
                reply = self.ask(daemon, get('chaininfo.json', f'Origin: {origin}\r\n'))
                self.assertEqual((reply.status, self.allowances(reply)), (403, {}))
                reply = self.ask(daemon, rpc_request(daemon.cookie, 'getblockcount', [], extra_headers=f'Origin: {origin}\r\n'))
                self.assertEqual((reply.status, self.allowances(reply)), (200, {}))
        with HttpConnection(daemon.rpc_port) as connection:
            connection.send(b'OPTIONS / HTTP/1.1\r\n\r\n' + get('chaininfo.json'))
            reply = connection.read_reply()
            self.assertEqual((reply.status, reply.header('Allow')), (405, 'GET, HEAD, POST, OPTIONS'))
            self.assertEqual(connection.read_reply().status, 200)

    def test_without_the_option_nothing_is_known_of_pages(self):
        daemon = self.daemon('-rest', topics=())
        for target in ('/', '/rest/chaininfo.json', '*'):
            reply = self.ask(daemon, self.question(target, self.APP))
            self.assertEqual((reply.status, self.allowances(reply), reply.header('Connection')), (501, {}, 'close'))
        reply = self.ask(daemon, rpc_request(daemon.cookie, 'getblockcount', [], extra_headers=f'Origin: {self.APP}\r\n'))
        self.assertEqual((reply.status, self.allowances(reply), reply.header('Vary')), (200, {}, None))

    def test_every_page_where_the_operator_says_so(self):
        daemon = self.daemon('-rest', '-corsorigin=*', topics=())
        reply = self.ask(daemon, self.question('/', 'https://any.example'))
        self.assertEqual((reply.status, reply.header('Access-Control-Allow-Origin'), reply.header('Vary')), (204, '*', None))
        reply = self.ask(daemon, get('chaininfo.json', 'Origin: null\r\n'))
        self.assertEqual((reply.status, reply.header('Access-Control-Allow-Origin')), (200, '*'))
        # A name that somebody made to mean this machine is no way in.
        reply = self.ask(daemon, b'GET /rest/chaininfo.json HTTP/1.1\r\nHost: evil.example\r\n\r\n')
        self.assertEqual(reply.status, 403)


class Load(IntegrationTest):
    def test_two_hundred_ask_for_a_block_at_a_tip_change(self):
        """Scenario 31: 200 parallel getblock 2 as the tip changes: 200 right answers."""
        daemon, chain = self.daemon(topics=()), self.chain()
        coins = chain.fund(daemon.submit, rounds(300))
        block = chain.mine(txs=[regtest.spend(*coin) for coin in coins])
        daemon.submit(block)
        after = chain.mine()
        txids = [tx['txid'] for tx in daemon.rpc('getblock', block.hash, 2)['tx']]
        answers, problems = [], []

        def ask():
            try:
                with HttpConnection(daemon.rpc_port) as connection:
                    connection.send(rpc_request(daemon.cookie, 'getblock', [block.hash, 2]))
                    reply = connection.read_reply()
                    answers.append((reply.status, json.loads(reply.body)['result']))
            except (OSError, ValueError) as error:
                problems.append(repr(error))
        threads = [threading.Thread(target=ask) for _ in range(200)]
        for thread in threads[:100]:
            thread.start()
        daemon.submit(after)
        for thread in threads[100:]:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(answers), problems), (200, []))
        for status, result in answers:
            self.assertEqual((status, result['hash'], [tx['txid'] for tx in result['tx']]), (200, block.hash, txids))
            # Each answer is of one state: that before or that after the change.
            self.assertIn((result['confirmations'], result.get('nextblockhash')), [(1, None), (2, after.hash)])

    def test_a_slow_reader_gets_all_of_a_large_block(self):
        """Scenario 35: a 4 MB block to clients that read far longer than the time-out; memory does not follow their number."""
        daemon, chain = self.daemon('-rest', '-rpcservertimeout=2', topics=()), self.chain()
        coin, = chain.fund(daemon.submit, 1, regtest.FREE_WITNESS)
        tx = regtest.spend(*coin, witness=[[bytes(3_900_000)]], script=regtest.FREE_WITNESS)
        big = chain.mine(txs=[tx])
        daemon.submit(big)
        raw = bytes.fromhex(big.hex)
        for _ in range(3):  # out of the blocks held in memory for announcements
            daemon.submit(chain.mine())
        before = daemon.resident_bytes()
        clients = []
        for number in range(40):
            client = HttpConnection(daemon.rpc_port)
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            client.send(get(f'block/{big.hash}.{"hex" if number % 2 else "bin"}'))
            clients.append(client)
        began, received = time.monotonic(), [b''] * len(clients)
        # Some 8 s for the digits: several times the time-out.
        for step in range(40):
            for number in range(2):
                want = len(raw) * (1 + number) // 40
                while want > 0:
                    piece = clients[number].sock.recv(want)
                    self.assertTrue(piece, 'cut while reading')
                    received[number] += piece
                    want -= len(piece)
            for client in clients[2:]:
                client.sock.recv(100)
            if step == 30:
                during = daemon.resident_bytes()
            time.sleep(0.2)
        self.assertGreater(time.monotonic() - began, 6)
        print(f'anonymous memory {before >> 10} KiB, with 40 slow readers {during >> 10} KiB', file=sys.stderr)
        self.assertLess(during - before, 24 << 20)
        for number, body in ((0, raw), (1, raw.hex().encode() + b'\n')):
            clients[number].buffer = received[number]
            self.assertEqual(clients[number].read_reply().body, body)
        for client in clients:
            client.close()

    def test_a_slow_reader_gets_all_of_a_blocks_json(self):
        """Scenario 35: getblock 2 of a 4 MB block, read for several times the time-out, is whole. A client that stops
        reading is cut, and can tell: it has got less than Content-Length says."""
        daemon, chain = self.daemon('-rpcservertimeout=1', topics=()), self.chain()
        coin, = chain.fund(daemon.submit, 1, regtest.FREE_WITNESS)
        tx = regtest.spend(*coin, witness=[[bytes(3_900_000)]], script=regtest.FREE_WITNESS)
        big = chain.mine(txs=[tx])
        daemon.submit(big)
        slow, stopped = (HttpConnection(daemon.rpc_port) for _ in range(2))
        for client in (slow, stopped):
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            client.send(rpc_request(daemon.cookie, 'getblock', [big.hash, 2]))
            while b'\r\n\r\n' not in client.buffer:
                client.buffer += client.sock.recv(1000)
        length = int(stopped.buffer.split(b'Content-Length: ')[1].split(b'\r\n')[0])
        self.assertGreater(length, 2 * 2 * 3_900_000)  # digits of the transaction and of its witness
        began, body = time.monotonic(), bytearray(slow.buffer)
        whole = slow.buffer.index(b'\r\n\r\n') + 4 + length
        for step in range(1, 26):
            while len(body) < whole * step // 25:
                piece = slow.sock.recv(whole * step // 25 - len(body))
                self.assertTrue(piece, 'cut while reading')
                body += piece
            time.sleep(0.2)
        self.assertGreater(time.monotonic() - began, 4)
        slow.buffer = bytes(body)
        got = json.loads(slow.read_reply().body)['result']['tx'][1]
        self.assertEqual(got['hex'], tx.raw.hex())
        self.assertEqual(got['vin'][0]['txinwitness'], ['00' * 3_900_000])
        slow.close()
        wait_until(lambda: daemon.rpc('getblockpubinfo')['rpc']['connections'] == 1, 30, 'the end of the client that stopped')
        received = len(stopped.buffer.partition(b'\r\n\r\n')[2])
        try:
            while piece := stopped.sock.recv(1 << 20):
                received += len(piece)
        except ConnectionResetError:
            pass
        stopped.close()
        self.assertLess(received, length)

    def test_a_batch_of_a_hundred_blocks_takes_no_memory_for_their_digits(self):
        """Scenario 35: 100 x getblock 0 in one batch arrive whole, with their length said before."""
        daemon, chain = self.daemon(topics=()), self.chain()
        big = chain.mine_bytes(900_000)
        daemon.submit(big)
        daemon.submit(chain.mine())
        before = during = daemon.resident_bytes()
        batch = json.dumps([{'id': 'same', 'method': 'getblock', 'params': [big.hash, 0]}] * 100).encode()
        with HttpConnection(daemon.rpc_port) as connection:
            connection.send(harness.post_request(daemon.cookie, batch))
            while b'\r\n\r\n' not in connection.buffer:
                connection._more()
            head, _, rest = connection.buffer.partition(b'\r\n\r\n')
            length = int(head.split(b'Content-Length: ')[1].split(b'\r\n')[0])
            body = bytearray(rest)
            while len(body) < length:
                piece = connection.sock.recv(1 << 20)
                self.assertTrue(piece, 'cut short')
                body += piece
                if len(body) < length // 2:
                    during = daemon.resident_bytes()
            answers = json.loads(body)
        self.assertEqual([(a['id'], a['result'] == big.hex) for a in answers], [('same', True)] * 100)
        print(f'anonymous memory {before >> 10} KiB, in the batch {during >> 10} KiB', file=sys.stderr)
        self.assertLess(during - before, 24 << 20)

    def test_half_sent_requests_and_vanished_clients_leave_nothing(self):
        """Thousands of clients that stop in the middle, or leave while they are answered: memory and descriptors are back."""
        daemon, chain = self.daemon('-rest', topics=()), self.chain()
        big = chain.mine_bytes(400_000)
        daemon.submit(big)
        request = rpc_request(daemon.cookie, 'getblock', [big.hash, 2])
        payloads = [b'', b'POST / HT', request[:100], request[:-5], request, get(f'block/{big.hash}.bin'),
                    get(f'block/{big.hash}.hex') * 20, get(f'block/{big.hash}.json'), b'\x16\x03\x01\x02\x00' * 40,
                    b'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n']

        def wave(count):
            for number in range(count):
                with socket.create_connection(('127.0.0.1', daemon.rpc_port), timeout=seconds(30)) as sock:
                    try:
                        sock.sendall(payloads[number % len(payloads)])
                        if number % 3 == 0:
                            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b'\1\0\0\0\0\0\0\0')
                    except OSError:
                        pass
            wait_until(lambda: daemon.open_files() <= files + 2, 60, 'the descriptors returned')
        files = daemon.open_files()
        wave(rounds(2000))
        before = daemon.resident_bytes()
        wave(rounds(10_000))
        after = daemon.resident_bytes()
        print(f'anonymous memory {before >> 10} KiB, after {rounds(10_000)} more {after >> 10} KiB', file=sys.stderr)
        # The records of a sanitizer grow with what has happened.
        self.assertLess(after - before, harness.memory(8))
        self.assertEqual(daemon.rpc('getblock', big.hash, 0), big.hex)

    def test_waits_end_with_their_clients(self):
        """More clients than there are threads for waits, gone before there is a block: their threads serve the next."""
        daemon = self.daemon(topics=())
        for _ in range(40):
            with HttpConnection(daemon.rpc_port) as connection:
                connection.send(rpc_request(daemon.cookie, 'waitfornewblock', []))
        self.assertEqual(daemon.rpc('waitforblockheight', 0)['height'], 0)
        wait_until(lambda: [row['method'] for row in daemon.rpc('getrpcinfo')['active_commands']] == ['getrpcinfo'], 20,
                   'the end of the waits')

    def test_silent_connections_lock_nobody_out(self):
        """More connections than there is room for, none of them with a request: a client with a password is served."""
        daemon = self.daemon('-rpcconnections=20', topics=())
        held = [socket.create_connection(('127.0.0.1', daemon.rpc_port), timeout=seconds(30)) for _ in range(60)]
        try:
            for sock in held[::2]:
                try:
                    sock.sendall(b'POST / HTTP/1.1\r\n')
                except OSError:
                    pass
            began = time.monotonic()
            daemon.close_connection()
            self.assertEqual(daemon.rpc('getblockcount'), 0)
            self.assertLess(time.monotonic() - began, seconds(8))
        finally:
            for sock in held:
                sock.close()


if __name__ == '__main__':
    main()
