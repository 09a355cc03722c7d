# SPDX-License-Identifier: MIT
"""Nodes that the daemon can be told to follow: an honest one, and some that do what no honest node does."""
import hashlib
import socket
import struct
import threading
import time

import regtest

NETWORK, BLOOM, WITNESS = 1, 4, 8
BLOCK, WITNESS_FLAG = 2, 1 << 30
TX, WTX = 1, 5


def message(name, payload=b'', magic=regtest.MAGIC, checksum=None, length=None):
    head = magic + name.encode().ljust(12, b'\0')
    head += struct.pack('<I', len(payload) if length is None else length)
    return head + (checksum or regtest.sha256d(payload)[:4]) + payload


def version_payload(height, services=NETWORK | WITNESS, protocol=70016, nonce=1):
    return (struct.pack('<IQq', protocol, services, int(time.time())) + bytes(52) + struct.pack('<Q', nonce)
            + b'\x0b/fake:1.0/\n' + struct.pack('<i', height) + b'\x01')


def headers_payload(headers):
    return regtest.compact_size(len(headers)) + b''.join(header + b'\0' for header in headers)


def inventory_payload(kind, hashes):
    return regtest.compact_size(len(hashes)) + b''.join(struct.pack('<I', kind) + h for h in hashes)


def siphash(key, data):
    """SipHash-2-4."""
    mask = (1 << 64) - 1
    k0, k1 = struct.unpack('<QQ', key)
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]

    def rotate(x, bits):
        return (x << bits | x >> (64 - bits)) & mask

    def rounds(count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & mask
            v[1] = rotate(v[1], 13) ^ v[0]
            v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[3]) & mask
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & mask
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & mask
            v[1] = rotate(v[1], 17) ^ v[2]
            v[2] = rotate(v[2], 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xff])
    for word, in struct.iter_unpack('<Q', padded):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xff
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def compact_payload(block, nonce=1, change=lambda ids: ids, coinbase=b'\0'):
    """A cmpctblock with the coinbase whole. `change`: what is done to the short ids; `coinbase`: its place, as it is
    written."""
    head = block.raw[:80] + struct.pack('<Q', nonce)
    key = hashlib.sha256(head).digest()[:16]
    ids = change([siphash(key, regtest.sha256d(tx.raw)) & 0xffffffffffff for tx in block.txs[1:]])
    return (head + regtest.compact_size(len(ids)) + b''.join(i.to_bytes(6, 'little') for i in ids) + b'\x01' + coinbase
            + block.txs[0].raw)


