# SPDX-License-Identifier: MIT
"""Builds regtest blocks that satisfy every rule, those about coins included, and says which frames they make."""
import hashlib
import struct

GENESIS_HASH = '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206'
GENESIS_RAW = bytes.fromhex(
    '01000000' + '00' * 32 + '3ba3edfd7a7b12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4a'
    'dae5494dffff7f2002000000' '01' '01000000010000000000000000000000000000000000000000000000000000000000000000'
    'ffffffff4d04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e2062'
    '72696e6b206f66207365636f6e64206261696c6f757420666f722062616e6b73ffffffff0100f2052a01000000434104678a'
    'fdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7'
    'ba0b8d578a4c702b6bf11d5fac00000000')
GENESIS_TIME = 1296688602
MAGIC = bytes.fromhex('fabfb5da')
BITS = 0x207fffff
HALVING_INTERVAL = 150
MATURITY = 100
OP_TRUE = b'\x51'
# A witness program of a version without rules: anyone may spend it, with a witness of any size.
FREE_WITNESS = b'\x52\x20' + bytes(32)


def sha256d(data):
    return hashlib.sha256(hashlib.sha256(data).digest()).digest()


def display(digest):
    return digest[::-1].hex()


def wire(display_hex):
    return bytes.fromhex(display_hex)[::-1]


def compact_size(n):
    if n < 0xfd:
        return bytes([n])
    if n <= 0xffff:
        return b'\xfd' + struct.pack('<H', n)
    if n <= 0xffffffff:
        return b'\xfe' + struct.pack('<I', n)
    return b'\xff' + struct.pack('<Q', n)


def push(data):
    if len(data) < 0x4c:
        return bytes([len(data)]) + data
    return b'\x4c' + bytes([len(data)]) + data


