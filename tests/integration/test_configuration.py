# SPDX-License-Identifier: MIT
"""Options from files, ways to authenticate, the background, the log: what an operator sets up."""
import base64
import hashlib
import hmac
import os
import signal
import subprocess

import harness
from harness import HttpConnection, IntegrationTest, main, wait_until


class Configuration(IntegrationTest):
    def with_file(self, text, name='blockpub.conf', directory=None):
        directory = directory or self.temporary_directory()
        with open(os.path.join(directory, name), 'w', encoding='utf-8') as file:
            file.write(text)
        return directory

    def count_as(self, daemon, user, password):
        """The status of one call with these credentials."""
        token = base64.b64encode(f'{user}:{password}'.encode()).decode()
        body = b'{"method":"getblockcount","id":1}'
        with HttpConnection(daemon.rpc_port) as connection:
            connection.send(f'POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {token}\r\n'
                            f'Content-Length: {len(body)}\r\n\r\n'.encode() + body)
            return connection.read_reply().status

    def test_the_nodes_own_file_with_a_section_for_us(self):
        """-conf= may name the node's bitcoin.conf: what it says to the node is taken or named once, [blockpub] overrides."""
        endpoint, other = (f'tcp://127.0.0.1:{harness.free_port()}' for _ in range(2))
        directory = self.with_file(f'''
            # a node's configuration
            server=1
            dbcache=450
            maxsigcachesize=40
            [regtest]
            zmqpubhashblock={endpoint}
            [main]
            zmqpubrawtx=tcp://127.0.0.1:1
            [blockpub]
            zmqpubhashblock={other}
            ''', 'bitcoin.conf')
        daemon = self.daemon(f'-conf={directory}/bitcoin.conf', topics=())
        self.assertEqual([(r['type'], r['address']) for r in daemon.rpc('getzmqnotifications')], [('pubhashblock', other)])
        named = [line for line in daemon.console().splitlines() if 'maxsigcachesize' in line and 'arning' in line]
        self.assertEqual(len(named), 1, daemon.console())

    def test_a_file_in_the_data_directory(self):
        endpoint = f'tcp://127.0.0.1:{harness.free_port()}'
        for name in ('blockpub.conf', 'bitcoin.conf'):
            directory = self.with_file(f'[regtest]\nzmqpubsequence={endpoint}\nzmqpubsequencehwm=5\n', name)
            daemon = self.daemon(datadir=directory, topics=())
            self.assertEqual([(r['type'], r['hwm']) for r in daemon.rpc('getzmqnotifications')], [('pubsequence', 5)])
            daemon.stop()

    def test_double_dashes_and_single_ones(self):
        endpoint = f'tcp://127.0.0.1:{harness.free_port()}'
        daemon = self.daemon(f'--zmqpubhashblock={endpoint}', topics=())
        self.assertEqual(len(daemon.rpc('getzmqnotifications')), 1)

    def test_user_and_password(self):
        daemon = self.daemon('-rpcuser=alice', '-rpcpassword=se:cret', topics=(), start=False)
        daemon.spawn()
        def answers():
            try:
                return self.count_as(daemon, 'alice', 'se:cret') == 200
            except OSError:
                return False
        wait_until(answers, 20, 'the daemon ready')
        self.assertEqual(self.count_as(daemon, 'alice', 'secret'), 401)
        self.assertEqual(self.count_as(daemon, 'bob', 'se:cret'), 401)
        self.assertFalse(os.path.exists(daemon.cookie_path))
        self.assertNotIn('se:cret', daemon.console() + daemon.debug_log())

    def test_rpcauth_beside_the_cookie(self):
        salt = '0123456789abcdef'
        digest = hmac.new(salt.encode(), b'pass word', hashlib.sha256).hexdigest()
        daemon = self.daemon(f'-rpcauth=carol:{salt}${digest}', topics=())
        self.assertEqual(self.count_as(daemon, 'carol', 'pass word'), 200)
        self.assertEqual(self.count_as(daemon, 'carol', 'password'), 401)
        self.assertEqual(self.count_as(daemon, *daemon.cookie.split(':')), 200)
        self.assertNotIn(digest, daemon.console() + daemon.debug_log())

    def test_in_the_background(self):
        """-daemonwait returns when the daemon is ready; the pid file names it; it ends as ever."""
        daemon = harness.Daemon('-daemonwait', topics=())
        self.daemons.append(daemon)
        done = subprocess.run([daemon.binary, *daemon.args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=harness.seconds(30), check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        with open(os.path.join(daemon.chain_dir, 'blockpubd.pid'), encoding='ascii') as file:
            pid = int(file.read())
        try:
            with open(daemon.cookie_path, encoding='ascii') as file:
                daemon.cookie = file.read()
            self.assertEqual(daemon.rpc('getblockcount'), 0)
        finally:
            daemon.close_connection()
            os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not os.path.exists(f'/proc/{pid}'), 10, 'its end')
        self.assertFalse(os.path.exists(daemon.cookie_path))

    def test_a_failed_start_in_the_background_is_told(self):
        daemon = harness.Daemon('-daemonwait', '-zmqpubhashblock=nonsense', topics=())
        self.daemons.append(daemon)
        done = subprocess.run([daemon.binary, *daemon.args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=harness.seconds(30), check=False, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('zmqpubhashblock', done.stdout)

    def test_debug_categories(self):
        daemon = self.daemon('-debug=zmq')
        chain = self.chain()
        daemon.submit(chain.mine())
        wait_until(lambda: '[zmq]' in daemon.debug_log(), 10, 'a line of category zmq')

    def test_help_and_version(self):
        for option, text in (('-help', 'zmqpubhashblock'), ('-version', 'blockpub')):
            done = subprocess.run([harness.blockpubd(), option], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=harness.seconds(20), check=False, text=True)
            self.assertEqual(done.returncode, 0)
            self.assertIn(text, done.stdout)


if __name__ == '__main__':
    main()
