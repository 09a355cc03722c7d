# SPDX-License-Identifier: MIT
"""Byte streams of clients that wrote their HTTP by hand, or whose libraries did: what they send is replayed, what they insist
on in a reply is insisted on."""
import base64
import json
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'integration'))
import regtest
from harness import HttpConnection, IntegrationTest, main, seconds

BODY = b'{"method":"getblockcount","params":[],"id":7}'
ANSWER = b'{"result":3,"error":null,"id":7}\n'

# What stands before the body. {port}, {auth} and {length} are put in; each line ends as the client ends it.
HEADS = {
    'an indexer with bare line feeds and no Host':
        'POST / HTTP/1.1\nAuthorization: Basic {auth}\nContent-Length: {length}\n\n',
    "Rust's simple client":
        'POST / HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n'
        'Authorization: Basic {auth}\r\n\r\n',
    "Go's net/http":
        'POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUser-Agent: Go-http-client/1.1\r\nContent-Length: {length}\r\n'
        'Authorization: Basic {auth}\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n',
    "Python's http.client":
        'POST / HTTP/1.1\r\nAccept-Encoding: identity\r\nContent-Length: {length}\r\nHost: 127.0.0.1\r\n'
        'User-Agent: AuthServiceProxy/0.1\r\nAuthorization: Basic {auth}\r\nContent-type: application/json\r\n\r\n',
    'curl':
        'POST / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Basic {auth}\r\nUser-Agent: curl/7.88.1\r\n'
        'Accept: */*\r\ncontent-type: text/plain;\r\nContent-Length: {length}\r\n\r\n',
    "Node's agent":
        'POST / HTTP/1.1\r\nContent-Type: application/json\r\nAuthorization: Basic {auth}\r\nContent-Length: {length}\r\n'
        'Host: localhost:{port}\r\nConnection: keep-alive\r\n\r\n',
    'a name in the URL of a compose file':
        'POST / HTTP/1.1\r\nHost: bitcoind:{port}\r\nAuthorization: Basic {auth}\r\nContent-Length: {length}\r\n\r\n',
    'HTTP/1.0 that stays':
        'POST / HTTP/1.0\r\nConnection: Keep-Alive\r\nAuthorization: Basic {auth}\r\nContent-Length: {length}\r\n\r\n',
}
# The same, of clients that want the connection closed behind the reply.
CLOSING_HEADS = {
    "bitcoin-cli's libevent":
        'POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\n'
        'Authorization: Basic {auth}\r\nContent-Length: {length}\r\n\r\n',
    'HTTP/1.0':
        'POST / HTTP/1.0\r\nAuthorization: Basic {auth}\r\nContent-Length: {length}\r\n\r\n',
}


class Unauthorized(Exception):
    pass


class LineClient:
    """An indexer's client: it writes a head of bare line feeds and takes replies apart line by line. It is as strict as
    such clients are: `Content-Length` is spelt so, the body is one line, and as long as was said."""

    def __init__(self, daemon):
        self.port, self.cookie_path = daemon.rpc_port, daemon.cookie_path
        self.sock, self.lines, self.auth = None, None, None
        self.connections = self.cookies_read = 0
        self.read_cookie()

    def read_cookie(self):
        with open(self.cookie_path, 'rb') as file:
            self.auth = base64.b64encode(file.read()).decode()
        self.cookies_read += 1

    def connect(self):
        self.close()
        self.sock = socket.create_connection(('127.0.0.1', self.port), timeout=seconds(60))
        self.lines = self.sock.makefile('rb')
        self.connections += 1

    def close(self):
        if self.sock:
            self.lines.close()
            self.sock.close()
            self.sock = None

    def request(self, body):
        return f'POST / HTTP/1.1\nAuthorization: Basic {self.auth}\nContent-Length: {len(body)}\n\n'.encode() + body

    def _line(self):
        line = self.lines.readline()
        if not line.endswith(b'\n'):
            raise ConnectionError(f'closed within {line!r}')
        return line.rstrip(b'\r\n').decode()

    def receive(self):
        """Status and the one line of the next reply."""
        status, headers = self._line(), {}
        while line := self._line():
            name, value = line.split(': ', 1)
            headers[name] = value
        length = int(headers['Content-Length'])
        if status == 'HTTP/1.1 401 Unauthorized':
            self.lines.read(length)
            raise Unauthorized()
        contents = self._line()
        if len(contents.encode()) != length - 1:
            raise AssertionError(f'{length} bytes were announced, {len(contents) + 1} came: {contents[:200]}')
        return status, contents

    def call(self, body):
        """The reply to one request. A connection that is gone is made again, a cookie that is refused is read again."""
        for _ in range(3):
            try:
                if not self.sock:
                    self.connect()
                self.sock.sendall(self.request(body))
                return self.receive()
            except Unauthorized:
                self.read_cookie()
            except OSError:
                self.close()
        raise AssertionError('no answer at the third attempt')


