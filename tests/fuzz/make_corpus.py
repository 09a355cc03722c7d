#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the corpora of the fuzz targets from tests/vectors: real inputs, and what a hostile sender makes of them.

The same vectors give the same files. Files whose name begins with "found-" came from fuzzing and are left alone.
"""

import hashlib
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
VECTORS = HERE.parent / "vectors"


def lines(name):
    return [json.loads(line) for line in (VECTORS / name).read_text().splitlines()]


def write(target, files):
    directory = HERE / "corpus" / target
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.iterdir():
        if not old.name.startswith("found-"):
            old.unlink()
    for name, content in files.items():
        (directory / name).write_bytes(content)


def compact_size(value):
    if value < 253:
        return bytes([value])
    if value <= 0xFFFF:
        return b"\xfd" + struct.pack("<H", value)
    if value <= 0xFFFFFFFF:
        return b"\xfe" + struct.pack("<I", value)
    return b"\xff" + struct.pack("<Q", value)


def read_compact_size(data, at):
    first = data[at]
    width = {253: 2, 254: 4, 255: 8}.get(first, 0)
    return (int.from_bytes(data[at + 1 : at + 1 + width], "little") if width else first), at + 1 + width


def transaction_end(data, at):
    """Place behind the well-formed transaction at `at`."""
    at += 4
    witness = data[at] == 0
    at += 2 * witness
    inputs, at = read_compact_size(data, at)
    for _ in range(inputs):
        size, at = read_compact_size(data, at + 36)
        at += size + 4
    outputs, at = read_compact_size(data, at)
    for _ in range(outputs):
        size, at = read_compact_size(data, at + 8)
        at += size
    for _ in range(inputs * witness):
        items, at = read_compact_size(data, at)
        for _ in range(items):
            size, at = read_compact_size(data, at)
            at += size
    return at + 4


def split_block(block):
    count, at = read_compact_size(block, 80)
    transactions = []
    for _ in range(count):
        end = transaction_end(block, at)
        transactions.append(block[at:end])
        at = end
    assert at == len(block)
    return block[:80], transactions


def small(items, limit, count):
    """`count` items of at most `limit` bytes, of as many different sizes as there are."""
    by_size = {}
    for item in items:
        if len(item) <= limit:
            by_size.setdefault(len(item), item)
    sizes = sorted(by_size)
    step = max(1, len(sizes) // count)
    return [by_size[size] for size in sizes[::step]][:count]


BLOCK170 = bytes.fromhex((VECTORS / "block170.hex").read_text().strip())
CHAIN = [bytes.fromhex(row["hex"]) for row in lines("chain-a.jsonl") if row.get("hex")]
REJECTED = [row for row in lines("reject.jsonl") if not row["name"].startswith("base")]
SCRIPTS = [line.split() for line in (VECTORS / "scripts.txt").read_text().splitlines()]


def headers():
    files = {"block170": BLOCK170[:80], "short": BLOCK170[:79], "long": BLOCK170[:81], "empty": b""}
    for index, block in enumerate(CHAIN[::20]):
        files[f"regtest-{index}"] = block[:80]
    for name, byte in (("zeros", 0), ("ones", 0xFF)):
        files[name] = bytes([byte]) * 80
    return files


def transactions():
    files = {}
    everything = [tx for block in CHAIN for tx in split_block(block)[1]] + split_block(BLOCK170)[1]
    for index, tx in enumerate(small(everything, 1500, 30)):
        files[f"real-{index}"] = tx
    legacy = split_block(BLOCK170)[1][1]
    outpoint = bytes(32) + struct.pack("<I", 1)
    one_input = b"\x01" + outpoint + b"\x00" + b"\xff" * 4
    one_output = b"\x01" + struct.pack("<q", 1) + b"\x00"
    version, lock_time = struct.pack("<i", 1), bytes(4)
    files |= {
        "empty": b"",
        "no-inputs-no-outputs": version + b"\x00\x00" + lock_time,
        "no-inputs": version + b"\x00" + one_output + lock_time,
        "superfluous-witness": version + b"\x00\x01" + one_input + one_output + b"\x00" + lock_time,
        "witness-without-inputs": version + b"\x00\x01\x00" + one_output + lock_time,
        "unknown-flag": version + b"\x00\x02" + one_input + one_output + lock_time,
        "both-flags": version + b"\x00\x03" + one_input + one_output + b"\x01\x00" + lock_time,
        "empty-items": version + b"\x00\x01" + one_input + one_output + b"\xfd\x00\x01" + bytes(256) + lock_time,
        "input-count-claimed": version + compact_size(0x02000000) + one_input[1:],
        "output-count-claimed": version + one_input + compact_size(0x02000000) + one_output[1:],
        "item-count-claimed": version + b"\x00\x01" + one_input + one_output + compact_size(0x02000000) + lock_time,
        "count-beyond-limit": version + compact_size(0x02000001) + one_input[1:],
        "script-size-2-64": version + b"\x01" + outpoint + b"\xff" * 9,
        "count-not-canonical": version + b"\xfd\x01\x00" + one_input[1:] + one_output + lock_time,
        "cut": legacy[:-1],
        "trailing": legacy + b"\x00",
        "two": legacy + legacy,
        "many-inputs": version + compact_size(300) + one_input[1:] * 300 + one_output + lock_time,
        "many-outputs": version + one_input + compact_size(300) + one_output[1:] * 300 + lock_time,
    }
    return files


def mempool_files():
    """Files of bitcoind's mempool: in both versions, and with counts that promise more than there is."""
    everything = [tx for block in CHAIN for tx in split_block(block)[1]]
    txs = [tx for tx in small(everything, 600, 6)]
    key = bytes(range(1, 9))

    def payload(items, deltas=(), unbroadcast=()):
        out = struct.pack("<Q", len(items))
        out += b"".join(tx + struct.pack("<qq", 1_700_000_000 + i, i - 1) for i, tx in enumerate(items))
        out += compact_size(len(deltas)) + b"".join(txid + struct.pack("<q", delta) for txid, delta in deltas)
        return out + compact_size(len(unbroadcast)) + b"".join(unbroadcast)

    def keyed(body):
        head = struct.pack("<Q", 2) + b"\x08" + key
        return head + bytes(byte ^ key[(len(head) + i) % 8] for i, byte in enumerate(body))

    plain = struct.pack("<Q", 1)
    full = payload(txs, [(bytes([1]) * 32, 5), (bytes([2]) * 32, -5)], [bytes([3]) * 32])
    return {
        "empty": b"",
        "nothing-in-it": keyed(payload([])),
        "full": keyed(full),
        "full-plain": plain + full,
        "cut": keyed(full[:-7]),
        "version-3": struct.pack("<Q", 3) + full,
        "key-of-seven": struct.pack("<Q", 2) + b"\x07" + key[:7] + full,
        "count-claimed": plain + struct.pack("<Q", 1 << 62) + txs[0],
        "deltas-claimed": plain + struct.pack("<Q", 0) + compact_size(0x02000000) + bytes(40),
        "unbroadcast-claimed": plain + struct.pack("<Q", 0) + b"\x00" + compact_size(0x02000000) + bytes(32),
        "no-transaction": plain + struct.pack("<Q", 1) + b"\xff" * 40,
    }


