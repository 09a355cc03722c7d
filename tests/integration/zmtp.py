# SPDX-License-Identifier: MIT
"""A ZMTP 3.0 subscriber written by hand, as lnd's and others are: it shows what really is on the wire."""
import select
import socket
import struct
import time

import harness

MORE, LONG, COMMAND = 1, 2, 4


class RawSubscriber:
    def __init__(self, endpoint, topics=(b'',), limit=20):
        host, port = endpoint.removeprefix('tcp://').rsplit(':', 1)
        self.sock = socket.create_connection((host, int(port)), timeout=harness.seconds(limit))
        self.buffer = b''
        self.greet()
        self.topics = topics
        for topic in topics:
            self.send_frame(0, b'\x01' + topic)

    def greet(self):
        signature = b'\xff' + bytes(8) + b'\x7f'
        self.sock.sendall(signature + b'\x03\x00' + b'NULL'.ljust(20, b'\0') + b'\x00' + bytes(31))
        greeting = self.take(64)
        assert greeting[0] == 0xff and greeting[9] == 0x7f, greeting
        self.peer_version = greeting[10]
        name, value = b'Socket-Type', b'SUB'
        self.send_frame(COMMAND, b'\x05READY' + bytes([len(name)]) + name + struct.pack('>I', len(value)) + value)
        flags, body = self.read_frame()
        assert flags & COMMAND and body.startswith(b'\x05READY'), (flags, body)
        self.ready = body

    def take(self, size):
        while len(self.buffer) < size:
            got = self.sock.recv(1 << 16)
            if not got:
                raise ConnectionError('the publisher closed')
            self.buffer += got
        out, self.buffer = self.buffer[:size], self.buffer[size:]
        return out

    def send_frame(self, flags, body):
        if len(body) > 255:
            self.sock.sendall(bytes([flags | LONG]) + struct.pack('>Q', len(body)) + body)
        else:
            self.sock.sendall(bytes([flags, len(body)]) + body)

    def read_frame(self):
        """(flags, body) of the next frame, commands too."""
        flags = self.take(1)[0]
        size = struct.unpack('>Q', self.take(8))[0] if flags & LONG else self.take(1)[0]
        return flags, self.take(size)

    def read_message(self):
        """The frames of one message as (flags without LONG, body)."""
        out = []
        while True:
            flags, body = self.read_frame()
            if flags & COMMAND:
                raise AssertionError(f'a command on a plain subscription: {body[:40]!r}')
            out.append((flags & ~LONG, body))
            if not flags & MORE:
                return out

    def readable(self, limit):
        return bool(self.buffer) or bool(select.select([self.sock], [], [], limit)[0])

    def synchronize(self, daemon, chain):
        """Mines until a block is heard of, and reads up to its last message."""
        end = time.monotonic() + harness.seconds(30)
        while True:
            block = chain.mine()
            daemon.submit(block)
            if self.readable(0.3):
                break
            if time.monotonic() > end:
                raise AssertionError('no message comes')
        last = {b'hashblock': bytes.fromhex(block.hash), b'rawblock': block.raw, b'': block.raw, b'rawtx': block.txs[-1].raw,
                b'hashtx': bytes.fromhex(block.txs[-1].txid), b'sequence': bytes.fromhex(block.hash) + b'C'}[self.topics[-1]]
        while self.read_message()[1][1] != last:
            pass

    def close(self):
        self.sock.close()
