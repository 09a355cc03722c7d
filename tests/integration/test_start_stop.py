# SPDX-License-Identifier: MIT
"""Starts that must fail do so with one clear line; an end comes within seconds whatever clients do."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import harness
import regtest
from harness import HttpConnection, IntegrationTest, main, rounds, rpc_request, seconds, wait_until


class RefusedStarts(IntegrationTest):
    def test_malformed_endpoints(self):
        """Scenario 19 and 17: each start ends with one line that names option and address."""
        for address in ('tcp://127.0.0.1::28332', '127.0.0.1', 'tcp:127.0.0.1:28332', 'tcp://127.0.0.1', 'tcp://',
                        'tcp://127.0.0.1:99999', 'tcp://127.0.0.1:0x50', 'foo:///path', 'ipc://', 'unix:', '',
                        'udp://127.0.0.1:28332', 'tcp://no.such.host.invalid:28332'):
            with self.subTest(address=address):
                self.assert_refused(f'-zmqpubhashblock={address}', topics=(), contains=['zmqpubhashblock', address])

    def test_one_good_and_one_bad_endpoint_is_no_half_start(self):
        good = f'tcp://127.0.0.1:{harness.free_port()}'
        self.assert_refused('-zmqpubhashblock=tcp://127.0.0.1::1', f'-zmqpubrawtx={good}', topics=(),
                            contains=['zmqpubhashblock'])
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', int(good.rsplit(':', 1)[1])))

    def test_busy_zmq_port(self):
        with socket.socket() as holder:
            holder.bind(('127.0.0.1', 0))
            holder.listen()
            address = f'tcp://127.0.0.1:{holder.getsockname()[1]}'
            self.assert_refused(f'-zmqpubrawblock={address}', topics=(), contains=['zmqpubrawblock', address, 'in use'])

    def test_busy_rpc_port(self):
        with socket.socket() as holder:
            holder.bind(('127.0.0.1', 0))
            holder.listen()
            port = holder.getsockname()[1]
            self.assert_refused(f'-rpcport={port}', contains=[str(port), 'bitcoind', 'rpcport'])

    def test_misspelt_zmq_options(self):
        """Scenario 20: on the command line and in the configuration file."""
        endpoint = f'tcp://127.0.0.1:{harness.free_port()}'
        for option in (f'-zmqpuawtx={endpoint}', f'-zmqpubhashblok={endpoint}', '-zmqpubrawtxhmw=5'):
            name = option[1:].split('=')[0]
            with self.subTest(option=option):
                self.assert_refused(option, contains=[name])
                directory = self.temporary_directory()
                with open(os.path.join(directory, 'blockpub.conf'), 'w', encoding='ascii') as file:
                    file.write(f'[regtest]\n{option[1:]}\n')
                self.assert_refused(datadir=directory, contains=[name])

    def test_unknown_option(self):
        self.assert_refused('-nosuchoption=1', contains=['nosuchoption'])

    def test_overlong_ipc_path(self):
        """P13."""
        path = '/tmp/' + 'x' * 115
        self.assert_refused(f'-zmqpubhashblock=ipc://{path}', topics=(), contains=['zmqpubhashblock', path])

    def test_ipc_path_of_a_living_daemon_and_of_a_dead_one(self):
        """P13: the second refuses; after kill -9 the path is taken over; a foreign file is not removed."""
        directory = self.temporary_directory()
        path = os.path.join(directory, 'socket')
        option = f'-zmqpubhashblock=ipc://{path}'
        first = self.daemon(option, topics=())
        self.assert_refused(option, topics=(), contains=['zmqpubhashblock', path])
        self.assertEqual(self.hears(first, path), True)
        first.kill9()
        self.assertTrue(os.path.exists(path))
        second = self.daemon(option, topics=())
        self.assertEqual(self.hears(second, path), True)
        second.stop()
        self.assertFalse(os.path.exists(path), 'the path stays after a clean exit')
        with open(path, 'w', encoding='ascii') as file:
            file.write('not a socket')
        self.assert_refused(option, topics=(), contains=['zmqpubhashblock', path])
        with open(path, encoding='ascii') as file:
            self.assertEqual(file.read(), 'not a socket')

    def hears(self, daemon, path):
        stream = harness.Subscriber(f'ipc://{path}')
        try:
            chain = self.chain()
            for _ in range(200):
                daemon.submit(chain.mine())
                try:
                    return bool(stream.wait_count(1, 0.2))
                except AssertionError:
                    pass
            return False
        finally:
            stream.close()

    def test_every_spelling_of_a_local_path(self):
        """Scenario 17: one canonical report."""
        directory = self.temporary_directory()
        for number, prefix in enumerate(('ipc://', 'unix:', 'unix://')):
            path = os.path.join(directory, f's{number}')
            with self.subTest(prefix=prefix):
                daemon = self.daemon(f'-zmqpubhashblock={prefix}{path}', topics=())
                if prefix == 'unix://':
                    # Core rewrites the leading `unix:` alone.
                    self.assertIn(daemon.rpc('getzmqnotifications')[0]['address'], (f'ipc://{path}', f'ipc:////{path}'))
                else:
                    self.assertEqual(daemon.rpc('getzmqnotifications')[0]['address'], f'ipc://{path}')
                self.assertTrue(self.hears(daemon, path))
                daemon.stop()

    def test_second_daemon_on_one_directory(self):
        """P19: also by another name of it."""
        daemon = self.daemon()
        self.assert_refused(datadir=daemon.datadir, contains=[daemon.datadir])
        alias = os.path.join(self.temporary_directory(), 'alias')
        os.symlink(daemon.datadir, alias)
        self.assert_refused(datadir=alias, contains=['alias'])
        self.assertEqual(daemon.rpc('getblockcount'), 0)
        # The cookie is the first one's still.
        with open(daemon.cookie_path, encoding='ascii') as file:
            self.assertEqual(file.read(), daemon.cookie)

    def test_a_bitcoind_directory_is_refused(self):
        directory = self.temporary_directory()
        os.makedirs(os.path.join(directory, 'regtest', 'blocks'))
        os.makedirs(os.path.join(directory, 'regtest', 'chainstate'))
        shutil.copyfile(os.path.join(harness.VECTORS, 'blk00000.dat'), os.path.join(directory, 'regtest', 'blocks', 'blk00000.dat'))
        before = sorted(os.walk(directory))
        self.assert_refused(datadir=directory, contains=[directory, 'importblocks'])
        after = [(p, d, [f for f in files if f != 'console.log']) for p, d, files in sorted(os.walk(directory))]
        self.assertEqual(after, before)

    def test_a_node_at_an_impossible_port(self):
        self.assert_refused('-connect=127.0.0.1:99999', source=None, contains=['connect', '127.0.0.1:99999'])

    def test_no_source_is_a_warning_with_the_ways(self):
        daemon = self.daemon(source=None)
        self.assertEqual(daemon.rpc('getblockcount'), 0)
        text = daemon.console()
        for way in ('connect', 'submitblock', 'loadblock', 'importblocks'):
            self.assertIn(way, text)

    def test_a_bind_beyond_loopback_warns(self):
        daemon = self.daemon(f'-zmqpubhashblock=tcp://0.0.0.0:{harness.free_port()}', topics=())
        lines = [line for line in daemon.console().splitlines() if 'arn' in line and '0.0.0.0' in line]
        self.assertTrue(lines, daemon.console())

    def test_store_of_another_chain(self):
        daemon = self.daemon()
        daemon.stop()
        other = os.path.join(daemon.datadir, 'testnet4')
        os.rename(daemon.chain_dir, other)
        refused = harness.Daemon(datadir=daemon.datadir, topics=())
        refused.args[0] = '-testnet4'
        self.daemons.append(refused)
        refused.spawn()
        self.assertGreater(refused.wait_exit(), 0)
        self.assertIn(other, refused.console())
        os.rename(other, daemon.chain_dir)

    def test_a_block_file_cut_short(self):
        """Under the daemon it may end it by SIGBUS; the next start names the file and the remedy."""
        daemon, chain = self.daemon(), self.chain()
        for _ in range(3):
            daemon.submit(chain.mine_bytes(500_000))
        daemon.stop()
        path = os.path.join(daemon.chain_dir, 'blocks', '00000.mdb')
        os.truncate(path, os.path.getsize(path) // 2)
        daemon.spawn()
        self.assertEqual(daemon.wait_exit(), 1)
        daemon.process = None
        error = next(line for line in daemon.console().splitlines() if line.startswith('Error: '))
        for text in (path, 'is cut short', f'The store in {daemon.chain_dir} is damaged: move it away', '-importblocks='):
            self.assertIn(text, error)

    def test_unreadable_cookie_place(self):
        directory = self.temporary_directory()
        path = os.path.join(directory, 'missing', 'cookie')
        self.assert_refused(f'-rpccookiefile={path}', contains=[path])


class Starts(IntegrationTest):
    def test_console_says_where_everything_is(self):
        daemon = self.daemon()
        # The sockets answer before the line of the cookie is written.
        for fact in (daemon.endpoint, str(daemon.rpc_port), daemon.cookie_path):
            harness.wait_until(lambda fact=fact: fact in daemon.console(), what=f'{fact} on the console')

    def test_cookie_is_new_at_each_start_and_gone_afterwards(self):
        daemon = self.daemon()
        first = daemon.cookie
        self.assertRegex(first, r'\A__cookie__:[0-9a-f]{64}\Z')
        self.assertEqual(os.stat(daemon.cookie_path).st_mode & 0o777, 0o600)
        daemon.stop()
        self.assertFalse(os.path.exists(daemon.cookie_path))
        daemon.start()
        self.assertNotEqual(daemon.cookie, first)
        self.assertNotIn(daemon.cookie.split(':')[1], daemon.debug_log() + daemon.console())

    def test_rpc_answers_warmup_or_truth_from_the_first_connection(self):
        """A call that is answered at all while the daemon starts has Core's error -28 or the result."""
        daemon, chain = self.daemon(), self.chain()
        for _ in range(50):
            daemon.submit(chain.mine())
        daemon.stop()
        daemon.spawn()
        codes = set()
        while True:
            try:
                with open(daemon.cookie_path, encoding='ascii') as file:
                    daemon.cookie = file.read()
                self.assertEqual(daemon.rpc('getblockcount'), 50)
                break
            except harness.RpcError as error:
                codes.add(error.code)
            except (OSError, ConnectionError):
                pass
        self.assertLessEqual(codes, {-28})

    def test_sighup_reopens_the_log(self):
        daemon = self.daemon()
        log = os.path.join(daemon.chain_dir, 'debug.log')
        os.rename(log, log + '.1')
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: os.path.exists(log), 10, 'the new log')
        self.assertEqual(daemon.rpc('getblockcount'), 0)

    def test_notify_commands(self):
        directory = self.temporary_directory()
        out = os.path.join(directory, 'out')
        daemon = self.daemon(f'-startupnotify=echo started >> {out}', f'-blocknotify=echo %s >> {out}',
                             f'-shutdownnotify=echo ended >> {out}')
        chain = self.chain()
        def lines():
            try:
                with open(out, encoding='ascii') as file:
                    return file.read().split()
            except OSError:
                return []
        wait_until(lambda: lines() == ['started'], 10, 'startupnotify')
        block = chain.mine()
        daemon.submit(block)
        told = ['started', block.hash]
        wait_until(lambda: lines() == told, 10, 'blocknotify')
        # Several blocks taken back at once are one new tip: the parent of the lowest.
        above = [chain.mine() for _ in range(3)]
        for number, higher in enumerate(above):
            daemon.submit(higher)
            wait_until(lambda: len(lines()) == 3 + number, 10, 'blocknotify of each block')
        told += [higher.hash for higher in above]
        daemon.rpc('invalidateblock', above[0].hash)
        told.append(block.hash)
        wait_until(lambda: lines() == told, 10, 'blocknotify of the invalidation')
        daemon.stop()
        self.assertEqual(lines(), told + ['ended'])

    def test_a_blocknotify_command_that_hangs_holds_up_nobody(self):
        pids = os.path.join(self.temporary_directory(), 'pids')
        daemon = self.daemon(f'-blocknotify=echo $$ >> {pids}; exec sleep 1000 # %s')
        chain = self.chain()
        began = time.monotonic()
        for _ in range(30):
            daemon.submit(chain.mine())
        self.assertLess(time.monotonic() - began, seconds(20))
        started = wait_until(lambda: started_commands(pids), 10, 'the first command')
        self.assertLess(len(started), 30, 'the commands are not bounded')
        self.addCleanup(end_commands, pids)
        began = time.monotonic()
        daemon.stop()
        self.assertLess(time.monotonic() - began, seconds(5))


