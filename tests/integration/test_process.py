# SPDX-License-Identifier: MIT
"""The process seen from outside: options, background, process id, signals, terminal, secrets, limits, exit statuses."""
import os
import pty
import resource
import select
import shutil
import signal
import subprocess
import time

import harness
import regtest
from harness import IntegrationTest, RpcError, main, seconds, wait_until


def run(*args, limit=20, env=None):
    """A command that ends by itself: status, standard output, standard error."""
    done = subprocess.run([harness.blockpubd(), *args], capture_output=True, text=True, timeout=seconds(limit), check=False,
                          stdin=subprocess.DEVNULL, env=env)
    return done.returncode, done.stdout, done.stderr


def read_file(path):
    with open(path, encoding='ascii') as file:
        return file.read()


def running(pid):
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


class Words(IntegrationTest):
    def test_help_and_version_need_no_directory(self):
        for option in ('-help', '--help', '-h', '-?'):
            with self.subTest(option=option):
                status, out, err = run(option, env={'PATH': '/usr/bin'})
                self.assertEqual((status, err), (0, ''))
                self.assertIn('-zmqpubhashblock=<address>', out)
                self.assertIn('default', out)
        status, out, err = run('-version', '-datadir=/nowhere')
        self.assertEqual((status, err), (0, ''))
        self.assertRegex(out, r'\Ablockpub version [0-9.]+\n\Z')

    def test_wrong_words_end_with_one_line_and_status_1(self):
        directory = self.temporary_directory()
        cases = [
            (['-foo'], 'Error: Error parsing command line arguments: Invalid parameter -foo'),
            (['-rpcport=x'], "Error: Invalid port specified in -rpcport: 'x'"),
            (['-regtest', '-testnet4'], 'Error: Invalid combination of -regtest, -signet, -testnet, -testnet4 and -chain. '
             'Can use at most one.'),
            (['-datadir=/no/such/place'], 'Error: Specified data directory "/no/such/place" does not exist.'),
            (['-conf=/no/such/file'], 'Error: Error reading configuration file: specified config file "/no/such/file" could '
             'not be opened.'),
            ([f'-datadir={__file__}'], f'Error: Specified data directory "{__file__}" is not a directory.'),
            (['-loadblock='], 'Error: -loadblock= names no file: give -loadblock=<file>.'),
            (['-chain=\x1b[31mred\n'], 'Error: Unknown chain \\x1b[31mred\\x0a. Choose one of main, test, testnet4, signet, '
             'regtest.'),
            (['stop'], "Error: Command line contains unexpected token 'stop', see blockpubd -h for a list of options."),
            (['-regtest', '-importblocks=/no/such/place', '-rpcport=0'], None),
            (['-regtest', '-loadblock=/no/such/file', '-rpcport=0'], None),
            (['-regtest', f'-pid={directory}/none/x.pid'], None),
        ]
        for args, sentence in cases:
            with self.subTest(args=args):
                if not any(arg.startswith('-datadir') for arg in args):
                    args = [*args, f'-datadir={directory}']
                status, _, err = run('-printtoconsole=0', *args)
                self.assertEqual((status, err.count('\n')), (1, 1), err)
                if sentence:
                    self.assertEqual(err, sentence + '\n')
                else:
                    self.assertIn(args[1].split('=')[1], err)

    def test_a_refused_start_leaves_nothing_listening_and_the_next_start_works(self):
        daemon = self.daemon('-loadblock=/no/such/file', start=False)
        daemon.spawn()
        self.assertEqual(daemon.wait_exit(), 1)
        self.assertFalse(os.path.exists(daemon.cookie_path))
        self.assertFalse(os.path.exists(os.path.join(daemon.chain_dir, 'blockpubd.pid')))
        daemon.args.remove('-loadblock=/no/such/file')
        daemon.start()
        self.assertEqual(daemon.rpc('getblockcount'), 0)

    def test_warnings_stand_in_the_log(self):
        daemon = self.daemon('-par=2', '-alertnotify=true')
        log = daemon.debug_log()
        for text in ('[warning] Options of bitcoind that blockpub has no use for: par', '[warning] -alertnotify:'):
            self.assertEqual(log.count(text), 1, log)

    def test_a_shared_configuration_file(self):
        directory = self.temporary_directory()
        conf = os.path.join(directory, 'bitcoin.conf')
        port = harness.free_port()
        with open(conf, 'w', encoding='ascii') as file:
            file.write(f'server=1\nlisten=1\ndbcache=4000\nblockversion=1\nregtest=1\n[regtest]\nrpcport=1\n[blockpub]\nrpcport={port}\n')
        status, _, err = run(f'-conf={conf}', f'-datadir={directory}', '-stopafterblockimport', '-mapsize=1024')
        self.assertEqual((status, err), (0, ''))
        with open(os.path.join(directory, 'regtest', 'debug.log'), encoding='utf-8') as file:
            log = file.read()
        self.assertIn(f'127.0.0.1:{port}', log)
        self.assertIn('no use for: blockversion\n', log)
        self.assertIn('listen in bitcoin.conf: taken as said to the node', log)


