# SPDX-License-Identifier: MIT
"""Starts the real daemon on temporary directories and free ports, and talks to it byte by byte.

Environment:
  BLOCKPUBD              the daemon to test (default: build/blockpubd beside this checkout)
  BLOCKPUB_DAEMON_ARGS   further arguments for every daemon (a smaller map under sanitizers, say)
  BLOCKPUB_TIME_FACTOR   multiplies every limit on waiting; sanitizer runs give 5 or 10
  BLOCKPUB_ROUNDS        divides the rounds of the long loops by this number (at least one remains)
  BLOCKPUB_BLOCKS        blocks of the long following of a node (default: 500); 10000 take some minutes
  BLOCKPUB_SEED          the seed of the random tests; each prints the one it used
"""
import base64
import hashlib
import json
import os
import random
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import zmq
from zmq.utils.monitor import recv_monitor_message

import regtest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
VECTORS = os.path.join(ROOT, 'tests', 'vectors')
TOPICS = ('hashblock', 'rawblock', 'hashtx', 'rawtx', 'sequence')
# The clock of the tests' own chains; their blocks are a few hours older, so never too old and never too new.
MOCKTIME = 1_700_000_000
CHAIN_START = MOCKTIME - 40_000


def blockpubd():
    return os.environ.get('BLOCKPUBD', os.path.join(ROOT, 'build', 'blockpubd'))


def build_dir():
    return os.path.dirname(os.path.abspath(blockpubd()))


def seconds(base):
    """A limit on waiting, stretched for slow builds."""
    return base * float(os.environ.get('BLOCKPUB_TIME_FACTOR', '1'))


def memory(mebibytes):
    """A bound on a daemon's memory in bytes; sanitizers take some times as much, for themselves."""
    return (mebibytes << 20) * seconds(1)


def rounds(base):
    return max(1, base // int(os.environ.get('BLOCKPUB_ROUNDS', '1')))


def seeded_random():
    seed = int(os.environ.get('BLOCKPUB_SEED', '0')) or int.from_bytes(os.urandom(4), 'little')
    print(f'seed {seed}', file=sys.stderr)
    return random.Random(seed)


def wait_until(condition, limit=20, what='the condition'):
    """Polls for a state that nothing announces (a process, a file, a counter of the kernel)."""
    end = time.monotonic() + seconds(limit)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f'{what}: not within {seconds(limit):.0f} s')
        time.sleep(0.01)


_ports_given = set()


def free_port():
    """A port that nobody listens on, below those that the system gives to outgoing connections."""
    while True:
        port = random.SystemRandom().randrange(15_000, 32_000)
        if port in _ports_given:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(('127.0.0.1', port))
            except OSError:
                continue
        _ports_given.add(port)
        return port


def vector_rows(name):
    with open(os.path.join(VECTORS, name), encoding='utf-8') as rows:
        return [json.loads(row) for row in rows]


def vector_manifest():
    with open(os.path.join(VECTORS, 'manifest.json'), encoding='utf-8') as file:
        return json.load(file)


class RpcError(Exception):
    """An error answer of JSON-RPC."""

    def __init__(self, method, error):
        super().__init__(f'{method}: {error}')
        self.code, self.message = error['code'], error['message']


class Reply:
    """An HTTP reply as it came: status line, headers in order and spelling, body."""

    def __init__(self, status_line, headers, body):
        self.status_line, self.headers, self.body = status_line, headers, body
        self.status = int(status_line.split(' ')[1])

    def header(self, name):
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        return found[0] if found else None


class HttpConnection:
    """One TCP connection to the RPC port, for requests written by hand."""

    def __init__(self, port, limit=60):
        self.sock = socket.create_connection(('127.0.0.1', port), timeout=seconds(limit))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b''

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.sock.sendall(data)

    def _more(self):
        got = self.sock.recv(1 << 16)
        if not got:
            raise ConnectionError(f'closed after {self.buffer[:200]!r}')
        self.buffer += got

    def read_reply(self):
        while b'\r\n\r\n' not in self.buffer:
            self._more()
        head, self.buffer = self.buffer.split(b'\r\n\r\n', 1)
        status_line, *lines = head.decode('latin1').split('\r\n')
        headers = [tuple(line.split(': ', 1)) for line in lines]
        reply = Reply(status_line, headers, b'')
        if reply.status in (100, 204):
            return reply
        length = reply.header('Content-Length')
        if length is None:
            raise AssertionError(f'a reply without Content-Length: {head!r}')
        while len(self.buffer) < int(length):
            self._more()
        reply.body, self.buffer = self.buffer[:int(length)], self.buffer[int(length):]
        return reply

    def at_end(self):
        """Whether the other side closed without sending anything more."""
        return not self.buffer and not self.sock.recv(1)


