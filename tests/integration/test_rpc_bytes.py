# SPDX-License-Identifier: MIT
"""Recorded responses byte for byte, and HTTP on the wire as bitcoind has it."""
import base64
import hashlib
import json
import socket

import harness
import regtest
from harness import HttpConnection, IntegrationTest, main, post_request, rpc_request, vector_manifest, vector_rows

CHAIN = vector_manifest()['chain-a']
STATUS = {None: 200, -32601: 404, -32600: 400}
# What may rightly differ between two correct daemons.
IGNORED = {'getblockchaininfo': {'size_on_disk', 'warnings', 'verificationprogress', 'softforks'},
           'gettxoutsetinfo': {'disk_size'}}


class RecordedResponses(IntegrationTest):
    def test_recorded_responses_byte_for_byte(self):
        daemon = self.daemon(mocktime=CHAIN['mocktime'], topics=())
        for step in vector_rows('chain-a.jsonl'):
            if step['op'] == 'block':
                daemon.rpc('submitblock', step['hex'])
            else:
                daemon.raw_rpc(step['method'], *step['params'])
        for row in vector_rows('chain-a-rpc.jsonl'):
            reply = daemon.raw_rpc(row['method'], *row['params'])
            name = f"{row['method']} {json.dumps(row['params'])[:100]}"
            answer = json.loads(reply.body)
            error = answer.get('error')
            self.assertEqual(reply.status, STATUS.get(error and error['code'], 500), name)
            self.assertEqual(reply.header('Content-Type'), 'application/json', name)
            self.assertIsNone(reply.header('Transfer-Encoding'), name)
            self.compare(name, row, reply.body, answer)

    def compare(self, name, row, body, answer):
        ignored = IGNORED.get(row['method'])
        if ignored:
            expected = json.loads(row['response'])['result']
            self.assertEqual([kv for kv in answer['result'].items() if kv[0] not in ignored],
                             [kv for kv in expected.items() if kv[0] not in ignored], name)
        elif 'response' in row:
            self.assertEqual(body.decode(), row['response'], name)
        elif row['method'] == 'getblock' and not row['params']:
            # The node answers with its page of help, which is its own text.
            self.assertEqual(answer['error']['code'], -1, name)
        else:
            self.assertEqual((len(body), hashlib.sha256(body).hexdigest()), (row['size'], row['sha256']),
                             f'{name}: {body[:300]!r}')