class Background(IntegrationTest):
    def test_daemonwait_returns_when_all_is_ready(self):
        daemon = self.daemon(start=False)
        status, out, err = run(*daemon.args, '-daemonwait')
        pid_path = os.path.join(daemon.chain_dir, 'blockpubd.pid')
        with open(pid_path, encoding='ascii') as file:
            pid = int(file.read())
        self.addCleanup(lambda: running(pid) and os.kill(pid, signal.SIGKILL))
        self.assertEqual((status, out, err), (0, '', ''))
        with open(daemon.cookie_path, encoding='ascii') as file:
            daemon.cookie = file.read()
        self.assertEqual(daemon.rpc('getblockcount'), 0)
        self.assertEqual(os.getsid(pid), pid)
        daemon.rpc('stop')
        wait_until(lambda: not running(pid), 15, 'the end')
        self.assertFalse(os.path.exists(pid_path))

    def test_daemonwait_tells_of_a_start_that_failed(self):
        daemon = self.daemon(start=False)
        status, _, err = run(*daemon.args, '-daemonwait', '-zmqpubrawtx=tcp://127.0.0.1::1')
        self.assertEqual(status, 1)
        self.assertIn('zmqpubrawtx', err)

    def test_daemon_returns_at_once(self):
        daemon = self.daemon(start=False)
        status, out, _ = run(*daemon.args, '-daemon')
        self.assertEqual((status, out), (0, 'blockpubd starting\n'))

        def ready():
            try:
                with open(daemon.cookie_path, encoding='ascii') as file:
                    daemon.cookie = file.read()
                return daemon.rpc('getblockcount') == 0
            except (OSError, RpcError):
                return False
        wait_until(ready, 20, 'the daemon in the background')
        with open(os.path.join(daemon.chain_dir, 'blockpubd.pid'), encoding='ascii') as file:
            pid = int(file.read())
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not running(pid), 15, 'the end')


