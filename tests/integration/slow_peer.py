# SPDX-License-Identifier: MIT
"""A subscriber in a process of its own that can be stopped, or that dawdles; says what it got on its output.

  slow_peer.py ENDPOINT TOPIC PAUSE RCVHWM

Prints `ready` once a message has come, then each further message's topic and counter (and the body's size), waiting
PAUSE seconds before each read."""
import struct
import sys
import time

import zmq


def main():
    endpoint, topic, pause, high_water_mark = sys.argv[1:]
    socket = zmq.Context().socket(zmq.SUB)
    socket.setsockopt(zmq.RCVHWM, int(high_water_mark))
    socket.setsockopt(zmq.RCVBUF, 65536)
    socket.setsockopt(zmq.SUBSCRIBE, topic.encode())
    socket.connect(endpoint)
    first = True
    while True:
        parts = socket.recv_multipart()
        if first:
            print('ready', flush=True)
            first = False
        print(parts[0].decode(), struct.unpack('<I', parts[2])[0], len(parts[1]), len(parts), flush=True)
        time.sleep(float(pause))


main()
