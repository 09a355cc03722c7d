# SPDX-License-Identifier: MIT
"""Calls that are passed on to a node: byte for byte, and whatever the node does, nothing else suffers."""
import json
import math
import os
import threading
import time

import fake_node
import harness
from fake_node import FakeNode, answer, failure, reply
from harness import IntegrationTest, RpcError, main, seconds

METHODS = ('estimatesmartfee', 'getblocktemplate', 'sendrawtransaction', 'submitpackage', 'testmempoolaccept')


class Upstream(IntegrationTest):
    def node(self, login='user:secret'):
        node = FakeNode(login)
        self.addCleanup(node.close)
        return node

    def pair(self, *args, login='user:secret', **kwargs):
        """A fake node, and a daemon that passes calls on to it."""
        node = self.node(login)
        return node, self.daemon(f'-upstreamrpc=http://user:secret@127.0.0.1:{node.port}', *args, **kwargs)

    def body(self, daemon, method, *params, request_id=1):
        return daemon.raw_rpc(method, *params, request_id=request_id).body.decode()

    def error(self, daemon, method, *params):
        with self.assertRaises(RpcError) as refused:
            daemon.rpc(method, *params)
        self.assertEqual(refused.exception.code, -9)
        return refused.exception.message

    def test_results_and_errors_go_past_to_the_byte(self):
        node, daemon = self.pair()
        result = '{"feerate": 0.00010000,"b":[1e3,-0.0,"\\u00e9\\/\\"}"],"c":{"d":null}}'
        node.behave = lambda call, connection: answer(result)
        for number, method in enumerate(METHODS):
            self.assertEqual(self.body(daemon, method, request_id=number),
                             f'{{"result":{result},"error":null,"id":{number}}}\n')
        self.assertEqual([call.method for call in node.calls], list(METHODS))
        error = '{"code":-26,"message":"min relay fee not met, 0 < 110","data":{"x":[1.50]}}'
        node.behave = lambda call, connection: failure(error)
        for method in METHODS:
            got = daemon.raw_rpc(method)
            self.assertEqual((got.status, got.body.decode()), (500, f'{{"result":null,"error":{error},"id":1}}\n'))
        node.behave = lambda call, connection: failure('{"code":-32601,"message":"Method not found"}', 404)
        self.assertEqual(daemon.raw_rpc('submitpackage').status, 404)
        # What is not passed on is answered here.
        self.assertEqual(daemon.rpc('getblockcount'), 0)
        self.assertEqual(len(node.calls), 11)

    def test_parameters_go_past_as_they_came(self):
        node, daemon = self.pair()
        for params in ([], ['x', 1.50, None, {'y': []}], {'conf_target': 6, 'unheard_of': True}, {'args': [1]}):
            request = json.dumps({'jsonrpc': '2.0', 'id': 'a', 'method': 'estimatesmartfee', 'params': params})
            with harness.HttpConnection(daemon.rpc_port) as connection:
                connection.send(harness.post_request(daemon.cookie, request.encode()))
                got = connection.read_reply()
            self.assertEqual((got.status, got.body), (200, b'{"jsonrpc":"2.0","result":null,"id":"a"}\n'))
            self.assertEqual(node.calls[-1].params, params)
        node.behave = lambda call, connection: failure('{"code":-8,"message":"no"}')
        batch = json.dumps([{'id': 1, 'method': 'getblockcount'}, {'id': 2, 'method': 'estimatesmartfee'},
                            {'jsonrpc': '2.0', 'id': 3, 'method': 'estimatesmartfee'}])
        with harness.HttpConnection(daemon.rpc_port) as connection:
            connection.send(harness.post_request(daemon.cookie, batch.encode()))
            self.assertEqual(connection.read_reply().body.decode(),
                             '[{"result":0,"error":null,"id":1},{"result":null,"error":{"code":-8,"message":"no"},"id":2},'
                             '{"jsonrpc":"2.0","error":{"code":-8,"message":"no"},"id":3}]\n')

    def test_replies_in_every_form_of_http(self):
        node, daemon = self.pair()
        body = b'{"result":"' + b'x' * 300_000 + b'","error":null,"id":"blockpub"}'
        chunks = b''.join(b'%x\r\n%s\r\n' % (len(part), part) for part in (body[:10], body[10:9000], body[9000:])) + b'0\r\n\r\n'
        forms = [reply(body), b'HTTP/1.1 100 Continue\r\n\r\n' + reply(body), b'HTTP/1.0 200 OK\n\n' + body,
                 b'HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n' + chunks, reply(body) + b'trailing']
        for form in forms:
            for pause in (0, 0.01):
                def behave(call, connection):
                    for at in range(0, len(form), 50_000):
                        connection.sendall(form[at:at + 50_000])
                        time.sleep(pause)
                node.behave = behave
                self.assertEqual(len(daemon.rpc('sendrawtransaction', '00')), 300_000)

    def test_replies_that_are_none(self):
        node, daemon = self.pair()
        whole = answer('7')
        head = b'HTTP/1.1 200 OK\r\nContent-Length: '
        lies = {
            'closed the connection without a reply': b'',
            'its reply ended early': whole[:-5],
            'its reply is not HTTP': b'SSH-2.0-OpenSSH\r\n\r\n',
            'its reply is too large': head + b'99999999999\r\n\r\n{}',
            'the head of its reply is malformed': head + b'5, 6\r\n\r\n12345',
            'the head of its reply is too long': b'HTTP/1.1 200 OK\r\n' + b'x: y\r\n' * 20_000,
            'its reply is not JSON': reply('<html>'),
            'its reply is not JSON-RPC': reply('[]'),
            'its error is not one of JSON-RPC': reply('{"result":null,"error":"x","id":"blockpub"}'),
            'it answers another call': reply('{"result":1,"error":null,"id":"another"}'),
            'the chunks of its reply are malformed': b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
            'it sends interim replies without end': b'HTTP/1.1 102 Wait\r\n\r\n' * 9,
        }
        # A length that is too short cuts the JSON, one that is too long is not met.
        lies['its reply is not JSON '] = head + b'3\r\n\r\n' + whole.partition(b'\r\n\r\n')[2]
        lies['its reply ended early; '] = head + b'300\r\n\r\n' + whole.partition(b'\r\n\r\n')[2]
        for reason, lie in lies.items():
            node.behave = lambda call, connection: lie
            message = self.error(daemon, 'sendrawtransaction', '00')
            self.assertIn(reason.rstrip(' ;'), message)
            self.assertIn('look whether it is a Bitcoin node that listens there', message)
            self.assertNotIn('secret', message)
        node.behave = lambda call, connection: answer('7')
        self.assertEqual(daemon.rpc('sendrawtransaction', '00'), 7)

    def test_answers_without_json_rpc(self):
        node, daemon = self.pair()
        node.behave = lambda call, connection: reply('', 403, 'Forbidden')
        self.assertIn('forbids the call (HTTP 403)', self.error(daemon, 'submitpackage'))
        node.behave = lambda call, connection: reply('Work queue depth exceeded', 503, 'Service Unavailable')
        got = daemon.raw_rpc('submitpackage')
        self.assertEqual((got.status, got.header('Retry-After')), (503, '1'))
        self.assertIn('is too busy (HTTP 503): try again later', json.loads(got.body)['error']['message'])

    def test_a_node_that_hangs_holds_up_nothing_else(self):
        limit = 2
        node, daemon = self.pair(f'-upstreamtimeout={limit}')
        node.behave = node.hang
        connections = [harness.HttpConnection(daemon.rpc_port) for _ in range(60)]
        for connection in connections:
            self.addCleanup(connection.close)
        began = time.monotonic()
        for connection in connections:
            connection.send(harness.rpc_request(daemon.cookie, 'sendrawtransaction', ['00']))
        chain = self.chain()
        for _ in range(50):
            daemon.submit(chain.mine())
        self.assertEqual(daemon.rpc('getblockcount'), 50)
        self.assertEqual(daemon.rpc('getrawmempool'), [])
        messages = [json.loads(connection.read_reply().body)['error']['message'] for connection in connections]
        self.assertGreaterEqual(time.monotonic() - began, limit)
        self.assertLess(time.monotonic() - began, seconds(15))
        kinds = set(messages)
        self.assertTrue(any(f'did not answer within {limit} s; it is not known whether the call was carried out' in kind
                            for kind in kinds), kinds)
        self.assertTrue(all('did not answer' in kind or 'has stopped answering' in kind for kind in kinds), kinds)
        node.behave = lambda call, connection: answer('true')
        harness.wait_until(lambda: json.loads(daemon.raw_rpc('sendrawtransaction', '00').body)['result'] is True,
                           what='an answer again')

    def test_an_end_does_not_wait_for_a_node_that_hangs(self):
        node, daemon = self.pair('-upstreamtimeout=3600')
        node.behave = node.hang
        with harness.HttpConnection(daemon.rpc_port) as connection:
            connection.send(harness.rpc_request(daemon.cookie, 'sendrawtransaction', ['00']))
            harness.wait_until(lambda: node.calls, what='the call')
            daemon.stop(limit=10)

    def test_a_long_poll_is_no_hanging_node(self):
        limit = math.ceil(seconds(2))
        node, daemon = self.pair(f'-upstreamtimeout={limit}')
        polled = threading.Event()

        def behave(call, connection):
            if call.params and 'longpollid' in call.params[0]:
                polled.wait()
            return answer('"template"')
        node.behave = behave
        with harness.HttpConnection(daemon.rpc_port) as connection:
            connection.send(harness.rpc_request(daemon.cookie, 'getblocktemplate', [{'rules': ['segwit'], 'longpollid': 'x'}]))
            harness.wait_until(lambda: node.calls, what='the call')
            time.sleep(limit + 0.5)  # Longer than the time limit of other calls.
            self.assertEqual(daemon.rpc('getblocktemplate', {'rules': ['segwit']}), 'template')
            polled.set()
            self.assertEqual(json.loads(connection.read_reply().body)['result'], 'template')

    def test_a_node_that_is_not_there(self):
        daemon = self.daemon(f'-upstreamrpc=http://user:secret@127.0.0.1:{harness.free_port()}')
        message = self.error(daemon, 'estimatesmartfee', 6)
        self.assertIn('cannot be reached (Connection refused): start it, or give its address with -upstreamrpc=', message)
        self.assertNotIn('secret', message)

    def test_the_cookie_is_read_again_when_it_is_refused(self):
        node = self.node('__cookie__:first')
        path = os.path.join(self.temporary_directory(), 'cookie')
        daemon = self.daemon(f'-upstreamrpc=http://127.0.0.1:{node.port}', f'-upstreamcookiefile={path}')
        self.assertIn(f'has no cookie at {path}: start it, or give', self.error(daemon, 'estimatesmartfee', 6))

        def write(cookie):
            with open(path, 'w', encoding='ascii') as file:
                file.write(cookie)
        write('__cookie__:first')
        self.assertIsNone(daemon.rpc('estimatesmartfee', 6))
        # The node is started again, and has another cookie.
        node.login = '__cookie__:second'
        self.assertIn(f'refuses the cookie {path}: give the path', self.error(daemon, 'estimatesmartfee', 6))
        write('__cookie__:second')
        refused = node.refused
        self.assertIsNone(daemon.rpc('estimatesmartfee', 6))
        self.assertEqual(node.refused, refused + 1)
        self.assertIsNone(daemon.rpc('estimatesmartfee', 6))
        self.assertEqual(node.refused, refused + 1)
        write('x' * 5000)
        node.login = '__cookie__:third'
        self.assertIn('refuses the cookie', self.error(daemon, 'estimatesmartfee', 6))
        self.assertNotIn('__cookie__:', daemon.debug_log())

    def test_the_password_is_shown_nowhere(self):
        node, daemon = self.pair('-debug=1')
        daemon.rpc('estimatesmartfee', 6)
        node.login = 'user:another'
        message = self.error(daemon, 'estimatesmartfee', 6)
        self.assertIn('refuses user and password: correct them in -upstreamrpc=', message)
        shown = ''.join(self.body(daemon, method) for method in ('getrpcinfo', 'getblockpubinfo', 'getnetworkinfo'))
        self.assertNotIn('secret', message + shown + daemon.debug_log() + daemon.console())
        self.assertIn(f'are passed on to http://127.0.0.1:{node.port}', daemon.debug_log())
        daemon.stop()
        for value in ('https://user:secret@127.0.0.1', 'http://secret@127.0.0.1', 'http://user:sec%ret@127.0.0.1:8332',
                      'http://user:secret@127.0.0.1:0', 'http://user:secret@', 'secret'):
            refused = self.assert_refused(f'-upstreamrpc={value}', contains=('-upstreamrpc: ',))
            self.assertNotRegex(refused.console(), 'sec%?ret')

    def test_without_a_node(self):
        daemon = self.daemon()
        self.assertEqual(self.body(daemon, 'estimatesmartfee', 6),
                         '{"result":{"errors":["Insufficient data or no feerate found"],"blocks":0},"error":null,"id":1}\n')
        self.assertEqual(self.error(daemon, 'getblocktemplate', {'rules': ['segwit']}), 'Bitcoin Core is not connected!')


if __name__ == '__main__':
    main()