class Ends(IntegrationTest):
    def test_a_second_signal_ends_it_at_once(self):
        directory = self.temporary_directory()
        mark = os.path.join(directory, 'mark')
        # Leaving at once joins no thread, which the thread sanitizer would answer with a status of its own.
        tsan = os.environ.get('TSAN_OPTIONS', '') + ':report_thread_leaks=0'
        daemon = self.daemon(f'-shutdownnotify=touch {mark}; exec sleep 100', wrapper=['env', f'TSAN_OPTIONS={tsan}'])
        daemon.process.send_signal(signal.SIGTERM)
        wait_until(lambda: os.path.exists(mark), 10, 'the shutdown command')
        began = time.monotonic()
        daemon.process.send_signal(signal.SIGINT)
        self.assertEqual(daemon.wait_exit(), 5)
        self.assertLess(time.monotonic() - began, seconds(1))
        # What it left lying about (a slow machine has removed the cookie by then) is not in the way of the next
        # start, and goes with it.
        pid_path = os.path.join(daemon.chain_dir, 'blockpubd.pid')
        left = [read_file(path) if os.path.exists(path) else '' for path in (daemon.cookie_path, pid_path)]
        daemon.args = [arg for arg in daemon.args if not arg.startswith('-shutdownnotify')]
        daemon.spawn()
        def renewed():
            try:
                return [read_file(path) for path in (daemon.cookie_path, pid_path)]
            except OSError:
                return left
        wait_until(lambda: all(a != b for a, b in zip(left, renewed())), 10, 'a cookie and a pid of its own')
        daemon.wait_ready()
        self.assertEqual(renewed()[1], f'{daemon.pid}\n')
        daemon.stop()
        for path in (daemon.cookie_path, pid_path):
            self.assertFalse(os.path.exists(path))

    def test_the_data_directory_is_removed(self):
        """Whoever waits for a write hears the reason, queries go on, and the end comes all the same."""
        daemon, chain = self.daemon('-rpcservertimeout=1'), self.chain()
        before, block = chain.mine(), chain.mine()
        daemon.submit(before)
        shutil.rmtree(daemon.chain_dir)
        with self.assertRaises(harness.RpcError) as refused:
            daemon.rpc('submitblock', block.hex)
        self.assertEqual(refused.exception.code, -20)
        self.assertIn('cannot write: ', refused.exception.message)
        self.assertIn(daemon.chain_dir, refused.exception.message)
        began = time.monotonic()
        with self.assertRaises(harness.RpcError) as refused:
            daemon.rpc('invalidateblock', before.hash)
        self.assertIn('nothing was changed', refused.exception.message)
        self.assertLess(time.monotonic() - began, seconds(0.9))
        self.assertEqual(daemon.rpc('getblock', before.hash, 0), before.hex)
        self.assertIn(daemon.chain_dir, daemon.rpc('getblockpubinfo')['chain']['write_error'])
        self.assertEqual(daemon.terminate(), 4)
        daemon.process = None

    def test_a_shutdown_command_that_hangs_does_not_hold_up_the_end(self):
        daemon = self.daemon('-shutdownnotify=exec sleep 100')
        began = time.monotonic()
        self.assertEqual(daemon.terminate(), 0)
        self.assertLess(time.monotonic() - began, seconds(5.5))

    def test_a_signal_during_the_start_is_obeyed(self):
        daemon = self.daemon(start=False)
        for _ in range(harness.rounds(20)):
            daemon.spawn()
            wait_until(lambda: os.path.exists(os.path.join(daemon.chain_dir, 'blockpubd.pid')), 10, 'the pid file')
            daemon.process.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.wait_exit(), 0, daemon.console())

    def test_ends_when_the_import_is_done(self):
        daemon = self.daemon(f'-importblocks={harness.VECTORS}', '-stopafterblockimport', source=None, start=False,
                             mocktime=harness.vector_manifest()['chain-a']['mocktime'])
        daemon.spawn()
        self.assertEqual(daemon.wait_exit(30), 0, daemon.console())
        self.assertIn('height 169', daemon.console())


class Debug(IntegrationTest):
    def test_each_subject_has_something_to_say(self):
        daemon = self.daemon('-debug=http', '-debug=rpc', '-debug=validation', '-debug=coindb', '-debug=bus', '-debug=net',
                             '-debug=tor')
        self.subscriber(daemon.endpoint).synchronize(daemon, self.chain())
        log = daemon.debug_log()
        for text in ('[http] 127.0.0.1:', 'POST /', '[rpc] method=submitblock', '[store] commit of ', '[bus] released events 1 to 1',
                     f'[net] {daemon.endpoint}: 1 connected',
                     '[warning] -debug=tor: nothing here logs about that subject.'):
            self.assertIn(text, log)
        self.assertNotIn('[zmq]', log)

    def test_each_subject_of_an_import_has_something_to_say(self):
        block = self.chain().mine()
        path = os.path.join(self.temporary_directory(), 'bootstrap.dat')
        with open(path, 'wb') as file:
            file.write(regtest.record(block.raw) + bytes(100))
        daemon = self.daemon('-debug=zmq', '-debug=import', '-debug=validation', f'-loadblock={path}')
        for text in (f'[import] {path}: 100 preallocated bytes at the end', f'[chain] new tip {block.hash} at height 1',
                     f'[zmq] {daemon.endpoint}: block {block.hash} connected at height 1'):
            wait_until(lambda: text in daemon.debug_log(), 20, text)
        for subject in ('[http]', '[rpc]', '[store]', '[bus]', '[net]'):
            self.assertNotIn(subject, daemon.debug_log())

    def test_an_unknown_subject_is_refused(self):
        refused = self.daemon('-debug=nonsense', start=False).spawn()
        self.assertEqual(refused.wait_exit(), 1)
        refused.process = None
        self.assertIn('Error: Unsupported logging category -debug=nonsense', refused.console())


