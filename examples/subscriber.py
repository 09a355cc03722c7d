#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Prints every notification of one endpoint, one line each, and what was missed.

  subscriber.py tcp://127.0.0.1:28332 [--count N] [--until HASH] [--timeout SECONDS] [--quiet]

--count N   ends after N messages; --until HASH after the hashblock of that hash (status 0, both);
--timeout S ends when none came for S seconds (status 1); --quiet leaves all but the last line away.
Needs pyzmq (Debian: python3-zmq).
"""
import argparse
import hashlib
import struct
import sys

import zmq


def readable(topic, body):
    """A message's body in one line. Hash bodies are in display order, the one of RPC: never turn them round."""
    if topic == 'sequence':
        kind = {'C': 'block connected', 'D': 'block disconnected', 'A': 'transaction added',
                'R': 'transaction removed'}[chr(body[32])]
        number = f' mempool sequence {struct.unpack("<Q", body[33:])[0]}' if len(body) == 41 else ''
        return f'{body[:32].hex()} {kind}{number}'
    if topic.startswith('hash'):
        return body.hex()
    if topic == 'rawblock':  # its hash is that of the first 80 bytes, the header
        digest = hashlib.sha256(hashlib.sha256(body[:80]).digest()).digest()
        return f'{digest[::-1].hex()} {len(body)} bytes'
    return f'{len(body)} bytes, begins {body[:8].hex()}'


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('endpoint')
    options.add_argument('--count', type=int)
    options.add_argument('--until', metavar='HASH')
    options.add_argument('--timeout', type=float)
    options.add_argument('--quiet', action='store_true')
    options = options.parse_args()

    socket = zmq.Context.instance().socket(zmq.SUB)
    socket.setsockopt(zmq.RCVHWM, 0)  # a queue that is full would drop messages on our side
    socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
    socket.setsockopt(zmq.SUBSCRIBE, b'')
    # The handshake's end is the earliest sign that the publisher is there; the subscription travels right behind it.
    monitor = socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
    socket.connect(options.endpoint)
    timeout = None if options.timeout is None else options.timeout * 1000
    if not monitor.poll(timeout):
        sys.exit(f'nobody publishes at {options.endpoint}')
    print('READY', flush=True)

    received = missed = 0
    expected = {}  # topic -> the counter that its next message must have
    while options.count is None or received < options.count:
        if not socket.poll(timeout):
            sys.exit(f'no message for {options.timeout} s: {received} received, {missed} missed')
        topic, body, counter = socket.recv_multipart()
        topic, counter = topic.decode(), struct.unpack('<I', counter)[0]
        gap = (counter - expected.get(topic, counter)) % 2**32
        expected[topic] = counter + 1
        received += 1
        missed += gap
        if gap:
            print(f'{topic}: missed {gap} before {counter}', flush=True)
        if not options.quiet:
            print(f'{topic:<9} {counter:>6} {readable(topic, body)}', flush=True)
        if topic == 'hashblock' and body.hex() == options.until:
            break
    print(f'{received} received, {missed} missed', flush=True)


if __name__ == '__main__':
    try:
        main()
    except KeyboardInterrupt:
        pass