def rpc_request(cookie, method, params, request_id=1, version='1.0', extra_headers=''):
    body = json.dumps({'jsonrpc': version, 'id': request_id, 'method': method, 'params': params}).encode()
    return post_request(cookie, body, extra_headers)


def post_request(cookie, body, extra_headers='', path='/'):
    auth = base64.b64encode(cookie.encode()).decode()
    return (f'POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic {auth}\r\n'
            f'Content-Type: application/json\r\nContent-Length: {len(body)}\r\n{extra_headers}\r\n').encode() + body


def resident_bytes(pid):
    """Anonymous memory of a process: the pages of mapped files are the page cache's."""
    with open(f'/proc/{pid}/status', encoding='ascii') as file:
        for line in file:
            if line.startswith('RssAnon:'):
                return int(line.split()[1]) * 1024
    raise AssertionError('no RssAnon')


class Daemon:
    """A blockpubd on its own directory and ports. Survives stop and start again, with the same ones."""

    def __init__(self, *args, datadir=None, topics=TOPICS, hwm=0, mocktime=MOCKTIME, binary=None, source='-connect=0',
                 wrapper=()):
        self.own_dir = datadir is None
        self.datadir = datadir or tempfile.mkdtemp(prefix='blockpub-test-')
        self.rpc_port = free_port()
        self.binary, self.wrapper = binary or blockpubd(), list(wrapper)
        self.args = ['-regtest', f'-datadir={self.datadir}', f'-rpcport={self.rpc_port}', '-printtoconsole=1']
        if source:
            self.args.append(source)
        if mocktime:
            self.args.append(f'-mocktime={mocktime}')
        self.endpoint = None
        if topics:
            self.endpoint = f'tcp://127.0.0.1:{free_port()}'
            for topic in topics:
                self.args += [f'-zmqpub{topic}={self.endpoint}', f'-zmqpub{topic}hwm={hwm}']
        self.args += shlex.split(os.environ.get('BLOCKPUB_DAEMON_ARGS', ''))
        self.args += args
        self.process, self.cookie, self.connection = None, None, None
        self.console_path = os.path.join(self.datadir, 'console.log')

    # Life.

    def spawn(self, *extra):
        """Starts the process and returns at once."""
        self.connection = None
        with open(self.console_path, 'ab') as console:
            self.console_start = console.tell()
            self.process = subprocess.Popen(self.wrapper + [self.binary] + self.args + list(extra), stdout=console,
                                            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        return self

    def start(self, *extra, limit=30):
        """Starts the process and waits until it answers queries, and has said so."""
        self.spawn(*extra)
        self.wait_ready(limit)
        if '-printtoconsole=0' not in [*self.args, *extra]:
            wait_until(lambda: b'Ready: chain ' in self.console_bytes()[self.console_start:], limit, 'the word that it is ready')
        return self

    def wait_ready(self, limit=30):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f'the daemon left with {self.process.returncode}:\n{self.console()[-4000:]}')
            try:
                with open(self.cookie_path, encoding='ascii') as file:
                    self.cookie = file.read()
                self.rpc('getblockcount')
                return True
            except (OSError, ConnectionError):
                return False
            except RpcError as error:
                if error.code != -28:
                    raise
                return False
        wait_until(ready, limit, 'the daemon ready')

    def wait_exit(self, limit=10):
        try:
            return self.process.wait(seconds(limit))
        except subprocess.TimeoutExpired:
            raise AssertionError(f'the daemon still runs after {seconds(limit):.0f} s:\n{self.console()[-4000:]}') from None

    def terminate(self, limit=10):
        """SIGTERM; the exit status."""
        self.close_connection()
        self.process.send_signal(signal.SIGTERM)
        return self.wait_exit(limit)

    def stop(self, limit=15):
        """Ends it in good order and insists on exit status 0 (a sanitizer's report makes it another)."""
        if self.process is None:
            return
        status = self.process.returncode if self.process.poll() is not None else self.terminate(limit)
        self.process = None
        if status != 0:
            raise AssertionError(f'exit status {status}:\n{self.console()[-6000:]}')

    def kill9(self):
        self.close_connection()
        self.process.kill()
        self.process.wait()
        self.process = None

    def destroy(self):
        """Whatever state it is in: no process and no files remain."""
        self.close_connection()
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        self.process = None
        if self.own_dir:
            shutil.rmtree(self.datadir, ignore_errors=True)

    @property
    def pid(self):
        return self.process.pid

    # Files.

    @property
    def chain_dir(self):
        return os.path.join(self.datadir, 'regtest')

    @property
    def cookie_path(self):
        return os.path.join(self.chain_dir, '.cookie')

    def console_bytes(self):
        try:
            with open(self.console_path, 'rb') as file:
                return file.read()
        except OSError:
            return b''

    def console(self):
        return self.console_bytes().decode('utf-8', 'replace')

    def debug_log(self):
        with open(os.path.join(self.chain_dir, 'debug.log'), encoding='utf-8', errors='replace') as file:
            return file.read()

    # Queries.

    def close_connection(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def raw_rpc(self, method, *params, request_id=1):
        """The reply to one call, as it came."""
        for fresh in (False, True):
            if fresh or self.connection is None:
                self.close_connection()
                fresh = True
                self.connection = HttpConnection(self.rpc_port)
            try:
                self.connection.send(rpc_request(self.cookie, method, list(params), request_id))
                reply = self.connection.read_reply()
                if (reply.header('Connection') or '').lower() == 'close':
                    self.close_connection()
                return reply
            except (ConnectionError, OSError):
                self.close_connection()
                if fresh:
                    raise
        raise AssertionError('unreachable')

    def rpc(self, method, *params):
        """The result of one call; RpcError when it is an error."""
        reply = self.raw_rpc(method, *params)
        if reply.status == 401:
            raise ConnectionError('unauthorized')
        answer = json.loads(reply.body)
        if answer['error'] is not None:
            raise RpcError(method, answer['error'])
        return answer['result']

    def submit(self, block, expect=None):
        """submitblock; insists on its result."""
        got = self.rpc('submitblock', block.hex)
        if got != expect:
            raise AssertionError(f'submitblock of height {block.height}: {got!r}, expected {expect!r}')

    # What the kernel says.

    def open_files(self):
        return len(os.listdir(f'/proc/{self.pid}/fd'))

    def resident_bytes(self):
        return resident_bytes(self.pid)


class Frame(tuple):
    """One message: (topic, body, counter)."""

    def __repr__(self):
        topic, body, counter = self
        text = body.hex() if len(body) <= 41 else f'{len(body)} bytes, sha256 {hashlib.sha256(body).hexdigest()[:16]}'
        return f'{topic.decode()} #{counter} {text}'


class Subscriber:
    """A SUB socket whose messages are kept in the order of arrival."""

    def __init__(self, endpoint, topics=(b'',), receive_hwm=0, limit=20):
        self.frames, self.malformed, self.topics = [], [], topics
        self.changed, self.running = threading.Condition(), True
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.SUB)
        self.socket.setsockopt(zmq.RCVHWM, receive_hwm)
        self.socket.setsockopt(zmq.LINGER, 0)
        for topic in topics:
            self.socket.setsockopt(zmq.SUBSCRIBE, topic)
        monitor = self.socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        self.socket.connect(endpoint)
        if not monitor.poll(int(seconds(limit) * 1000)):
            raise AssertionError(f'no publisher answers at {endpoint}')
        recv_monitor_message(monitor)
        self.socket.disable_monitor()
        monitor.close()
        self.thread = threading.Thread(target=self._receive, daemon=True)
        self.thread.start()

    def _receive(self):
        poller = zmq.Poller()
        poller.register(self.socket, zmq.POLLIN)
        while self.running:
            if not poller.poll(50):
                continue
            parts = self.socket.recv_multipart()
            with self.changed:
                if len(parts) != 3 or len(parts[2]) != 4:
                    self.malformed.append(parts)
                else:
                    self.frames.append(Frame((parts[0], parts[1], struct.unpack('<I', parts[2])[0])))
                self.changed.notify_all()

    def wait_for(self, condition, limit=20, what='frames'):
        """Waits until `condition(frames)` is true; a copy of the frames."""
        end = time.monotonic() + seconds(limit)
        with self.changed:
            while not condition(self.frames):
                left = end - time.monotonic()
                if left <= 0:
                    tail = '\n  '.join(repr(f) for f in self.frames[-6:])
                    raise AssertionError(f'{what}: not within {seconds(limit):.0f} s; {len(self.frames)} frames, the last:\n  {tail}')
                self.changed.wait(left)
            return list(self.frames)

    def wait_count(self, count, limit=20):
        return self.wait_for(lambda frames: len(frames) >= count, limit, f'{count} frames')

    def wait_body(self, topic, body, limit=20):
        """Waits for one message; what came before it and itself."""
        def seen(frames):
            return any(f[0] == topic and f[1] == body for f in reversed(frames))
        return self.wait_for(seen, limit, f'{topic.decode()} {body[:32].hex()}')

    def take(self):
        """What has arrived, and forgets it."""
        with self.changed:
            out, self.frames = self.frames, []
            return out

    def synchronize(self, daemon, chain):
        """As synchronize_by, with blocks that are mined on `chain` and submitted."""
        def mine():
            block = chain.mine()
            daemon.submit(block)
            return block
        return self.synchronize_by(mine)

    def synchronize_by(self, mine):
        """The barrier before a test: calls `mine` for new tips until the messages of one arrive, then forgets them.

        A subscription is in force when something comes through it; nothing else says so.
        Returns the counters that come next, by topic."""
        end = time.monotonic() + seconds(30)
        while True:
            block = mine()
            last = [frame for frame in regtest.connect_frames(block) + regtest.tip_frames(block)
                    if frame[0].startswith(tuple(self.topics))][-1]
            try:
                self.wait_for(lambda frames: last in without_counters(frames), 0.5)
                break
            except AssertionError:
                if time.monotonic() > end:
                    raise
        counters = {}
        for topic, _, counter in self.take():
            counters[topic] = (counter + 1) & 0xffffffff
        return counters

    def close(self):
        self.running = False
        self.thread.join()
        self.context.destroy(linger=0)