def push_number(n):
    """The shortest push of a small positive number, as BIP34 wants a height."""
    if n == 0:
        return b'\x00'
    if n <= 16:
        return bytes([0x50 + n])
    raw = n.to_bytes((n.bit_length() + 7) // 8, 'little')
    if raw[-1] & 0x80:
        raw += b'\x00'
    return push(raw)


def subsidy(height):
    return (50 * 100_000_000) >> (height // HALVING_INTERVAL)


class Tx:
    """A transaction: `inputs` are (txid, n, script, sequence), `outputs` (amount, script), `witness` a list of
    item lists, one per input, or None."""

    def __init__(self, inputs, outputs, witness=None, locktime=0, version=2):
        self.inputs, self.outputs, self.witness = inputs, outputs, witness
        body = compact_size(len(inputs)) + b''.join(
            wire(txid) + struct.pack('<I', n) + compact_size(len(script)) + script + struct.pack('<I', sequence)
            for txid, n, script, sequence in inputs)
        body += compact_size(len(outputs)) + b''.join(
            struct.pack('<q', amount) + compact_size(len(script)) + script for amount, script in outputs)
        head, tail = struct.pack('<i', version), struct.pack('<I', locktime)
        self.stripped = head + body + tail
        self.raw = self.stripped
        if witness is not None:
            items = b''.join(compact_size(len(w)) + b''.join(compact_size(len(i)) + i for i in w) for w in witness)
            self.raw = head + b'\x00\x01' + body + items + tail
        self.digest = sha256d(self.stripped)
        self.txid = display(self.digest)
        self.wtxid_digest = sha256d(self.raw)


class RawTx:
    """A transaction found in a block."""

    def __init__(self, raw, stripped):
        self.raw = raw
        self.digest = sha256d(stripped)
        self.txid = display(self.digest)


def merkle_root(digests):
    level = list(digests)
    while len(level) > 1:
        if len(level) % 2:
            level.append(level[-1])
        level = [sha256d(level[i] + level[i + 1]) for i in range(0, len(level), 2)]
    return level[0]


class Block:
    """A block: its bytes, its place, its transactions."""

    def __init__(self, raw, height, txs, previous):
        self.raw, self.height, self.txs, self.previous = raw, height, txs, previous
        self.digest = sha256d(raw[:80])
        self.hash = display(self.digest)
        self.time = struct.unpack('<I', raw[68:72])[0]

    @property
    def hex(self):
        return self.raw.hex()


class Cursor:
    def __init__(self, raw):
        self.raw, self.at = raw, 0

    def take(self, n):
        if self.at + n > len(self.raw):
            raise ValueError('truncated')
        out = self.raw[self.at:self.at + n]
        self.at += n
        return out

    def compact(self):
        n = self.take(1)[0]
        if n < 0xfd:
            return n
        return int.from_bytes(self.take({0xfd: 2, 0xfe: 4, 0xff: 8}[n]), 'little')


def parse_tx(cur):
    start = cur.at
    version = cur.take(4)
    segwit = cur.raw[cur.at:cur.at + 2] == b'\x00\x01'
    if segwit:
        cur.take(2)
    core_start = cur.at
    inputs = cur.compact()
    for _ in range(inputs):
        cur.take(36)
        cur.take(cur.compact())
        cur.take(4)
    for _ in range(cur.compact()):
        cur.take(8)
        cur.take(cur.compact())
    core = cur.raw[core_start:cur.at]
    if segwit:
        for _ in range(inputs):
            for _ in range(cur.compact()):
                cur.take(cur.compact())
    locktime = cur.take(4)
    return RawTx(cur.raw[start:cur.at], version + core + locktime)


def parse_block(raw, height=None):
    cur = Cursor(raw)
    cur.take(80)
    txs = [parse_tx(cur) for _ in range(cur.compact())]
    if cur.at != len(raw):
        raise ValueError('bytes after the block')
    return Block(raw, height, txs, display(raw[4:36]))


GENESIS = parse_block(GENESIS_RAW, 0)


def solve(header):
    """Counts the nonce up until the hash meets regtest's target (every second one does)."""
    nonce = 0
    while True:
        candidate = header + struct.pack('<I', nonce)
        if sha256d(candidate)[31] < 0x80:
            return candidate
        nonce += 1


def make_block(parent, time, txs=(), outputs=None, tag=b'', commit=None):
    """A solved block on `parent`. `outputs` replaces the coinbase's outputs (default: the subsidy to OP_TRUE);
    `tag` makes equal blocks differ; `commit` forces or forbids the witness commitment."""
    height = parent.height + 1
    outputs = list(outputs) if outputs is not None else [(subsidy(height), OP_TRUE)]
    script = push_number(height) + push(tag if tag else b'\x00')
    needs = any(getattr(t, 'witness', None) is not None for t in txs) if commit is None else commit
    witness = None
    if needs:
        root = merkle_root([bytes(32)] + [t.wtxid_digest for t in txs])
        outputs.append((0, bytes.fromhex('6a24aa21a9ed') + sha256d(root + bytes(32))))
        witness = [[bytes(32)]]
    coinbase = Tx([('00' * 32, 0xffffffff, script, 0xffffffff)], outputs, witness)
    every = [coinbase, *txs]
    header = struct.pack('<i', 0x20000000) + parent.digest + merkle_root([t.digest for t in every])
    header = solve(header + struct.pack('<II', time, BITS))
    return Block(header + compact_size(len(every)) + b''.join(t.raw for t in every), height, every, parent.hash)


class Chain:
    """A chain that grows; every block is kept, branches may be grown from any of them."""

    def __init__(self, start_time, tip=GENESIS):
        self.start_time, self.tip, self.tags = start_time, tip, 0

    def next_time(self, parent):
        return max(parent.time + 1, self.start_time + parent.height + 1)

    def build(self, parent=None, **kwargs):
        """A new block, not yet part of this chain."""
        parent = parent or self.tip
        self.tags += 1
        kwargs.setdefault('tag', struct.pack('<I', self.tags))
        kwargs.setdefault('time', self.next_time(parent))
        return make_block(parent, **kwargs)

    def mine(self, **kwargs):
        """A new block on the tip, which it becomes."""
        self.tip = self.build(**kwargs)
        return self.tip

    def mine_bytes(self, size):
        """A new block on the tip with `size` bytes of data in its coinbase."""
        height = self.tip.height + 1
        return self.mine(outputs=[(subsidy(height), OP_TRUE), data_output(bytes(size))])

    def fund(self, submit, count, script=OP_TRUE):
        """Mines `count` coins and what matures them; (txid, n, amount) of each. `submit` is called per block."""
        height = self.tip.height + 1
        block = self.mine(outputs=fan_out(height, count, script))
        submit(block)
        for _ in range(MATURITY):
            submit(self.mine())
        amount = subsidy(height) // count
        return [(block.txs[0].txid, n, amount) for n in range(count)]

    def branch(self, parent, length, **kwargs):
        """`length` blocks on `parent`; the tip stays."""
        out = []
        for _ in range(length):
            out.append(self.build(out[-1] if out else parent, **kwargs))
        return out


def fan_out(height, count, script=OP_TRUE):
    """Coinbase outputs that split the subsidy of `height` evenly."""
    each = subsidy(height) // count
    return [(each, script)] * count


def data_output(payload):
    """An output that carries bytes and no signature operation, whatever they are."""
    return (0, b'\x6a\x4e' + struct.pack('<I', len(payload)) + payload)


def spend(txid, n, amount, padding=0, witness=None, script=OP_TRUE):
    """Spends an output that anyone may spend, the whole of it; `padding` bytes of data make it larger."""
    outputs = [(amount, script)]
    if padding:
        outputs.append(data_output(bytes(padding)))
    return Tx([(txid, n, b'', 0xffffffff)], outputs, witness)


def record(raw, magic=MAGIC):
    """A record of a block file."""
    return magic + struct.pack('<I', len(raw)) + raw


def xor(data, key, offset=0):
    """Applies the 8-byte key of an xor.dat by absolute file offset."""
    pad = (key * (len(data) // 8 + 2))[offset % 8:][:len(data)]
    return (int.from_bytes(data, 'big') ^ int.from_bytes(pad, 'big')).to_bytes(len(data), 'big')


# The frames that an endpoint with all five topics owes for one change, without counters.

def transaction_frames(block):
    out = []
    for tx in block.txs:
        out += [(b'hashtx', bytes.fromhex(tx.txid)), (b'rawtx', tx.raw)]
    return out


def connect_frames(block):
    return transaction_frames(block) + [(b'sequence', bytes.fromhex(block.hash) + b'C')]


def disconnect_frames(block):
    return transaction_frames(block) + [(b'sequence', bytes.fromhex(block.hash) + b'D')]


def tip_frames(block):
    return [(b'hashblock', bytes.fromhex(block.hash)), (b'rawblock', block.raw)]