class FakePeer:
    """Serves the blocks of one chain to whoever connects. Subclasses change single answers."""

    protocol = 70016
    services = NETWORK | WITNESS
    by_wtxid = True  # whether it speaks of transactions so

    def __init__(self, blocks=(), port=0):
        self.lock = threading.Lock()
        self.by_digest = {regtest.GENESIS.digest: regtest.GENESIS}
        self.active = [regtest.GENESIS]
        self.connections, self.accepted = [], 0
        self.received = []  # names of messages, in order
        self.transactions = {}  # that it gives, by txid and by wtxid
        self.fee_filters, self.compact_wishes = [], []
        self.blocks_given = []  # whole
        self.places_asked_for = []  # of transactions, by getblocktxn
        self.asked_for, self.handed = [], []  # transactions: hashes that it was asked for, bytes that it was given
        self.listener, self.port, self.running = None, port, False
        if blocks:
            self.set_tip(blocks[-1], blocks)

    # The chain that it serves.

    def set_tip(self, tip, new_blocks=()):
        """Makes `tip` the end of its chain; ancestors must be known, or among `new_blocks`. What is new in it."""
        with self.lock:
            for block in [*new_blocks, tip]:
                self.by_digest[block.digest] = block
            branch, at = [], tip
            while not self._is_active(at):
                branch.append(at)
                at = self.by_digest[at.raw[4:36]]
            self.active = self.active[:at.height + 1] + branch[::-1]
            return branch[::-1]

    def _is_active(self, block):
        return block.height < len(self.active) and self.active[block.height].digest == block.digest

    def announce(self, tip, new_blocks=()):
        """As set_tip, and tells everybody of what is new by headers, as after sendheaders."""
        fresh = self.set_tip(tip, new_blocks)
        self.broadcast(message('headers', headers_payload([b.raw[:80] for b in fresh])))

    def announce_by_inv(self, tip, new_blocks=()):
        self.set_tip(tip, new_blocks)
        self.broadcast(message('inv', inventory_payload(BLOCK, [tip.digest])))

    def announce_compact(self, tip, **kwargs):
        self.set_tip(tip)
        self.broadcast(message('cmpctblock', compact_payload(tip, **kwargs)))

    # Its transactions.

    def take_transactions(self, txs):
        """Into what serves as its mempool."""
        with self.lock:
            for tx in txs:
                self.transactions[tx.digest] = self.transactions[regtest.sha256d(tx.raw)] = tx.raw

    def told_fee_filters(self):
        return [struct.unpack('<q', payload)[0] for payload in self.fee_filters]

    def announce_transactions(self, txs, take=True):
        if take:
            self.take_transactions(txs)
        hashes = [regtest.sha256d(tx.raw) if self.by_wtxid else tx.digest for tx in txs]
        self.broadcast(message('inv', inventory_payload(WTX if self.by_wtxid else TX, hashes)))

    # Its life.

    def start(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(('127.0.0.1', self.port))
        self.listener.listen(16)
        self.port = self.listener.getsockname()[1]
        self.running = True
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()
        return self

    def stop(self):
        """Ends it as a node ends: listener and connections are gone, and the port refuses."""
        self.running = False
        if self.listener:
            # A close alone does not wake the thread that accepts.
            try:
                self.listener.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self.listener.close()
        self.cut()

    def cut(self):
        with self.lock:
            connections, self.connections = self.connections, []
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.connections.append(connection)
                self.accepted += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            self.greet(connection)
            while True:
                head = self._exactly(connection, 24)
                payload = self._exactly(connection, struct.unpack('<I', head[16:20])[0])
                name = head[4:16].rstrip(b'\0').decode()
                self.received.append(name)
                self.on_message(connection, name, payload)
        except (OSError, EOFError):
            pass

    @staticmethod
    def _exactly(connection, size):
        data = b''
        while len(data) < size:
            got = connection.recv(size - len(data))
            if not got:
                raise EOFError
            data += got
        return data

    def broadcast(self, data):
        with self.lock:
            connections = list(self.connections)
        for connection in connections:
            try:
                connection.sendall(data)
            except OSError:
                pass

    # What it says.

    def greet(self, connection):
        """Before anything has come."""

    def on_message(self, connection, name, payload):
        if name == 'version':
            connection.sendall(message('version', version_payload(len(self.active) - 1, self.services, self.protocol)))
            if self.by_wtxid:
                connection.sendall(message('wtxidrelay'))
            connection.sendall(message('verack'))
        elif name == 'verack':
            if self.protocol >= 70014:
                connection.sendall(message('sendcmpct', struct.pack('<BQ', 0, 2)))
            self.on_ready(connection)
        elif name == 'sendcmpct':
            self.compact_wishes.append(struct.unpack('<BQ', payload))
        elif name == 'getblocktxn':
            self.on_get_block_transactions(connection, payload)
        elif name == 'ping':
            self.on_ping(connection, payload)
        elif name == 'getheaders':
            self.on_get_headers(connection, payload)
        elif name == 'getdata':
            self.on_get_data(connection, payload)
        elif name == 'feefilter':
            self.fee_filters.append(payload)
        elif name == 'inv':
            self.on_inventory(connection, payload)
        elif name == 'tx':
            self.on_transaction(connection, payload)

    def on_ready(self, connection):
        pass

    def on_ping(self, connection, payload):
        connection.sendall(message('pong', payload))

    def on_get_headers(self, connection, payload):
        count, at = payload[4], 5
        locator = [payload[at + 32 * i:at + 32 * (i + 1)] for i in range(count)]
        with self.lock:
            known = (self.by_digest[digest] for digest in locator if digest in self.by_digest)
            start = next((block.height for block in known if self._is_active(block)), 0)
            following = self.active[start + 1:start + 2001]
        self.send_headers(connection, [block.raw[:80] for block in following])

    def send_headers(self, connection, headers):
        connection.sendall(message('headers', headers_payload(headers)))

    def on_get_data(self, connection, payload):
        cursor = regtest.Cursor(payload)
        for _ in range(cursor.compact()):
            kind, digest = struct.unpack('<I', cursor.take(4))[0], cursor.take(32)
            if kind in (TX | WITNESS_FLAG, WTX):
                self.asked_for.append(digest)
                self.give_transaction(connection, kind, digest)
                continue
            assert kind == BLOCK | WITNESS_FLAG, kind
            block = self.by_digest.get(digest)
            if block is None:
                connection.sendall(message('notfound', inventory_payload(kind, [digest])))
            else:
                self.blocks_given.append(digest)
                self.send_block(connection, block)

    def send_block(self, connection, block):
        connection.sendall(message('block', block.raw))

    def give_transaction(self, connection, kind, digest):
        raw = self.transactions.get(digest)
        if raw is None:
            connection.sendall(message('notfound', inventory_payload(kind, [digest])))
        else:
            connection.sendall(message('tx', raw))

    def on_get_block_transactions(self, connection, payload):
        cursor = regtest.Cursor(payload)
        block, places, at = self.by_digest[cursor.take(32)], [], 0
        for _ in range(cursor.compact()):
            at += cursor.compact()
            places.append(at)
            at += 1
        self.places_asked_for.append(places)
        self.give_block_transactions(connection, block, places)

    def give_block_transactions(self, connection, block, places):
        self.send_block_transactions(connection, block, [block.txs[i].raw for i in places])

    @staticmethod
    def send_block_transactions(connection, block, raws):
        connection.sendall(message('blocktxn', block.digest + regtest.compact_size(len(raws)) + b''.join(raws)))

    def on_inventory(self, connection, payload):
        """Fetches the transactions that it is told of."""
        connection.sendall(message('getdata', payload))

    def on_transaction(self, connection, payload):
        """Takes what it is given as nodes do: it can be had of it from then on, and is not announced to the giver."""
        self.handed.append(payload)
        if self.is_valid(payload):
            self.take_transactions([regtest.parse_tx(regtest.Cursor(payload))])

    def is_valid(self, raw):
        return True


class Boastful(FakePeer):
    """Has a clock and a fee rate that cannot be."""

    def on_message(self, connection, name, payload):
        if name == 'version':
            version = bytearray(version_payload(0))
            version[12:20] = struct.pack('<q', -2 ** 63)
            connection.sendall(message('version', bytes(version)) + message('verack'))
        else:
            super().on_message(connection, name, payload)

    def on_ready(self, connection):
        connection.sendall(message('feefilter', struct.pack('<q', -2 ** 63)))


class SaysTwice(FakePeer):
    """Says version and verack again, with other contents. bitcoind passes that over."""

    def on_ready(self, connection):
        connection.sendall((message('version', version_payload(0, 0, 209)) + message('verack')) * 1000)


# What no honest node does. `reason`: what the daemon must give as the reason.

class RpcPort(FakePeer):
    reason = "it answers in HTTP: that is a node's RPC port"

    def _serve(self, connection):
        connection.recv(100)
        connection.sendall(b'HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n')


class OtherChain(FakePeer):
    reason = 'it is a node of chain main, and chain regtest is followed here: give -chain=main'

    def greet(self, connection):
        connection.sendall(message('version', version_payload(0), magic=bytes.fromhex('f9beb4d9')))


class SilentOtherChain(FakePeer):
    """bitcoind does so: it hangs up on a wrong magic."""
    reason = 'it closed the connection before it said a word: a node of another chain than regtest does so'

    def _serve(self, connection):
        connection.recv(24)
        connection.shutdown(socket.SHUT_RDWR)
        connection.close()


class WrongMagic(FakePeer):
    reason = 'wrong magic 53534820'

    def greet(self, connection):
        connection.sendall(b'SSH 2.0 hello')


class WrongChecksum(FakePeer):
    reason = 'message ping with a wrong checksum'

    def on_ready(self, connection):
        connection.sendall(message('ping', bytes(8), checksum=b'abcd'))


class Oversize(FakePeer):
    reason = 'message block claims 4294967295 bytes, 4000000 are allowed'

    def on_ready(self, connection):
        connection.sendall(message('block', length=0xffffffff))


class Truncated(FakePeer):
    """Begins a message, and never ends it."""
    reason = 'no answer to getheaders'

    def on_ready(self, connection):
        connection.sendall(message('block', bytes(1000), length=3_000_000)[:500])

    def on_message(self, connection, name, payload):
        if name in ('version', 'verack'):
            super().on_message(connection, name, payload)


class HangsUp(FakePeer):
    """Shakes hands and leaves."""
    reason = 'it closed the connection'

    def on_ready(self, connection):
        connection.shutdown(socket.SHUT_RDWR)


class SlowLoris(FakePeer):
    """A byte now and then, so that something always comes."""
    reason = 'no version within'

    def greet(self, connection):
        for byte in message('version', version_payload(0)):
            connection.sendall(bytes([byte]))
            time.sleep(0.2)


class Deafening(FakePeer):
    """Asks for answers without end, and reads none: those wait in memory until it is left."""
    reason = 'Trying again in'  # which bound it comes to first depends on how fast it is

    def _serve(self, connection):
        pings = message('ping', bytes(8)) * 10_000
        try:
            connection.sendall(message('version', version_payload(0)) + message('verack'))
            while True:
                connection.sendall(pings)
        except OSError:
            pass


class NoWitness(FakePeer):
    reason = 'it serves blocks without their witnesses'
    services = NETWORK


class TooManyHeaders(FakePeer):
    reason = 'headers of 2001 entries, 2000 are allowed'

    def send_headers(self, connection, headers):
        connection.sendall(message('headers', regtest.compact_size(2001) + bytes(81 * 2001)))


class Strangers(FakePeer):
    """Headers whose parent nobody knows, whatever is asked."""
    reason = 'it sent headers that do not connect'

    def send_headers(self, connection, headers):
        stranger = struct.pack('<i', 4) + b'\x07' * 32 + bytes(32) + struct.pack('<II', regtest.GENESIS.time + 1, regtest.BITS)
        super().send_headers(connection, [regtest.solve(stranger)])


class NoWork(FakePeer):
    reason = 'it sent a header without proof of work (high-hash)'

    def send_headers(self, connection, headers):
        lazy = bytearray(headers[0])
        while regtest.sha256d(bytes(lazy))[31] < 0x80:
            lazy[76] ^= 0xff
            lazy[77] = (lazy[77] + 1) & 0xff
        super().send_headers(connection, [bytes(lazy)])


class WrongDifficulty(FakePeer):
    reason = 'it sent an invalid header: bad-diffbits'

    def send_headers(self, connection, headers):
        parent = regtest.GENESIS
        header = struct.pack('<i', 4) + parent.digest + bytes(32) + struct.pack('<II', parent.time + 1, 0x207ffffe)
        super().send_headers(connection, [regtest.solve(header)])


class WrongBlocks(FakePeer):
    """The headers are right, a transaction in the blocks is not."""
    reason = 'which is invalid: bad-txnmrklroot'

    def send_block(self, connection, block):
        raw = bytearray(block.raw)
        raw[-1] ^= 1
        connection.sendall(message('block', bytes(raw)))


class BrokenBlocks(FakePeer):
    reason = 'it sent a block that does not decode'

    def send_block(self, connection, block):
        connection.sendall(message('block', block.raw[:-1]))


class UnaskedBlocks(FakePeer):
    reason = 'which it was not asked for'

    def on_ready(self, connection):
        connection.sendall(message('block', self.active[1].raw))

    def on_get_headers(self, connection, payload):
        self.send_headers(connection, [])


class Stalling(FakePeer):
    """Shows the headers and keeps the blocks."""
    reason = 'stalled: it was asked for'

    def on_get_data(self, connection, payload):
        pass


class Trickling(FakePeer):
    """A byte of the block now and then."""
    reason = 'too slow: it was asked for'

    def on_get_data(self, connection, payload):
        for byte in message('block', self.active[1].raw):
            connection.sendall(bytes([byte]))
            time.sleep(0.2)


class Deaf(FakePeer):
    reason = 'no answer to getheaders'

    def on_get_headers(self, connection, payload):
        pass


class BrokenTransaction(FakePeer):
    reason = 'it sent a transaction that does not decode'

    def on_ready(self, connection):
        connection.sendall(message('tx', b'\x01\x02'))


class InvalidTransaction(FakePeer):
    """One that spends the same output twice."""
    reason = 'which is invalid: bad-txns-inputs-duplicate'

    def on_ready(self, connection):
        coin = (regtest.display(b'\x11' * 32), 0, b'', 0xffffffff)
        connection.sendall(message('tx', regtest.Tx([coin, coin], [(1, regtest.OP_TRUE)]).raw))


class CompactOutOfPlace(FakePeer):
    """A compact block whose coinbase stands where no transaction can."""
    reason = 'cmpctblock with a transaction that does not decode, or out of place'

    def on_ready(self, connection):
        connection.sendall(message('cmpctblock', compact_payload(self.active[-1], coinbase=b'\x05')))


class CompactCutOff(FakePeer):
    reason = 'cmpctblock with too many or too few short ids'

    def on_ready(self, connection):
        connection.sendall(message('cmpctblock', compact_payload(self.active[-1])[:88] + b'\xfd\xff\xff'))


# To a daemon with -blocksonly.
class AnnouncesTransactions(FakePeer):
    reason = 'it announced transactions after it was told not to'

    def on_ready(self, connection):
        connection.sendall(message('inv', inventory_payload(1, [bytes(32)] * 50_000)))


class AnnouncesForEver(FakePeer):
    """Blocks that nobody ever sees, announced one by one."""
    reason = 'it announced'

    def on_get_headers(self, connection, payload):
        self.send_headers(connection, [])

    def on_ready(self, connection):
        def flood():
            try:
                for i in range(200_000):
                    connection.sendall(message('inv', inventory_payload(BLOCK, [struct.pack('<I', i) * 8])))
            except OSError:
                pass
        threading.Thread(target=flood, daemon=True).start()


HOSTILE = (RpcPort, OtherChain, SilentOtherChain, WrongMagic, WrongChecksum, Oversize, Truncated, HangsUp, SlowLoris,
           Deafening, NoWitness, TooManyHeaders, Strangers, NoWork, WrongDifficulty, WrongBlocks, BrokenBlocks, UnaskedBlocks, Stalling,
           Trickling, Deaf, AnnouncesForEver)
# Once initial download is over.
HOSTILE_AT_TIP = (BrokenTransaction, InvalidTransaction, CompactOutOfPlace, CompactCutOff)


class EndlessHeaders(FakePeer):
    """Headers with regtest's work for as long as anybody asks, and no blocks."""

    def __init__(self, length, port=0):
        super().__init__(port=port)
        self.length, self.made = length, {}

    def on_get_headers(self, connection, payload):
        count, at = payload[4], 5
        locator = [payload[at + 32 * i:at + 32 * (i + 1)] for i in range(count)]
        height, digest = next(((self.made[d], d) for d in locator if d in self.made), (0, regtest.GENESIS.digest))
        headers = []
        while len(headers) < 2000 and height < self.length:
            height += 1
            head = (struct.pack('<i', 4) + digest + bytes(32)
                    + struct.pack('<II', regtest.GENESIS.time + height, regtest.BITS))
            header = regtest.solve(head)
            digest = regtest.sha256d(header)
            headers.append(header)
        if headers:
            self.made[digest] = height
        self.send_headers(connection, headers)

    def on_get_data(self, connection, payload):
        pass