def ends_block(frames, block):
    """Whether all messages of a block that became the tip are there: rawblock is the last of them."""
    return any(f[0] == b'rawblock' and f[1] == block.raw for f in frames[-3:])


def without_counters(frames):
    return [(topic, body) for topic, body, _ in frames]


def describe_difference(got, want):
    at = next((i for i, (g, w) in enumerate(zip(got, want)) if g != w), min(len(got), len(want)))
    def show(frames):
        rows = []
        for frame in frames[max(0, at - 2):at + 4]:
            body = frame[1]
            rows.append(f'    {frame[0]!r} {body.hex() if isinstance(body, bytes) and len(body) <= 41 else len(body) if isinstance(body, bytes) else body}')
        return '\n'.join(rows)
    return f'{len(got)} frames, {len(want)} expected; first difference at {at}\n  got\n{show(got)}\n  expected\n{show(want)}'


class IntegrationTest(unittest.TestCase):
    """Ends what it started, shows the daemons' output when a test fails."""

    def setUp(self):
        self.daemons = []

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        super().run(result)
        failed = len(result.failures) + len(result.errors) > before
        for daemon in getattr(self, 'daemons', []):
            if failed:
                print(f'--- {self.id()}: output of {" ".join(daemon.args)}\n{daemon.console()[-5000:]}', file=sys.stderr)
            daemon.destroy()

    def daemon(self, *args, start=True, **kwargs):
        """A daemon that is stopped at the end of the test, which fails unless that exits with 0."""
        daemon = Daemon(*args, **kwargs)
        self.daemons.append(daemon)
        self.addCleanup(lambda: daemon.stop())
        return daemon.start() if start else daemon

    def subscriber(self, endpoint, **kwargs):
        subscriber = Subscriber(endpoint, **kwargs)
        self.addCleanup(subscriber.close)
        return subscriber

    def temporary_directory(self):
        directory = tempfile.mkdtemp(prefix='blockpub-test-')
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        return directory

    def chain(self, *args):
        return regtest.Chain(CHAIN_START, *args)

    def assert_frames(self, got, want):
        """Compares (topic, body) lists with a message that shows the place, not megabytes of bodies."""
        got, want = without_counters(got), [tuple(frame[:2]) for frame in want]
        if got != want:
            self.fail(describe_difference(got, want))

    def assert_counters(self, frames, first=None):
        """Each topic's counter rises by one; `first` says where it began (default: its first frame)."""
        following = dict(first or {})
        for topic, _, counter in frames:
            expected = following.get(topic, counter if first is None else 0)
            if counter != expected:
                self.fail(f'{topic.decode()}: counter {counter}, expected {expected}')
            following[topic] = (counter + 1) & 0xffffffff
        return following

    def assert_refused(self, *args, contains=(), limit=15, status_not=0, **kwargs):
        """A start that must fail: exit status not 0, and the console has one line with every text of `contains`."""
        daemon = Daemon(*args, **kwargs)
        self.daemons.append(daemon)
        daemon.spawn()
        status = daemon.wait_exit(limit)
        self.assertNotEqual(status, status_not, daemon.console())
        self.assertGreater(status, 0, f'ended by a signal:\n{daemon.console()}')
        lines = [line for line in daemon.console().splitlines() if all(text in line for text in contains)]
        self.assertTrue(lines, f'no line with all of {contains} in:\n{daemon.console()}')
        return daemon


def main():
    """Runs the module's tests; an argument names the daemon, further ones select tests."""
    argv = list(sys.argv)
    if len(argv) > 1 and os.path.exists(argv[1]):
        os.environ['BLOCKPUBD'] = os.path.abspath(argv.pop(1))
    if not os.path.exists(blockpubd()):
        print(f'no daemon at {blockpubd()}: build it, or set BLOCKPUBD', file=sys.stderr)
        sys.exit(1)
    unittest.main(module='__main__', argv=argv, verbosity=2)