class Wire(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.node = self.daemon(topics=())

    def connect(self):
        connection = HttpConnection(self.node.rpc_port)
        self.addCleanup(connection.close)
        return connection

    def auth(self):
        return 'Authorization: Basic ' + base64.b64encode(self.node.cookie.encode()).decode()

    def test_a_reply_is_one_line_with_its_length(self):
        reply = self.node.raw_rpc('getblockcount')
        self.assertEqual(reply.status_line, 'HTTP/1.1 200 OK')
        self.assertEqual(reply.body, b'{"result":0,"error":null,"id":1}\n')
        self.assertEqual([name for name, _ in reply.headers if name != 'Date'], ['Content-Type', 'Content-Length'])

    def test_an_id_comes_back_as_it_was_sent(self):
        for request_id in ('a "quoted" \\ id', None, 0, -1, 12345678901234567, 'é\u2028', True):
            with self.subTest(request_id=request_id):
                reply = self.node.raw_rpc('getblockcount', request_id=request_id)
                self.assertEqual(json.loads(reply.body)['id'], request_id)

    def test_chunked_request_bodies(self):
        connection = self.connect()
        chunks = b'b\r\n{"method": \r\n' b'23\r\n"getblockcount","params":[],"id":7}\r\n' b'0\r\n\r\n'
        connection.send(f'POST / HTTP/1.1\r\nHost: x\r\n{self.auth()}\r\nTransfer-Encoding: chunked\r\n\r\n'.encode() + chunks)
        self.assertEqual(connection.read_reply().body, b'{"result":0,"error":null,"id":7}\n')

    def test_expect_100_continue(self):
        body = b'{"method":"getblockcount","params":[],"id":7}'
        connection = self.connect()
        connection.send(f'POST / HTTP/1.1\r\nHost: x\r\n{self.auth()}\r\nExpect: 100-continue\r\n'
                        f'Content-Length: {len(body)}\r\n\r\n'.encode())
        self.assertEqual(connection.read_reply().status, 100)
        connection.send(body)
        self.assertEqual(connection.read_reply().body, b'{"result":0,"error":null,"id":7}\n')

    def test_requests_byte_by_byte(self):
        connection = self.connect()
        for byte in rpc_request(self.node.cookie, 'getblockcount', []):
            connection.send(bytes([byte]))
        self.assertEqual(connection.read_reply().body, b'{"result":0,"error":null,"id":1}\n')

    def test_wrong_password_and_none(self):
        for header in ('', 'Authorization: Basic ' + base64.b64encode(b'__cookie__:wrong').decode() + '\r\n',
                       'Authorization: Basic !!!\r\n', 'Authorization: Bearer x\r\n'):
            with self.subTest(header=header):
                connection = self.connect()
                connection.send(f'POST / HTTP/1.1\r\nHost: x\r\n{header}Content-Length: 2\r\n\r\n{{}}'.encode())
                reply = connection.read_reply()
                self.assertEqual(reply.status_line, 'HTTP/1.1 401 Unauthorized')
                self.assertEqual(reply.header('WWW-Authenticate'), 'Basic realm="jsonrpc"')

    def test_get_is_405_and_other_paths_are_404(self):
        connection = self.connect()
        connection.send(b'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
        reply = connection.read_reply()
        self.assertEqual(reply.status_line, 'HTTP/1.1 405 Method Not Allowed')
        self.assertEqual(reply.body, b'JSONRPC server handles only POST requests')
        connection = self.connect()
        connection.send(post_request(self.node.cookie, b'{}', path='/nowhere'))
        self.assertEqual(connection.read_reply().status_line, 'HTTP/1.1 404 Not Found')

    def test_broken_json_is_a_parse_error(self):
        for body in (b'{', b'', b'[', b'\xff\xfe', b'{"method":"getblockcount"' + b'[' * 100_000):
            with self.subTest(body=body[:20]):
                connection = self.connect()
                connection.send(post_request(self.node.cookie, body))
                reply = connection.read_reply()
                self.assertEqual(reply.status, 500)
                self.assertEqual(json.loads(reply.body)['error']['code'], -32700)
        self.assertEqual(self.node.rpc('getblockcount'), 0)

    def test_batches(self):
        batch = [{'method': 'getblockcount', 'params': [], 'id': 1}, {'method': 'nosuchmethod', 'params': [], 'id': 2},
                 {'method': 'getbestblockhash', 'params': [], 'id': 3}]
        connection = self.connect()
        connection.send(post_request(self.node.cookie, json.dumps(batch).encode()))
        reply = connection.read_reply()
        self.assertEqual(reply.status, 200)
        answers = json.loads(reply.body)
        self.assertEqual([a['id'] for a in answers], [1, 2, 3])
        self.assertEqual(answers[1]['error']['code'], -32601)
        self.assertEqual(answers[2]['result'], regtest.GENESIS_HASH)

    def test_a_header_without_end_and_a_huge_length_are_refused(self):
        for attack in (b'POST / HTTP/1.1\r\n' + b'X: ' + b'a' * 200_000,
                       f'POST / HTTP/1.1\r\nHost: x\r\n{self.auth()}\r\nContent-Length: 99999999999\r\n\r\n'.encode(),
                       f'POST / HTTP/1.1\r\nHost: x\r\n{self.auth()}\r\nContent-Length: -1\r\n\r\n'.encode(),
                       b'\x00' * 1000 + b'\r\n\r\n'):
            with self.subTest(attack=attack[:60]):
                connection = HttpConnection(self.node.rpc_port)
                try:
                    connection.send(attack)
                    reply = connection.read_reply()
                    self.assertGreaterEqual(reply.status, 400)
                except (ConnectionError, socket.timeout) as error:
                    self.assertNotIsInstance(error, socket.timeout)
                finally:
                    connection.close()
        self.assertEqual(self.node.rpc('getblockcount'), 0)

    def test_clients_that_leave_in_mid_request_cost_nothing(self):
        before = None
        request = rpc_request(self.node.cookie, 'getblockcount', [])
        for cut in range(0, len(request), 7):
            with HttpConnection(self.node.rpc_port) as connection:
                connection.send(request[:cut])
            if before is None:
                before = self.node.open_files()
        self.assertEqual(self.node.rpc('getblockcount'), 0)
        harness.wait_until(lambda: self.node.open_files() <= before + 8, 15, 'the descriptors returned')

    def test_notification_rows_as_configured(self):
        endpoint = f'tcp://127.0.0.1:{harness.free_port()}'
        daemon = self.daemon(f'-zmqpubrawblock={endpoint}', '-zmqpubrawblockhwm=7', f'-zmqpubhashblock={endpoint}',
                             '-zmqpubhashblockhwm=0', f'-zmqpubsequence=unix:{self.node.datadir}/s', topics=())
        rows = daemon.rpc('getzmqnotifications')
        self.assertEqual([list(row.items())[:3] for row in rows], [
            [('type', 'pubhashblock'), ('address', endpoint), ('hwm', 0)],
            [('type', 'pubrawblock'), ('address', endpoint), ('hwm', 7)],
            [('type', 'pubsequence'), ('address', f'ipc://{self.node.datadir}/s'), ('hwm', 1000)]])


if __name__ == '__main__':
    main()