def blocks():
    files = {"block170": BLOCK170, "header-alone": BLOCK170[:80], "empty": b""}
    for index, block in enumerate(small(CHAIN, 1500, 20)):
        files[f"regtest-{index}"] = block
    for index, row in enumerate(REJECTED):
        try:
            block = bytes.fromhex(row["hex"])
        except ValueError:
            continue
        if len(block) <= 420:
            files[f"rejected-{index}"] = block
    header, (coinbase, payment) = split_block(BLOCK170)
    files |= {
        "no-transactions": header + b"\x00",
        "count-claimed": header + compact_size(0x02000000) + coinbase + payment,
        "count-beyond-limit": header + compact_size(0x02000001) + coinbase + payment,
        "count-not-canonical": header + b"\xfd\x02\x00" + coinbase + payment,
        "one-missing": header + b"\x03" + coinbase + payment,
        "one-too-many": header + b"\x01" + coinbase + payment,
        "last-doubled": header + b"\x03" + coinbase + payment + payment,
        "smallest-transactions": header + compact_size(260) + (b"\x01\x00\x00\x00\x00\x00" + bytes(4)) * 260,
        "trailing": BLOCK170 + bytes(8),
        "two-blocks": BLOCK170 + BLOCK170,
    }
    return files


def block_files():
    """Eight bytes of key, one of window size, then the file."""
    magic = bytes.fromhex("fabfb5da")
    raw = small(CHAIN, 1000, 3)
    one, two, three = (magic + struct.pack("<I", len(block)) + block for block in raw)
    other = bytes.fromhex("f9beb4d9ea010000") + BLOCK170
    plain = bytes(8)
    key = (VECTORS / "xor.dat").read_bytes()

    def under(some_key, data):
        return bytes(byte ^ some_key[i % 8] for i, byte in enumerate(data))

    files = {
        "records": one + two + three,
        "zero-tail": one + bytes(100),
        "zero-gap": one + bytes(17) + two,
        "junk": b"junk" + one + b"\xff" + two + b"tail",
        "torn-by-the-end": one + two[:-1],
        "torn-by-the-next": one[:-5] + two + three[: len(three) // 2] + one,
        "lengths": magic + bytes(4) + magic + b"\xff\xff\xff\x7f" + magic + magic + one + magic + b"\x00\x09\x3d\x00",
        "slack": magic + struct.pack("<I", len(raw[0]) + 20) + raw[0] + bytes(20) + two,
        "no-work": one[:80] + b"\x21" + one[81:] + two,
        "other-network": other + one + other[:300] + two,
        "magics": magic * 20,
    }
    out = {name: plain + b"\x3f" + data for name, data in files.items()}
    out |= {f"key-{name}": key + b"\x06" + under(key, data) for name, data in files.items()}
    out["key-raw-zeros"] = key + b"\x1f" + under(key, one) + bytes(40) + bytes(under(key, bytes(len(one) + 40) + two)[len(one) + 40 :])
    out["key-is-magic"] = magic * 2 + b"\x10" + under(magic * 2, one + two) + bytes(64)
    out["empty"] = plain + b"\x00"
    return out


def compact_sizes():
    files = {"empty": b""}
    values = [0, 1, 252, 253, 254, 255, 256, 0xFFFF, 0x10000, 0x1FFFFFF, 0x2000000, 0x2000001, 0xFFFFFFFF, 2**32, 2**64 - 1]
    for value in values:
        files[f"value-{value}"] = compact_size(value)
        files[f"cut-{value}"] = compact_size(value)[:-1]
    for width, mark, form in ((2, 253, "<H"), (4, 254, "<I"), (8, 255, "<Q")):
        for value in (0, 252, 253, 0xFFFF):
            files[f"padded-{width}-{value}"] = bytes([mark]) + struct.pack(form, value)
    files["followed"] = compact_size(3) + b"abc"
    files["followed-by-less"] = compact_size(300) + b"abc"
    return files


def addresses():
    chain_main, chain_test, chain_regtest = b"\x00", b"\x01", b"\x02"
    files = {"empty": b"", "chain-alone": chain_main}
    for index, (script, kind, address, _) in enumerate(SCRIPTS):
        if address == "-":
            continue
        files[f"regtest-{index}-{kind}"] = chain_regtest + address.encode()
        files[f"script-{index}-{kind}"] = chain_regtest + bytes.fromhex(script)
    known = {
        "upper-case": (chain_main, "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4"),
        "version-16": (chain_main, "BC1SW50QGDZ25J"),
        "version-17": (chain_main, "BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R"),
        "forty-bytes": (chain_main, "bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y"),
        "wrong-checksum-kind": (chain_test, "tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47"),
        "padding": (chain_test, "tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vpggkg4j"),
        "no-data": (chain_main, "bc1gmk9yu"),
        "mixed-case": (chain_main, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3T4"),
        "too-long": (chain_main, "bc1" + "q" * 88),
        "base58": (chain_main, "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
        "base58-script": (chain_main, "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy"),
        "base58-zeros": (chain_main, "1111111111111111111114oLvT2"),
        "base58-blanks": (chain_main, " \t1111111111111111111114oLvT2\n"),
        "base58-secret": (chain_main, "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ"),
        "base58-long": (chain_main, "1" * 400),
        "not-ascii": (chain_main, "bc1q\u00e9"),
    }
    return files | {name: chain + text.encode() for name, (chain, text) in known.items()}


def descriptors():
    key = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
    uncompressed = (
        "0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
        "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8"
    )
    texts = {
        "empty": "",
        "raw": "raw(6a0102)",
        "raw-empty": "raw()",
        "checksum-wrong": "raw(51)#8lvh9jxq",
        "checksum-short": "raw(51)#8lv",
        "two-checksums": "raw(51)#8lvh9jxk#8lvh9jxk",
        "pk": f"pk({key})",
        "pk-uncompressed": f"pk({uncompressed})",
        "pkh": f"pkh({key})",
        "wpkh": f"wpkh({key})",
        "sh-wpkh": f"sh(wpkh({key}))",
        "multi": f"multi(1,{key},{key})",
        "multi-no-keys": "multi(1)",
        "multi-threshold": f"multi(4294967296,{key})",
        "sh-multi-15": f"sh(multi(15{(',' + key) * 15}))",
        "wsh-multi-20": f"wsh(sortedmulti(20{(',' + key) * 20}))",
        "sh-wsh": f"sh(wsh(pkh({key})))",
        "wsh-wsh": f"wsh(wsh(pkh({key})))",
        "rawtr": f"rawtr({key[2:]})",
        "rawtr-two": f"rawtr({key[2:]},{key[2:]})",
        "tr": f"tr({key[2:]})",
        "combo": f"combo({key})",
        "miniscript": f"wsh(and_v(v:pk({key}),older(10)))",
        "origin": f"pkh([d34db33f/44'/0'/0']{key})",
        "path": f"pkh({key}/0/*)",
        "addr": "addr(bcrt1pfeesnyr2tx)",
        "nested": "sh(" * 40 + ")" * 40,
        "unbalanced": f"pk({key}",
        "comma": f"pk({key}),",
        "braces": f"tr({key[2:]},{{pk({key[2:]}),pk({key[2:]})}})",
    }
    files = {name: text.encode() for name, text in texts.items()}
    for index, (_, kind, _, descriptor) in enumerate(SCRIPTS[:25]):
        files[f"node-{index}-{kind}"] = descriptor.encode()
    return files


def partial_merkle_trees():
    leaf = bytes(31) + b"\x01"
    pair = struct.pack("<I", 2) + b"\x02" + leaf + b"\xff" * 32
    return {
        "empty": b"",
        "one-leaf": struct.pack("<I", 1) + b"\x01" + leaf + b"\x01\x01",
        "two-leaves": pair + b"\x01\x05",
        "both": pair + b"\x01\x07",
        "no-flags": pair + b"\x00",
        "flags-too-many": pair + b"\x02\x05\x00",
        "equal-neighbours": struct.pack("<I", 2) + b"\x02" + leaf + leaf + b"\x01\x07",
        "no-leaves": bytes(4) + b"\x00\x00",
        "leaves-claimed": struct.pack("<I", 0xFFFFFFFF) + b"\x01" + leaf + b"\x01\x01",
        "hashes-claimed": struct.pack("<I", 2) + compact_size(0x02000000) + leaf,
        "flags-claimed": struct.pack("<I", 1) + b"\x01" + leaf + compact_size(0x02000000),
        "tree-of-seven": bytes(range(1, 8)),
        "tree-of-forty": bytes([39]) + bytes(range(40)),
    }


def script_texts():
    files = {f"real-{index}": bytes.fromhex(row[0]) for index, row in enumerate(SCRIPTS[:40]) if row[0] != "-"}
    key = bytes.fromhex("02e2a7b01fadbab713e0e021bfb16b6792821723f7a0860abff1f178512bd0c71a")
    files |= {
        "empty": b"",
        "every-instruction": bytes(range(0x4F, 0x100)),
        "cut-push": b"\x51\x4d\xff",
        "signature": bytes.fromhex("09300602010102010183"),
        "hybrid-key": b"\x41\x06" + b"\x11" * 64 + b"\xac",
        "taproot-off-curve": b"\x51\x20" + bytes(31) + b"\x05",
        "multisig-20": b"\x01\x14" + (b"\x21" + key) * 20 + b"\x01\x14\xae",
        "anchor": bytes.fromhex("51024e73"),
        "longest-program": b"\x60\x28" + b"\xff" * 40,
    }
    return files


def hexadecimal():
    texts = ["", "0", "00", "0g", "aBcDeF0123456789", "0x00", " 00", "00 ", "g0", "@A", "/0", ":0", "`a", "Gg"]
    texts += ["0123456789abcdef" * 5 + "0", "ABCDEF" * 16 + "zz", "00" * 100]
    files = {f"text-{index}": text.encode() for index, text in enumerate(texts)}
    files["all-bytes"] = bytes(range(256))
    files["zero-inside"] = b"00\x0000"
    for size in (15, 16, 17, 31, 32, 33):
        files[f"size-{size}"] = b"5a" * size
        files[f"wrong-at-end-{size}"] = b"5a" * (size - 1) + b"5-"
    return files


def compact_targets():
    files = {"empty": b""}
    every = [0, 0x00123456, 0x01003456, 0x01123456, 0x02008000, 0x03123456, 0x04923456, 0x04123456, 0x05009234]
    every += [0x1D00FFFF, 0x207FFFFF, 0x1E0377AE, 0x20123456, 0x2100FFFF, 0x21123456, 0x220000FF, 0x22000100, 0x23000001]
    every += [0xFF123456, 0xFF000000, 0x04800000, 0x01FEDCBA, 0x17053894]
    for bits in every:
        files[f"bits-{bits:08x}"] = struct.pack("<I", bits)
    for name, target in (("one", 1), ("sign-bit", 0x80), ("sign-bit-3", 0x800000), ("all", 2**256 - 1), ("top", 2**255)):
        files[f"target-{name}"] = bytes(4) + target.to_bytes(32, "big")
    return files


def http_heads():
    basic = "Authorization: Basic dXNlcjpwYXNzd29yZA==\r\n"
    texts = {
        "post": "POST / HTTP/1.1\r\nHost: 127.0.0.1:8372\r\n" + basic + "Content-Length: 2\r\n\r\n{}",
        "bare-line-feeds": "POST / HTTP/1.0\nContent-Length: 2\n\n{}",
        "blank-lines-before": "\r\n\n\r\nGET / HTTP/1.1\r\n\r\n",
        "absolute": "GET http://node.example:8332/rest/chaininfo.json?x=y HTTP/1.1\r\n\r\n",
        "absolute-no-path": "GET http://node.example HTTP/1.1\r\n\r\n",
        "asterisk": "OPTIONS * HTTP/1.1\r\n\r\n",
        "folded": "GET / HTTP/1.1\r\nX-Long: one\r\n two\n\tthree\r\n\r\n",
        "folded-length": "POST / HTTP/1.1\r\nContent-Length: 1\r\n 0\r\n\r\n",
        "folded-first": "GET / HTTP/1.1\r\n X: y\r\n\r\n",
        "both-lengths": "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "lengths-differ": "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "length-huge": "POST / HTTP/1.1\r\nContent-Length: 18446744073709551616\r\n\r\n",
        "length-signed": "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "expect": "POST / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n",
        "connection": "GET / HTTP/1.1\r\nConnection: keep-alive, close ,x\r\n\r\n",
        "colon-apart": "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
        "no-colon": "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "no-version": "GET /\r\n\r\n",
        "http2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "return-inside": "GET / HTTP/1.1\r\nX: a\rb\r\n\r\n",
        "nul": "GET / HTTP/1.1\r\nX: a\0b\r\n\r\n",
        "basic-wrong": "POST / HTTP/1.1\r\nAuthorization: Basic dXNlcjpwYXNzd29yZ===\r\n\r\n",
        "chunks": "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\nA;x=\"y\"\r\n0123456789\r\n0\r\nT: r\r\n\r\nGET",
        "chunks-bare": "POST / HTTP/1.1\nTransfer-Encoding: chunked\n\n1\na\n0\n\n",
        "chunk-huge": "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        "chunk-long": "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        "coding-list": "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    }
    return {name: text.encode() for name, text in texts.items()}


def rest_targets():
    hash_name = "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206"
    texts = {
        "block": f"{hash_name}.bin\nbytes=0-79",
        "headers": f"5/{hash_name}.json",
        "headers-query": f"{hash_name}.hex?count=2000",
        "query-escaped": f"{hash_name}.json?x=%41+&count=%31%00",
        "query-malformed": "a.json?count=1&&x",
        "query-bad-escape": "a.json?count=%2",
        "query-twice": "a?b?count=1#c#d",
        "utxos": f"/checkmempool/{hash_name}-0/{hash_name}-4294967296.json",
        "slashes": "//./..//.bin/.hex",
        "suffixes": ".json.bin.",
        "range-suffix": "a\nbytes=-5",
        "range-huge": "a\nbytes=99999999999999999999-18446744073709551615",
        "range-open": "a\nBYTES = 18446744073709551615-",
        "range-several": "a\nbytes=0-0,-1",
        "host-v6": "a\n[::1]:8372",
        "host-open": "a\n[evil",
        "tags": 'a\n"x", W/"tag", *',
        "empty": "",
    }
    return {name: text.encode() for name, text in texts.items()}


def json_calls():
    texts = {
        "one": '{"jsonrpc":"1.0","id":1,"method":"echo","params":["a",1.50,null,{"b":[true]}]}',
        "two": '{"jsonrpc":"2.0","id":"x","method":"help","params":{"command":"echo"}}',
        "notification": '{"jsonrpc":"2.0","method":"uptime"}',
        "batch": '[{"id":1,"method":"uptime"},{"jsonrpc":"2.0","method":"stop"},7,{"pizza":"sausage"},[]]',
        "batch-empty": "[]",
        "batch-of-notifications": '[{"jsonrpc":"2.0","method":"uptime"}]',
        "named": '{"id":null,"method":"typed","params":{"args":["' + "ab" * 32 + '"],"n":5,"flag":false,"map":{}}}',
        "named-twice": '{"id":1,"method":"typed","params":{"hash":"x","hash":"y"}}',
        "half-way": '{"id":1,"method":"typed","params":["' + "ab" * 32 + '",5,true]}',
        "typed-wrong": '{"id":1,"method":"typed","params":[1,"x",[],{},null]}',
        "many": '{"id":1,"method":"typed","params":[' + ",".join("0123456789" * 2) + "]}",
        "ids": '[{"id":-0},{"id":1e999},{"id":"\\ud83d\\ude00"},{"id":[[[]]]},{"id":{"a":{}}}]',
        "escapes": '["\\u0000\\u001f\\"\\\\\\/\\b\\f\\n\\r\\t\\ud834\\udd1e"]',
        "surrogate": '["\\ud834"]',
        "versions": '[{"jsonrpc":2},{"jsonrpc":"3.0"},{"jsonrpc":null,"method":"uptime"}]',
        "not-json": "this is bad",
        "scalar": "null",
        "spaces": ' \t\r\n{ "id" : 1 , "method" : "uptime" } \n',
        "trailing": '{"id":1,"method":"uptime"}x',
        "nested": '{"id":' + "[" * 200 + "]" * 200 + ',"method":"uptime"}',
        "deep": "[" * 600,
        "numbers": "[0,-0,1.0,1E+5,0.1e-9,123456789012345678901234567890,01]",
        "unicode": '["\u00e9\u20ac\U0001f600"]',
    }
    files = {name: text.encode() for name, text in texts.items()}
    files["overlong"] = b'["\xc0\x80"]'
    files["not-utf-8"] = b'{"id":"\xff","method":"uptime"}'
    return files


def number(value):
    """As coins are stored: seven bits a byte, the high bit says that more follow."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def coin(height=1, coinbase=False, amount=(50, 8), script=b"\x03" + bytes(20)):
    mantissa, exponent = amount
    return number(height * 2 + coinbase) + number(mantissa * 10 + exponent) + script


def coins():
    forms = {form: bytes([form]) + bytes(range(20 if form < 4 else 32)) for form in range(1, 8)}
    files = {f"form-{form}": coin(script=script) for form, script in forms.items()}
    files |= {
        "empty": b"",
        "raw-empty": coin(script=b"\x00\x00"),
        "raw": coin(script=b"\x00" + number(200) + bytes(200)),
        "raw-longest": coin(script=b"\x00" + number(10_000) + bytes(10_000)),
        "raw-too-long": coin(script=b"\x00" + number(10_001) + bytes(10_001)),
        "raw-that-has-a-form": coin(script=b"\x00" + number(22) + b"\x00\x14" + bytes(20)),
        "raw-cut": coin(script=b"\x00" + number(200) + bytes(199)),
        "unknown-form": coin(script=b"\x08" + bytes(32)),
        "nothing": coin(amount=(0, 0)),
        "nothing-with-exponent": coin(amount=(0, 5)),
        "exponent-too-small": coin(amount=(500, 2)),
        "all-money": coin(amount=(21_000_000, 8)),
        "more-than-all-money": coin(amount=(21_000_001, 8)),
        "amount-overflows": coin(amount=(2**60, 9)),
        "height-too-large": coin(height=2**32),
        "highest": coin(height=2**31 - 1, coinbase=True),
        "number-too-long": b"\x80\x00" + coin()[1:],
        "number-without-end": b"\xff" * 12,
        "trailing": coin() + b"\x00",
    }
    return files


def sealed(body):
    return body + hashlib.sha256(hashlib.sha256(body).digest()).digest()[:4]


def undo():
    one = struct.pack("<II", 1, 1) + coin()
    two = struct.pack("<II", 2, 1) + coin() + struct.pack("<I", 2) + coin(height=200, coinbase=True) + coin(amount=(7, 0))
    files = {"none": struct.pack("<I", 0), "one": one, "two": two, "empty-transaction": struct.pack("<II", 1, 0)}
    files |= {f"sealed-{name}": sealed(body) for name, body in list(files.items())}
    files |= {
        "empty": b"",
        "cut": one[:-1],
        "trailing": one + b"\x00",
        "transactions-claimed": struct.pack("<I", 2**32 - 1) + one[4:],
        "inputs-claimed": struct.pack("<II", 1, 2**32 - 1) + coin(),
        "wrong-checksum": one + bytes(4),
    }
    return files


def facts():
    def body(transactions, count=None):
        rows = b"".join(struct.pack("<II", 81 + 100 * i, 100) + bytes([i]) * 32 for i in range(transactions))
        return struct.pack("<II", 285, transactions if count is None else count) + struct.pack("<29q", *range(29)) + rows

    files = {"none": body(0), "one": body(1), "three": body(3)}
    files |= {f"sealed-{name}": sealed(content) for name, content in list(files.items())}
    files |= {
        "empty": b"",
        "cut": body(2)[:-1],
        "trailing": body(2) + b"\x00",
        "count-claimed": body(1, 2**32 - 1),
        "count-too-small": body(2, 1),
        "figures-cut": body(0)[:100],
        "wrong-checksum": body(1) + bytes(4),
    }
    return files


def peer_message(name, payload, magic=b"\xfa\xbf\xb5\xda", checksum=None, length=None):
    if checksum is None:
        checksum = hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    length = len(payload) if length is None else length
    return magic + name.encode().ljust(12, b"\0") + struct.pack("<I", length) + checksum + payload


VERSION = (
    struct.pack("<IQq", 70016, 0x409, 1_700_000_000)
    + bytes(52)
    + struct.pack("<Q", 7)
    + b"\x10/Satoshi:28.1.0/"
    + struct.pack("<i", 100)
    + b"\x01"
)


def peer_streams():
    """One byte for the size of the pieces, then what a peer sends."""
    ping = peer_message("ping", struct.pack("<Q", 9))
    files = {
        "handshake": peer_message("version", VERSION) + peer_message("verack", b"") + ping,
        "block": peer_message("block", small(CHAIN, 600, 1)[0]) + ping,
        "http": b"HTTP/1.1 400 Bad Request\r\n\r\n",
        "other-chain": peer_message("verack", b"", magic=bytes.fromhex("f9beb4d9")),
        "unknown-magic": peer_message("verack", b"", magic=b"\x01\x02\x03\x04"),
        "wrong-checksum": ping + peer_message("ping", bytes(8), checksum=b"\0\0\0\1") + ping,
        "too-long": peer_message("block", b"", length=4_000_001),
        "longest": peer_message("block", b"", length=4_000_000) + bytes(50),
        "name-not-printable": peer_message("pi\x07ng", b""),
        "name-behind-zero": peer_message("pi\x00ng", b""),
        "name-of-twelve": peer_message("sendaddrv2xx", b""),
        "cut": ping[:-1],
    }
    return {"empty": b""} | {name: b"\x06" + stream for name, stream in files.items()}


def peer_payloads():
    """One byte for the kind of message, then its payload."""
    head = CHAIN[0][:80]
    item = struct.pack("<I", 0x40000002) + bytes(range(32))
    files = {
        "version": (0, VERSION),
        "version-without-relay": (0, VERSION[:-1]),
        "version-long-name": (0, VERSION[:80] + b"\xfd\x01\x01" + bytes(257) + bytes(5)),
        "version-cut": (0, VERSION[:90]),
        "ping": (1, struct.pack("<Q", 77)),
        "ping-empty": (1, b""),
        "feefilter": (2, struct.pack("<q", 1000)),
        "sendcmpct": (3, b"\x01" + struct.pack("<Q", 2)),
        "sendcmpct-maybe": (3, b"\x02" + struct.pack("<Q", 2)),
        "getheaders": (4, struct.pack("<I", 70016) + b"\x02" + bytes(range(64)) + bytes(32)),
        "getheaders-too-many": (4, struct.pack("<I", 70016) + b"\x66" + bytes(32 * 103)),
        "headers": (5, b"\x02" + (head + b"\0") * 2),
        "headers-none": (5, b"\0"),
        "headers-claimed": (5, b"\xfd\xd0\x07" + head),
        "headers-too-many": (5, b"\xfd\xd1\x07" + head),
        "headers-cut": (5, b"\x02" + head + b"\0" + head[:40]),
        "inv": (6, b"\x02" + item * 2),
        "inv-claimed": (6, b"\xfd\x50\xc3" + item),
        "inv-too-many": (6, b"\xfd\x51\xc3" + item),
        "inv-not-canonical": (6, b"\xfd\x01\x00" + item),
        "inv-trailing": (6, b"\x01" + item + b"\0"),
    }
    return {"empty": b""} | {name: bytes([kind]) + payload for name, (kind, payload) in files.items()}


def compact_payloads():
    """One byte for the kind of message, then its payload."""
    header, (coinbase, payment) = split_block(BLOCK170)
    nonce = struct.pack("<Q", 5)
    ids = bytes(range(6))
    files = {
        "block": (0, header + nonce + b"\x01" + ids + b"\x01\x00" + coinbase),
        "block-all-whole": (0, header + nonce + b"\x00\x02\x00" + coinbase + b"\x00" + payment),
        "block-none-whole": (0, header + nonce + b"\x02" + ids * 2 + b"\x00"),
        "block-nothing": (0, header + nonce + b"\x00\x00"),
        "block-place-too-far": (0, header + nonce + b"\x01" + ids + b"\x01\x02" + coinbase),
        "block-place-overflow": (0, header + nonce + b"\x00\x01\xfe\x00\x00\x01\x00" + coinbase),
        "block-ids-claimed": (0, header + nonce + b"\xfe\x00\x00\x01\x00" + ids),
        "block-cut": (0, header + nonce + b"\x01" + ids + b"\x01\x00" + coinbase[:-1]),
        "request": (1, bytes(32) + b"\x03\x00\x00\xfd\xfd\x00"),
        "request-overflow": (1, bytes(32) + b"\x02\xfd\xff\xff\x00"),
        "request-claimed": (1, bytes(32) + b"\xfe\x00\x00\x00\x02\x00"),
        "transactions": (2, bytes(32) + b"\x02" + coinbase + payment),
        "transactions-none": (2, bytes(32) + b"\x00"),
        "transactions-claimed": (2, bytes(32) + b"\xfe\x01\x00\x01\x00" + coinbase),
        "transactions-trailing": (2, bytes(32) + b"\x01" + coinbase + payment),
    }
    return {"empty": b""} | {name: bytes([kind]) + payload for name, (kind, payload) in files.items()}


def http_replies():
    ok = "HTTP/1.1 200 OK\r\n"

    def sized(body):
        return f"{ok}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    texts = {
        "result": sized('{"result":{"a":[1.00000000,"\\u00e9}"]},"error":null,"id":"blockpub"}\n'),
        "error": sized('{"result":null,"error":{"code":-26,"message":"no"},"id":"blockpub"}\n'),
        "error-without-id": sized('{"error":{"code":-32700},"id":null}'),
        "error-odd": sized('{"error":{"code":1e3},"id":"blockpub"}'),
        "spaces": sized(' {\t"id" : "blockpub" , "result" : [ ] } '),
        "names-escaped": sized('{"r\\u0065sult":1,"\\u0065rror":{"code":1},"error":null,"id":"blockpub"}'),
        "names-twice": sized('{"result":1,"result":2,"id":"blockpub"}'),
        "another-id": sized('{"result":1,"id":"x"}'),
        "no-json": sized("<html>"),
        "list": sized("[]"),
        "unauthorized": "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
        "no-content": "HTTP/1.1 204 No Content\r\n\r\n",
        "interim": "HTTP/1.1 100 Continue\r\n\r\n" + sized('{"result":1,"id":"blockpub"}'),
        "interim-many": "HTTP/1.1 102 Processing\r\n\r\n" * 10,
        "chunks": ok + "Transfer-Encoding: chunked\r\n\r\n1c;x=y\r\n" + '{"result":1,"id":"blockpub"}' + "\r\n0\r\nA: b\r\n\r\n",
        "chunks-bad": ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "until-close": "HTTP/1.0 200 OK\n\n" + '{"result":1,"id":"blockpub"}',
        "length-short": ok + 'Content-Length: 3\r\n\r\n{"result":1,"id":"blockpub"}',
        "length-long": ok + 'Content-Length: 300\r\n\r\n{"result":1,"id":"blockpub"}',
        "length-huge": ok + "Content-Length: 18446744073709551615\r\n\r\n",
        "lengths-differ": ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        "both-lengths": ok + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "no-reason": "HTTP/1.1 200\r\n\r\n",
        "status-short": "HTTP/1.1 20\r\n\r\n",
        "another-protocol": "SSH-2.0-x\r\n\r\n",
        "head-cut": ok + "Content-Le",
        "empty": "",
    }
    return {name: text.encode() for name, text in texts.items()}


def ban_files():
    entry = '{"version": 1, "ban_created": 5, "banned_until": 7, "address": "%s"}'
    texts = {
        "empty": "",
        "none": '{"banned_nets": []}',
        "not-a-list": '{"banned_nets": {}}',
        "ipv4": '{"banned_nets": [%s]}' % (entry % "1.2.3.0/24"),
        "ipv6": '{"banned_nets": [%s, %s]}' % (entry % "2001:db8::/32", entry % "::1/128"),
        "netmask": '{"banned_nets": [%s]}' % (entry % "1.2.3.4/255.255.0.0"),
        "twice": '{"banned_nets": [%s, %s]}' % (entry % "1.2.3.4/32", entry % "1.2.3.4/32"),
        "other-network": '{"banned_nets": [%s]}' % (entry % "abc.onion"),
        "names": '{"banned_nets": [%s, %s]}' % (entry % ("pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd" ".onion"),
                                                entry % ("UKEU3K5oycgaauneqgtnvselmt4yemvoilkln7jpvamvfx7dnkdq" ".b32.I2P")),
        "cjdns": '{"banned_nets": [%s, %s]}' % (entry % "fc00:1:2::3", entry % "fc00:1:2::3/128"),
        "wide": '{"banned_nets": [{"version": 1, "ban_created": -9223372036854775808, "banned_until": 9223372036854775807, '
                '"address": "0.0.0.0/0"}]}',
        "other-version": '{"banned_nets": [{"version": 2}]}',
        "fraction": '{"banned_nets": [{"version": 1, "ban_created": 5.5, "banned_until": 7, "address": "::"}]}',
        "indented": '{\n    "_warning_": "words",\n    "banned_nets": [\n        ' + entry % "10.0.0.0/8" + '\n    ]\n}\n',
        "cut": '{"banned_nets": [{"version": 1, "ban_cre',
    }
    return {name: text.encode() for name, text in texts.items()}


def upstream_urls():
    texts = {
        "plain": "http://127.0.0.1:8332",
        "login": "http://user:password@node.example:18443/wallet/x",
        "escaped": "http://u%40:p%25%3a@localhost",
        "escape-cut": "http://u:p%4@localhost",
        "two-ats": "http://u:p@q@localhost",
        "ipv6": "http://[::1]:8332/",
        "ipv6-open": "http://[::1",
        "port-zero": "http://host:0",
        "port-large": "http://host:65536",
        "https": "https://host",
        "line-end": "http://host/\r\nX: y",
        "fragment": "http://host/#x",
        "nothing": "http://",
    }
    return {name: text.encode() for name, text in texts.items()}


if __name__ == "__main__":
    write("coin", coins())
    write("undo", undo())
    write("facts", facts())
    write("header", headers())
    write("transaction", transactions())
    write("mempool_file", mempool_files())
    write("standardness", transactions())
    write("block", blocks())
    write("block_file", block_files())
    write("compact_size", compact_sizes())
    write("address", addresses())
    write("descriptor", descriptors())
    write("p2p_framing", peer_streams())
    write("p2p_messages", peer_payloads())
    write("p2p_compact", compact_payloads())
    write("partial_merkle_tree", partial_merkle_trees())
    write("script_json", script_texts())
    write("hex", hexadecimal())
    write("compact_target", compact_targets())
    write("http_head", http_heads())
    write("http_reply", http_replies())
    write("ban_file", ban_files())
    write("upstream_url", upstream_urls())
    write("rest_target", rest_targets())
    write("json_rpc", json_calls())