class Secrets(IntegrationTest):
    def test_no_secret_is_logged(self):
        daemon = self.daemon('-debug', '-rpcuser=someuser', '-rpcpassword=tell-nobody-1', start=False)
        daemon.args.append('-rpcauth=other:0123456789abcdef0123456789abcdef$' + '7' * 64)
        daemon.args.append('-blocknotify=true hidden-token %s')
        with open(os.path.join(daemon.datadir, 'blockpub.conf'), 'w', encoding='ascii') as file:
            file.write('rpcpassword=tell-nobody-2\n')
        daemon.spawn()
        daemon.cookie = 'someuser:tell-nobody-1'

        def ready():
            try:
                return daemon.rpc('getblockcount') == 0
            except (OSError, RpcError):
                return False
        wait_until(ready, 20, 'the daemon')
        daemon.cookie = 'someuser:wrong-guess-3'
        self.assertEqual(daemon.raw_rpc('getblockcount').status, 401)
        daemon.cookie = 'someuser:tell-nobody-1'
        daemon.rpc('echo', 'x')
        daemon.stop()
        text = daemon.debug_log() + daemon.console()
        for secret in ('tell-nobody', 'wrong-guess', '7' * 64, '0123456789abcdef0123456789abcdef', 'hidden-token'):
            self.assertNotIn(secret, text)
        self.assertIn('rpcpassword=****', text)


class System(IntegrationTest):
    def test_the_terminal_shows_a_status_line(self):
        daemon = self.daemon(start=False)
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        daemon.process = subprocess.Popen([daemon.binary, *daemon.args], stdout=slave, stderr=slave, stdin=subprocess.DEVNULL)
        os.close(slave)
        shown = b''
        end = time.monotonic() + seconds(20)
        while b'old;' not in shown and b'old,' not in shown and time.monotonic() < end:
            if select.select([master], [], [], 0.1)[0]:
                shown += os.read(master, 65536)
        text = shown.decode()
        for fact in ('tip 0 0f9188f1', 'blocks by submitblock', daemon.endpoint, f'127.0.0.1:{daemon.rpc_port}', daemon.cookie_path):
            self.assertIn(fact, text)
        daemon.process.send_signal(signal.SIGTERM)
        while True:
            try:
                if not os.read(master, 65536):
                    break
            except OSError:
                break
        self.assertEqual(daemon.wait_exit(), 0)
        daemon.process = None

    def test_the_limit_on_open_files_is_raised_and_shared_out(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        daemon = self.daemon(start=False)
        daemon.wrapper = ['/bin/sh', '-c', 'ulimit -S -n 64 && exec "$@"', 'sh']
        daemon.start()
        with open(f'/proc/{daemon.pid}/limits', encoding='ascii') as file:
            line = next(line for line in file if line.startswith('Max open files'))
        self.assertEqual(int(line.split()[3]), min(hard, 65536) if hard != resource.RLIM_INFINITY else 65536)
        self.assertIn('file descriptors', daemon.debug_log())
        daemon.stop()
        daemon.wrapper = ['/bin/sh', '-c', 'ulimit -n 200 && exec "$@"', 'sh']
        daemon.spawn()
        self.assertEqual(daemon.wait_exit(), 1)
        self.assertIn('ulimit -n', daemon.console())
        daemon.process = None

    def test_a_log_that_cannot_be_written_is_a_clear_error(self):
        self.assert_refused('-debuglogfile=/no/such/place/debug.log', contains=['/no/such/place/debug.log'])


if __name__ == '__main__':
    main()