def started_commands(path):
    try:
        with open(path, encoding='ascii') as file:
            return [int(line) for line in file]
    except OSError:
        return []


def end_commands(path):
    for pid in started_commands(path):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                if file.read().startswith(b'sleep\x001000'):
                    os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


class Ends(IntegrationTest):
    def test_sigterm_beside_hanging_clients_and_stopped_subscribers(self):
        """Issue text: sockets and clients end within 5 s whatever they do; exit status 0."""
        daemon, chain = self.daemon(hwm=0), self.chain()
        peer = subprocess.Popen([sys.executable, os.path.join(harness.HERE, 'slow_peer.py'), daemon.endpoint, '', '0', '1'],
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(peer.stdout.close)
        self.addCleanup(peer.wait)
        self.addCleanup(peer.kill)
        ready = threading.Thread(target=peer.stdout.readline)
        ready.start()
        while ready.is_alive():
            daemon.submit(chain.mine())
            ready.join(0.2)
        peer.send_signal(signal.SIGSTOP)
        big = chain.mine_bytes(900_000)
        daemon.submit(big)
        for _ in range(20):
            daemon.submit(chain.mine_bytes(900_000))
        clients = []
        for kind in range(40):
            connection = HttpConnection(daemon.rpc_port)
            clients.append(connection)
            request = rpc_request(daemon.cookie, 'getblock', [big.hash, 0])
            if kind % 4 == 1:
                connection.send(request[:50])
            elif kind % 4 == 2:
                connection.send(request[:-5])
            elif kind % 4 == 3:
                connection.send(request * 20)
        began = time.monotonic()
        self.assertEqual(daemon.terminate(), 0, daemon.console())
        took = time.monotonic() - began
        print(f'SIGTERM to exit {took:.2f} s', file=sys.stderr)
        self.assertLess(took, seconds(5))
        for connection in clients:
            connection.close()

    def test_sigterm_in_mid_burst_again_and_again(self):
        """Scenario 25: eight HTTP clients, blocks going in, SIGTERM at a random moment: exit 0 in time, nothing lost."""
        dice = harness.seeded_random()
        daemon, chain = self.daemon(start=False), self.chain()
        slowest = 0
        for _ in range(rounds(20)):
            daemon.start()
            tip = daemon.rpc('getbestblockhash')
            if tip != chain.tip.hash:
                chain.tip = regtest.parse_block(bytes.fromhex(daemon.rpc('getblock', tip, 0)), daemon.rpc('getblockcount'))
            stream = harness.Subscriber(daemon.endpoint)
            workers = [threading.Thread(target=self.read_until_closed, args=(daemon,)) for _ in range(8)]
            writer = threading.Thread(target=self.submit_until_closed, args=(daemon, chain))
            for thread in [*workers, writer]:
                thread.start()
            time.sleep(dice.uniform(0, 0.3))
            began = time.monotonic()
            daemon.process.send_signal(dice.choice([signal.SIGTERM, signal.SIGINT]))
            status = daemon.wait_exit()
            slowest = max(slowest, time.monotonic() - began)
            for thread in [*workers, writer]:
                thread.join()
            stream.close()
            self.assertEqual(status, 0, daemon.console())
            daemon.process = None
        print(f'slowest end {slowest:.2f} s', file=sys.stderr)
        self.assertLess(slowest, seconds(5))
        daemon.start()
        # What was answered is there; one block more may have been taken whose answer the end cut off.
        confirmations = daemon.rpc('getblockheader', chain.tip.hash)['confirmations']
        self.assertIn(confirmations, (1, 2))

    @staticmethod
    def read_until_closed(daemon):
        try:
            with HttpConnection(daemon.rpc_port) as connection:
                while True:
                    connection.send(rpc_request(daemon.cookie, 'getblockchaininfo', []))
                    connection.read_reply()
        except (ConnectionError, OSError):
            pass

    @staticmethod
    def submit_until_closed(daemon, chain):
        try:
            with HttpConnection(daemon.rpc_port) as connection:
                while True:
                    block = chain.build()
                    connection.send(rpc_request(daemon.cookie, 'submitblock', [block.hex]))
                    if b'"result":null,"error":null' not in connection.read_reply().body:
                        return
                    chain.tip = block
        except (ConnectionError, OSError):
            pass

    def test_stop_by_rpc(self):
        daemon = self.daemon()
        self.assertEqual(daemon.rpc('stop'), 'blockpub stopping')
        daemon.close_connection()
        self.assertEqual(daemon.wait_exit(), 0)

    def test_a_second_signal_leaves_at_once(self):
        daemon = self.daemon()
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.wait_exit(5)
        daemon.process = None
        daemon.start()
        self.assertEqual(daemon.rpc('getblockcount'), 0)


if __name__ == '__main__':
    main()
