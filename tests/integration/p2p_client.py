# SPDX-License-Identifier: MIT
"""A client of the P2P port, written by hand: it shows what it was sent, message by message."""
import collections
import socket
import struct
import time

import harness
import regtest
from fake_peer import message, version_payload, inventory_payload

TX, BLOCK, COMPACT, WTX, WITNESS_FLAG = 1, 2, 4, 5, 1 << 30
Message = collections.namedtuple('Message', 'name payload')


def get_headers(locator, stop=bytes(32)):
    return struct.pack('<I', 70016) + regtest.compact_size(len(locator)) + b''.join(locator) + stop


def items_of(payload):
    """What an inv, getdata or notfound names."""
    cursor = regtest.Cursor(payload)
    return [(struct.unpack('<I', cursor.take(4))[0], cursor.take(32)) for _ in range(cursor.compact())]


def headers_of(payload):
    cursor = regtest.Cursor(payload)
    out = []
    for _ in range(cursor.compact()):
        out.append(cursor.take(80))
        assert cursor.compact() == 0
    assert cursor.at == len(payload)
    return out


class PeerClient:
    """One connection. `before_verack`: what it says of itself (wtxidrelay, …)."""

    def __init__(self, port, protocol=70016, relay=True, before_verack=(), shake_hands=True, nonce=1, receive_buffer=None,
                 source=None):
        self.sock = socket.socket()
        self.sock.settimeout(harness.seconds(20))
        if receive_buffer:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if source:
            self.sock.bind((source, 0))
        self.sock.connect(('127.0.0.1', port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer, self.names = b'', []
        self.version = None
        if shake_hands:
            payload = version_payload(0, 0, protocol, nonce)
            self.send('version', payload[:-1] + bytes([relay]))
            self.version = self.expect('version').payload
            for name in before_verack:
                self.send(name)
            self.send('verack')
            while self.receive().name != 'verack':
                pass

    def close(self):
        self.sock.close()

    @property
    def services(self):
        return struct.unpack('<Q', self.version[4:12])[0]

    def send(self, name, payload=b'', **kwargs):
        self.sock.sendall(message(name, payload, **kwargs))

    def _exactly(self, size):
        while len(self.buffer) < size:
            got = self.sock.recv(1 << 20)
            if not got:
                raise EOFError
            self.buffer += got
        out, self.buffer = self.buffer[:size], self.buffer[size:]
        return out

    def receive(self):
        head = self._exactly(24)
        assert head[:4] == regtest.MAGIC, head
        payload = self._exactly(struct.unpack('<I', head[16:20])[0])
        assert head[20:24] == regtest.sha256d(payload)[:4], head
        name = head[4:16].rstrip(b'\0').decode()
        self.names.append(name)
        return Message(name, payload)

    def expect(self, name):
        """The next message, pings aside, and the word of a block that was on its way; it must have this name."""
        while True:
            got = self.receive()
            if got.name == 'ping' and name != 'ping':
                self.send('pong', got.payload)
                continue
            if got.name == 'inv' and name != 'inv':
                continue
            assert got.name == name, f'{got.name} where {name} was expected'
            return got

    def headers(self, locator, stop=bytes(32)):
        self.send('getheaders', get_headers(locator, stop))
        return headers_of(self.expect('headers').payload)

    def blocks(self, hashes, kind=BLOCK | WITNESS_FLAG):
        self.send('getdata', inventory_payload(kind, hashes))
        return [self.expect('block').payload for _ in hashes]

    def synchronize(self):
        """All that was said before has been dealt with when this returns; what came meanwhile is returned."""
        nonce, got = struct.pack('<Q', time.monotonic_ns()), []
        self.send('ping', nonce)
        while True:
            answer = self.receive()
            if answer.name == 'pong' and answer.payload == nonce:
                return got
            if answer.name == 'ping':
                self.send('pong', answer.payload)
            else:
                got.append(answer)

    def wait_end(self):
        """Reads until the other side has hung up."""
        try:
            while True:
                self.receive()
        except (EOFError, ConnectionError):
            pass
