# SPDX-License-Identifier: MIT
"""The RPC server of a node that answers as the test says: well, badly, or not at all."""
import base64
import json
import socket
import threading


def reply(body, status=200, reason='OK', fields=''):
    """A whole HTTP reply, as a node writes it."""
    body = body.encode() if isinstance(body, str) else body
    return (f'HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\n{fields}Content-Length: {len(body)}\r\n'
            'Connection: close\r\n\r\n').encode() + body


def answer(result, status=200):
    """A reply to one call whose result is `result`, JSON that is sent as it is."""
    return reply(f'{{"result":{result},"error":null,"id":"blockpub"}}\n', status)


def failure(error, status=500):
    return reply(f'{{"result":null,"error":{error},"id":"blockpub"}}\n', status, 'Internal Server Error')


class Call:
    """What one request said."""

    def __init__(self, head, body):
        self.head, self.body = head, body
        self.content = json.loads(body)
        self.method, self.params = self.content['method'], self.content['params']


class FakeNode:
    """Answers each request with what `behave(call, connection)` returns; it may also send by itself and return None."""

    def __init__(self, login='user:secret'):
        self.login = login
        self.behave = lambda call, connection: answer('null')
        self.calls, self.refused, self.connections = [], 0, []
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        self.released = threading.Event()  # Ends what hangs.
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def close(self):
        self.released.set()
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        self.thread.join()

    def hang(self, call, connection):
        self.released.wait()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                data = b''
                while b'\r\n\r\n' not in data:
                    data += self._more(connection)
                head, _, body = data.partition(b'\r\n\r\n')
                fields = {name.strip().lower(): value.strip() for name, _, value in
                          (line.partition(':') for line in head.decode().split('\r\n')[1:])}
                while len(body) < int(fields['content-length']):
                    body += self._more(connection)
                if fields.get('authorization') != 'Basic ' + base64.b64encode(self.login.encode()).decode():
                    self.refused += 1
                    connection.sendall(b'HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm="jsonrpc"\r\n'
                                       b'Content-Length: 0\r\nConnection: close\r\n\r\n')
                    return
                call = Call(head.decode(), body.decode())
                self.calls.append(call)
                out = self.behave(call, connection)
                if out is not None:
                    connection.sendall(out)
            except OSError:
                pass

    @staticmethod
    def _more(connection):
        data = connection.recv(65536)
        if not data:
            raise ConnectionError('closed')
        return data