class HandWrittenClients(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.node, chain = self.daemon(topics=()), self.chain()
        self.blocks = [chain.mine() for _ in range(3)]
        for block in self.blocks:
            self.node.submit(block)
        self.hashes = [regtest.GENESIS_HASH] + [block.hash for block in self.blocks]

    def client(self):
        client = LineClient(self.node)
        self.addCleanup(client.close)
        client.connect()
        return client

    def filled(self, head):
        auth = base64.b64encode(self.node.cookie.encode()).decode()
        return head.format(port=self.node.rpc_port, auth=auth, length=len(BODY)).encode()

    def test_heads_as_libraries_write_them(self):
        """Three requests on one connection: whole, head and body apart, and with an empty line too many behind the first."""
        for name, head in HEADS.items():
            with self.subTest(client=name), HttpConnection(self.node.rpc_port) as connection:
                connection.send(self.filled(head) + BODY + b'\r\n')
                self.assertEqual(connection.read_reply().body, ANSWER)
                connection.send(self.filled(head))
                connection.send(BODY)
                self.assertEqual(connection.read_reply().body, ANSWER)
                connection.send(self.filled(head) + BODY)
                reply = connection.read_reply()
                self.assertEqual((reply.status, reply.body), (200, ANSWER))
                self.assertEqual(reply.header('Content-Length'), str(len(ANSWER)))
                self.assertIsNone(reply.header('Transfer-Encoding'))

    def test_heads_that_want_the_connection_closed(self):
        for name, head in CLOSING_HEADS.items():
            with self.subTest(client=name), HttpConnection(self.node.rpc_port) as connection:
                connection.send(self.filled(head) + BODY)
                reply = connection.read_reply()
                self.assertEqual((reply.status, reply.body), (200, ANSWER))
                self.assertTrue(connection.at_end())

    def test_every_kind_of_reply_is_a_line_as_long_as_it_says(self):
        client = self.client()
        for request, status, start in (
                ('{"method":"getbestblockhash","id":1}', '200 OK', f'{{"result":"{self.hashes[3]}","error":null,"id":1}}'),
                ('{"method":"getblockhash","params":[9],"id":1}', '500 Internal Server Error',
                 '{"result":null,"error":{"code":-8,"message":"Block height out of range"},"id":1}'),
                ('{"method":"nosuch","id":1}', '404 Not Found', '{"result":null,"error":{"code":-32601,'),
                ('{"method":', '500 Internal Server Error', '{"result":null,"error":{"code":-32700,'),
                ('{"id":1}', '400 Bad Request', '{"result":null,"error":{"code":-32600,'),
                (f'{{"method":"getblock","params":["{self.hashes[2]}",0],"id":1}}', '200 OK',
                 f'{{"result":"{self.blocks[1].hex}","error":null,"id":1}}'),
                (f'{{"method":"getblock","params":["{self.hashes[2]}",3],"id":1}}', '200 OK', '{"result":{"hash":'),
                ('[]', '200 OK', '[]'),
                ('[{"method":"nosuch","id":1}]', '200 OK', '[{"result":null,"error":{"code":-32601,')):
            with self.subTest(request=request):
                got = client.call(request.encode())
                self.assertEqual(got[0], 'HTTP/1.1 ' + status)
                self.assertEqual(got[1][:len(start)], start)
        self.assertEqual((client.connections, client.cookies_read), (1, 1))

    def test_a_batch_of_fifty_thousand_with_one_id(self):
        """An indexer asks for its headers so; it pairs answers with questions by their order."""
        client, count = self.client(), 50_000
        batch = ','.join(f'{{"jsonrpc":"2.0","id":0,"method":"getblockhash","params":[{i % 4}]}}' for i in range(count))
        status, line = client.call(f'[{batch}]'.encode())
        self.assertEqual(status, 'HTTP/1.1 200 OK')
        answers = json.loads(line)
        self.assertEqual(len(answers), count)
        self.assertEqual({answer['id'] for answer in answers}, {0})
        self.assertTrue(all(answer['result'] == self.hashes[i % 4] for i, answer in enumerate(answers)))
        self.assertEqual(client.connections, 1)

    def test_twenty_thousand_requests_written_before_a_reply_is_read(self):
        """More than the sockets hold: who writes all of it first reads from another thread, as here, or never ends."""
        client, count = self.client(), 20_000
        everything = b''.join(client.request(f'{{"id":{i},"method":"getblockhash","params":[{i % 4}]}}'.encode())
                              for i in range(count))
        writer = threading.Thread(target=client.sock.sendall, args=(everything,))
        writer.start()
        for i in range(count):
            status, line = client.receive()
            self.assertEqual((status, line), ('HTTP/1.1 200 OK', f'{{"result":"{self.hashes[i % 4]}","error":null,"id":{i}}}'))
        writer.join()

    def test_a_cookie_is_read_again_after_a_401(self):
        """The daemon is started again with a new cookie: the client's next call is refused, and succeeds on the same
        connection with what the file then holds."""
        client = self.client()
        self.assertEqual(client.call(BODY)[1].encode() + b'\n', ANSWER)
        self.node.stop()
        self.node.start()
        self.assertEqual(client.call(BODY), ('HTTP/1.1 200 OK', ANSWER.decode().rstrip()))
        self.assertEqual((client.connections, client.cookies_read), (2, 2))


if __name__ == '__main__':
    main()
