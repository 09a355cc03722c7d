# SPDX-License-Identifier: MIT
"""All coins of a chain, worked out from its blocks alone: a second opinion on what the daemon says of them."""
import hashlib
import struct

import regtest

MUHASH_MODULUS = 2 ** 3072 - 1103717
COINBASE_PREVOUT = (bytes(32), 0xffffffff)


def parse_inputs_and_outputs(raw):
    """(inputs, outputs) of a transaction: prevouts as (txid in wire order, n), outputs as (amount, script)."""
    cur = regtest.Cursor(raw)
    cur.take(4)
    if raw[4:6] == b'\x00\x01':
        cur.take(2)
    inputs, outputs = [], []
    for _ in range(cur.compact()):
        inputs.append((cur.take(32), struct.unpack('<I', cur.take(4))[0]))
        cur.take(cur.compact())
        cur.take(4)
    for _ in range(cur.compact()):
        amount = struct.unpack('<q', cur.take(8))[0]
        outputs.append((amount, cur.take(cur.compact())))
    return inputs, outputs


def unspendable(script):
    return script[:1] == b'\x6a' or len(script) > 10_000


def rotate(x, n):
    return ((x << n) | (x >> (32 - n))) & 0xffffffff


def chacha20_block(key, counter):
    state = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, *struct.unpack('<8I', key), counter, 0, 0, 0]
    work = list(state)

    def quarter(a, b, c, d):
        for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            work[x] = (work[x] + work[y]) & 0xffffffff
            work[z] = rotate(work[z] ^ work[x], turn)
    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack('<16I', *((a + b) & 0xffffffff for a, b in zip(work, state)))


class CoinSet:
    """Connects blocks one after the other; takes none back: make another for another branch."""

    def __init__(self):
        self.coins = {}  # (txid in wire order, n) -> (height, coinbase, amount, script)
        self.height, self.tip = 0, regtest.GENESIS_HASH

    @classmethod
    def of(cls, blocks):
        """Of the blocks behind genesis, lowest first."""
        out = cls()
        for block in blocks:
            out.connect(block)
        return out

    def connect(self, block):
        assert block.previous == self.tip, 'not on the tip'
        self.height, self.tip = self.height + 1, block.hash
        if not hasattr(block, 'coin_changes'):  # Parsed once, however many sets it goes into.
            block.coin_changes = [(tx.digest, *parse_inputs_and_outputs(tx.raw)) for tx in block.txs]
        for number, (txid, inputs, outputs) in enumerate(block.coin_changes):
            if number:
                for prevout in inputs:
                    del self.coins[prevout]
            for n, (amount, script) in enumerate(outputs):
                if not unspendable(script):
                    self.coins[txid, n] = (self.height, number == 0, amount, script)

    def encoded(self):
        for (txid, n), (height, coinbase, amount, script) in sorted(self.coins.items()):
            yield (txid + struct.pack('<IIq', n, height * 2 + coinbase, amount) + regtest.compact_size(len(script)) + script)

    def hash_serialized_3(self):
        whole = hashlib.sha256()
        for coin in self.encoded():
            whole.update(coin)
        return hashlib.sha256(whole.digest()).digest()[::-1].hex()

    def muhash(self):
        product = 1
        for coin in self.encoded():
            key = hashlib.sha256(coin).digest()
            stream = b''.join(chacha20_block(key, counter) for counter in range(6))
            product = product * int.from_bytes(stream, 'little') % MUHASH_MODULUS
        return hashlib.sha256(product.to_bytes(384, 'little')).digest()[::-1].hex()

    def sums(self):
        """gettxoutsetinfo without a hash."""
        return {'height': self.height, 'bestblock': self.tip, 'txouts': len(self.coins),
                'bogosize': sum(50 + len(script) for _, _, _, script in self.coins.values()),
                'total_amount': sum(amount for _, _, amount, _ in self.coins.values()),
                'transactions': len({txid for txid, _ in self.coins})}


def branch_of(blocks, tip):
    """The blocks from the one on genesis to `tip`; `blocks` holds them by hash."""
    out = []
    while tip != regtest.GENESIS_HASH:
        out.append(blocks[tip])
        tip = out[-1].previous
    return out[::-1]


def check(test, daemon, blocks):
    """The daemon's coins are those of its tip; `blocks` holds at least the blocks of its chain by hash."""
    got = daemon.rpc('gettxoutsetinfo')
    coins = CoinSet.of(branch_of(blocks, got['bestblock']))
    test.assertEqual((got['height'], got['bestblock']), (coins.height, coins.tip))
    test.assertEqual(got['txouts'], len(coins.coins))
    test.assertEqual(got['hash_serialized_3'], coins.hash_serialized_3())
