# SPDX-License-Identifier: MIT
"""The recorded frames, and how a stream of ours is held against them."""
import hashlib

import harness
import regtest


def digest_of(body):
    """A long body as the recordings keep it."""
    return (len(body), hashlib.sha256(body).hexdigest())


def recorded(name):
    """The rows of a recording as (topic, body or (size, sha256), counter)."""
    out = []
    for topic, counter, *body in harness.vector_rows(name):
        out.append((topic.encode(), bytes.fromhex(body[0]) if len(body) == 1 else tuple(body), counter))
    return out


def condensed(frames):
    """Frames of ours in the form of the recordings."""
    return [(topic, body if len(body) <= 41 else digest_of(body), counter) for topic, body, counter in frames]


class Follower:
    """What a node's endpoint owes, from the changes alone: a second opinion beside the recordings.

    Keeps the active chain; `switch` moves it to a branch in Core's steps: down to the fork, up until there is more
    work than before, one tip update; then a step for each further block. (Regtest: work is height.)"""

    def __init__(self, tip=regtest.GENESIS):
        self.active, self.frames = [tip], []

    @property
    def tip(self):
        return self.active[-1]

    def connect(self, *blocks):
        for block in blocks:
            assert block.previous == self.tip.hash
            self.active.append(block)
            self.frames += regtest.connect_frames(block) + regtest.tip_frames(block)

    def disconnect(self, count=1):
        for _ in range(count):
            self.frames += regtest.disconnect_frames(self.active.pop())

    def switch(self, branch):
        old_height = self.tip.height
        while self.tip.hash != branch[0].previous:
            self.disconnect()
        for block in branch:
            self.active.append(block)
            self.frames += regtest.connect_frames(block)
            if block.height > old_height:
                self.frames += regtest.tip_frames(block)
        return self

    def take(self):
        out, self.frames = self.frames, []
        return out
