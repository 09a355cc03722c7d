# SPDX-License-Identifier: MIT
"""What an operator tells the connections to peers by RPC: whom to call, whom to leave, whom to keep out."""
import json
import os

import harness
import regtest
from fake_peer import FakePeer, Stalling
from harness import RpcError, main, wait_until
from test_p2p import P2pTest

PEER_KEYS = '''id addr addrbind network services servicesnames relaytxes lastsend lastrecv last_transaction last_block
bytessent bytesrecv conntime timeoffset pingtime minping version subver inbound bip152_hb_to bip152_hb_from startingheight
presynced_headers synced_headers synced_blocks inflight addr_relay_enabled addr_processed addr_rate_limited permissions
minfeefilter bytessent_per_msg bytesrecv_per_msg connection_type transport_protocol_type session_id'''.split()


ONION = 'pg6mmjiyjmcrsslvykfwnntlaru7p5svn6y2ymmju6nubxndf4pscryd.onion'
I2P = 'ukeu3k5oycgaauneqgtnvselmt4yemvoilkln7jpvamvfx7dnkdq.b32.i2p'


class PeerRpcTest(P2pTest):
    def assert_rpc_error(self, code, text, node, method, *params):
        with self.assertRaises(RpcError) as caught:
            node.rpc(method, *params)
        self.assertEqual((caught.exception.code, caught.exception.message), (code, text), f'{method} {params}')

    def name(self, peer):
        return f'127.0.0.1:{peer.port}'

    def row_of(self, node, peer):
        return next((row for row in node.rpc('getpeerinfo') if row['addr'] == self.name(peer)), None)

    def wait_connected(self, node, *peers):
        for peer in peers:
            wait_until(lambda: self.row_of(node, peer), 20, f'a connection to {self.name(peer)}')

    def wait_gone(self, node, peer):
        wait_until(lambda: not self.row_of(node, peer), 20, f'no connection to {self.name(peer)}')

    def let_calls_pass(self, node, other):
        """Until another node, cut off, has been called again: whoever is to be called has been by then."""
        before = other.accepted
        other.cut()
        wait_until(lambda: other.accepted > before, 20, 'another call')
        self.wait_connected(node, other)


class Nodes(PeerRpcTest):
    def test_nodes_are_added_followed_and_removed(self):
        chain, blocks = self.blocks(5)
        peer, clock = self.peer(blocks), self.peer(blocks)
        node = self.daemon(source='-connect=0')
        self.assertEqual(node.rpc('getaddednodeinfo'), [])
        self.assertIsNone(node.rpc('addnode', self.name(peer), 'add'))
        self.wait_tip(node, blocks[-1])
        self.assertEqual(node.rpc('getaddednodeinfo'), [
            {'addednode': self.name(peer), 'connected': True,
             'addresses': [{'address': self.name(peer), 'connected': 'outbound'}]}])
        self.assert_rpc_error(-23, 'Error: Node already added', node, 'addnode', self.name(peer), 'add')
        # The same node by another spelling.
        self.assert_rpc_error(-23, 'Error: Node already added', node, 'addnode', f'[::ffff:127.0.0.1]:{peer.port}', 'add')
        # A lost connection is made again.
        peer.cut()
        wait_until(lambda: peer.accepted == 2, 20, 'another connection')
        self.wait_connected(node, peer)
        # Removed, it stays until it ends.
        node.rpc('addnode', self.name(clock), 'add')
        self.wait_connected(node, clock)
        self.assertIsNone(node.rpc('addnode', self.name(peer), 'remove'))
        self.assertEqual([row['addednode'] for row in node.rpc('getaddednodeinfo')], [self.name(clock)])
        peer.announce(chain.mine())
        self.wait_tip(node, chain.tip)
        peer.cut()
        self.wait_gone(node, peer)
        self.let_calls_pass(node, clock)
        self.assertEqual(peer.accepted, 2)
        self.assert_rpc_error(-24, 'Error: Node could not be removed. It has not been added previously.', node, 'addnode',
                              self.name(peer), 'remove')

    def test_a_node_is_tried_once(self):
        _, blocks = self.blocks(5)
        peer, clock = self.peer(blocks), self.peer()
        node = self.follow(clock)
        self.wait_connected(node, clock)
        self.assertIsNone(node.rpc('addnode', self.name(peer), 'onetry'))
        self.wait_tip(node, blocks[-1])
        self.assertEqual(node.rpc('getaddednodeinfo'), [])
        # Again while it is connected: nothing happens.
        self.assertIsNone(node.rpc('addnode', self.name(peer), 'onetry'))
        peer.cut()
        self.wait_gone(node, peer)
        self.let_calls_pass(node, clock)
        self.assertEqual(peer.accepted, 1)
        # Tried, then added: it is called whenever it is gone.
        node.rpc('addnode', self.name(peer), 'onetry')
        self.wait_connected(node, peer)
        node.rpc('addnode', self.name(peer), 'add')
        peer.cut()
        wait_until(lambda: peer.accepted == 3, 20, 'another connection')

    def test_nodes_of_the_command_line(self):
        _, blocks = self.blocks(5)
        connect, added = self.peer(blocks), self.peer(blocks)
        node = self.follow(connect, args=[f'-addnode={self.name(added)}'])
        self.wait_connected(node, connect, added)
        info, = node.rpc('getaddednodeinfo', self.name(added))
        self.assertTrue(info['connected'])
        self.assert_rpc_error(-24, 'Error: Node has not been added.', node, 'getaddednodeinfo', self.name(connect))
        # On the list or not, what -connect names is followed.
        node.rpc('addnode', self.name(connect), 'add')
        node.rpc('addnode', self.name(connect), 'remove')
        node.rpc('addnode', self.name(added), 'remove')
        self.assertEqual(node.rpc('getaddednodeinfo'), [])
        added.cut()
        self.wait_gone(node, added)
        self.let_calls_pass(node, connect)
        self.assertEqual(added.accepted, 1)
        self.assert_refused('-addnode=10.0.0.1:x', contains=['-addnode=10.0.0.1:x', 'is no address of a node'])

    def test_arguments_of_addnode(self):
        node = self.daemon(source='-connect=0')
        with self.assertRaises(RpcError) as caught:
            node.rpc('addnode', '10.0.0.1', 'call')
        self.assertEqual(caught.exception.code, -1)
        self.assertTrue(caught.exception.message.startswith('addnode "node" "command" ( v2transport )\n'))
        self.assert_rpc_error(-8, 'Error: v2transport requested but not enabled (see -v2transport)', node, 'addnode',
                              '10.0.0.1', 'add', True)
        with self.assertRaises(RpcError) as caught:
            node.rpc('addnode', '10.0.0.1:x', 'add')
        self.assertEqual(caught.exception.code, -8)
        self.assertIn('is no address of a node', caught.exception.message)


class Connections(PeerRpcTest):
    def test_a_peer_is_disconnected(self):
        _, blocks = self.blocks(5)
        peer, other = self.peer(blocks), self.peer(blocks)
        node = self.follow(peer, other)
        self.wait_connected(node, peer, other)
        self.assertIsNone(node.rpc('disconnectnode', self.name(peer)))
        self.wait_gone(node, peer)
        self.wait_log(node, self.name(peer), 'disconnected', 'disconnectnode')
        self.assert_rpc_error(-29, 'Node not found in connected nodes', node, 'disconnectnode', self.name(peer))
        number = self.row_of(node, other)['id']
        self.assertIsNone(node.rpc('disconnectnode', '', number))
        self.wait_gone(node, other)
        # Both are followed, and called again.
        self.wait_connected(node, peer, other)
        self.assert_rpc_error(-29, 'Node not found in connected nodes', node, 'disconnectnode', '', 99)
        for params in ((self.name(peer), number), ()):
            self.assert_rpc_error(-32602, 'Only one of address and nodeid should be provided.', node, 'disconnectnode', *params)

    def test_pings(self):
        peer = self.peer()
        node = self.follow(peer)
        self.wait_connected(node, peer)
        self.assertIsNone(node.rpc('ping'))
        wait_until(lambda: 'ping' in peer.received, 20, 'a ping')
        row = wait_until(lambda: next((r for r in node.rpc('getpeerinfo') if 'pingtime' in r), None), 20, 'the answer')
        self.assertEqual(list(row), PEER_KEYS)
        self.assertEqual(row['network'], 'not_publicly_routable')
        peer.on_ping = lambda *_: None
        node.rpc('ping')
        wait_until(lambda: 'pingwait' in node.rpc('getpeerinfo')[0], 20, 'a ping without an answer')

    def test_the_network_is_switched_off_and_on(self):
        _, blocks = self.blocks(5)
        peer = self.peer(blocks)
        node = self.follow(peer)
        self.wait_tip(node, blocks[-1])
        self.assertIs(node.rpc('getnetworkinfo')['networkactive'], True)
        self.assertIs(node.rpc('setnetworkactive', False), False)
        self.wait_gone(node, peer)
        self.assertIs(node.rpc('getnetworkinfo')['networkactive'], False)
        self.wait_log(node, 'SetNetworkActive: false')
        accepted = peer.accepted
        other = self.peer()
        node.rpc('addnode', self.name(other), 'add')
        node.rpc('addnode', self.name(other), 'onetry')
        self.assertIs(node.rpc('setnetworkactive', True), True)
        self.wait_connected(node, peer, other)
        self.assertEqual((peer.accepted, other.accepted), (accepted + 1, 1))

    def test_a_start_with_the_network_off(self):
        _, blocks = self.blocks(5)
        peer = self.peer(blocks)
        node = self.follow(peer, args=['-networkactive=0'])
        self.assertIs(node.rpc('getnetworkinfo')['networkactive'], False)
        node.rpc('setnetworkactive', True)
        self.wait_tip(node, blocks[-1])
        self.assertEqual(peer.accepted, 1)


class Bans(PeerRpcTest):
    def test_a_ban_ends_connections_and_outlives_the_process(self):
        _, blocks = self.blocks(5)
        peer = self.peer(blocks)
        node = self.follow(peer)
        self.wait_connected(node, peer)
        self.assertIsNone(node.rpc('setban', '127.0.0.0/8', 'add', 1000))
        self.wait_gone(node, peer)
        self.wait_log(node, self.name(peer), 'its address is banned here')
        listed = [{'address': '127.0.0.0/8', 'ban_created': harness.MOCKTIME, 'banned_until': harness.MOCKTIME + 1000,
                   'ban_duration': 1000, 'time_remaining': 1000}]
        self.assertEqual(node.rpc('listbanned'), listed)
        with open(os.path.join(node.chain_dir, 'banlist.json'), encoding='utf-8') as file:
            self.assertEqual(json.load(file)['banned_nets'],
                             [{'version': 1, 'ban_created': harness.MOCKTIME, 'banned_until': harness.MOCKTIME + 1000,
                               'address': '127.0.0.0/8'}])
        node.stop()
        accepted = peer.accepted
        node.start()
        self.assertEqual(node.rpc('listbanned'), listed)
        self.wait_log(node, self.name(peer), 'its address is banned here')
        self.assertEqual(peer.accepted, accepted)
        # Once it may be called it is.
        self.assertIsNone(node.rpc('clearbanned'))
        self.assertEqual(node.rpc('listbanned'), [])
        self.wait_connected(node, peer)

    def test_a_ban_ends_with_its_time(self):
        node = self.daemon(source='-connect=0')
        node.rpc('setban', '10.0.0.1', 'add', 60)
        node.rpc('setban', '10.0.0.2', 'add', harness.MOCKTIME + 100, True)
        node.rpc('setban', '10.0.0.3', 'add')
        self.assertEqual([(row['address'], row['ban_duration']) for row in node.rpc('listbanned')],
                         [('10.0.0.1/32', 60), ('10.0.0.2/32', 100), ('10.0.0.3/32', 86400)])
        node.rpc('setmocktime', harness.MOCKTIME + 60)
        self.assertEqual([(row['address'], row['time_remaining']) for row in node.rpc('listbanned')],
                         [('10.0.0.2/32', 40), ('10.0.0.3/32', 86340)])

    def test_arguments_of_setban(self):
        node = self.daemon('-bantime=7', source='-connect=0')
        for text in ('localhost', '10.0.0.1/33', '10.0.0.300', '', '10.0.0.1:8333', '::1/129', '[::1', '[::1]5',
                     # What can be no machine's address.
                     '0.0.0.0', '255.255.255.255', '::', '[::]', '::ffff:0.0.0.0', '2001:db8::1', 'fd6b:88c0:8724::1',
                     'fd87:d87e:eb43::1', 'x.onion', f'{ONION}/32'):
            self.assert_rpc_error(-30, 'Error: Invalid IP/Subnet', node, 'setban', text, 'add')
        node.rpc('setban', '10.0.0.77/255.0.0.0', 'add')
        node.rpc('setban', '2001:DB7:0:0::1', 'add')
        node.rpc('setban', '[2001:db8:1::]/48', 'add')  # as a network it is taken
        self.assertEqual([(row['address'], row['ban_duration']) for row in node.rpc('listbanned')],
                         [('10.0.0.0/8', 7), ('2001:db7::1/128', 7), ('2001:db8:1::/48', 7)])
        already = 'Error: IP/Subnet already banned'
        self.assert_rpc_error(-23, already, node, 'setban', '10.0.0.0/8', 'add')
        self.assert_rpc_error(-23, already, node, 'setban', '10.1.2.3', 'add')  # within a network that is
        for text in (ONION.upper().replace('ONION', 'onion'), I2P):
            self.assertIsNone(node.rpc('setban', text, 'add'))
            self.assert_rpc_error(-23, already, node, 'setban', text, 'add')
            self.assertIsNone(node.rpc('setban', text, 'remove'))
        node.rpc('setban', '10.1.2.3/32', 'add')  # as a network of its own it is not
        past = 'Error: Absolute timestamp is in the past'
        self.assert_rpc_error(-8, past, node, 'setban', '10.9.9.9/32', 'add', harness.MOCKTIME - 1, True)
        unknown = 'Error: Unban failed. Requested address/subnet was not previously manually banned.'
        self.assert_rpc_error(-30, unknown, node, 'setban', '10.0.0.0/9', 'remove')
        self.assertIsNone(node.rpc('setban', '10.0.0.0/8', 'remove'))
        with self.assertRaises(RpcError) as caught:
            node.rpc('setban', '10.0.0.1', 'forget')
        self.assertEqual(caught.exception.code, -1)
        self.assertTrue(caught.exception.message.startswith('setban "subnet" "command" ( bantime absolute )\n'))

    def test_every_ipv4_address(self):
        node = self.daemon(source='-connect=0')
        self.assertIsNone(node.rpc('setban', '0.0.0.0/0', 'add', 5))
        self.assertEqual(node.rpc('listbanned')[0]['address'], '0.0.0.0/0')
        self.assert_rpc_error(-23, 'Error: IP/Subnet already banned', node, 'setban', '9.9.9.9', 'add')

    def test_numbers_of_any_size(self):
        node = self.daemon(source='-connect=0')
        node.rpc('setban', '10.0.0.1', 'add', 2**63 - 1)
        node.rpc('setban', '10.0.0.2', 'add', 2**63 - 1, True)
        node.rpc('setban', '10.0.0.3', 'add', -2**63)
        rows = node.rpc('listbanned')
        self.assertEqual([(row['address'], row['banned_until']) for row in rows],
                         [('10.0.0.1/32', 2**52), ('10.0.0.2/32', 2**63 - 1), ('10.0.0.3/32', harness.MOCKTIME + 86400)])
        node.stop()
        path = os.path.join(node.chain_dir, 'banlist.json')
        with open(path, encoding='utf-8') as file:
            self.assertEqual([row['banned_until'] for row in json.load(file)['banned_nets']],
                             [row['banned_until'] for row in rows])
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'banned_nets': [{'version': 1, 'ban_created': -2**63, 'banned_until': 2**63 - 1, 'address': '10.0.0.4/32'},
                                       {'version': 1, 'ban_created': 2**63 - 1, 'banned_until': -2**63, 'address': '10.0.0.5/32'}]},
                      file)
        node.start()
        row, = node.rpc('listbanned')
        self.assertEqual(row, {'address': '10.0.0.4/32', 'ban_created': -2**63, 'banned_until': 2**63 - 1,
                               'ban_duration': 2**63 - 1, 'time_remaining': 2**63 - 1 - harness.MOCKTIME})

    def test_bitcoinds_list_is_kept_whole(self):
        """Of its entries those of networks that are not reached from here, too."""
        node = self.daemon(source='-connect=0')
        node.stop()
        path = os.path.join(node.chain_dir, 'banlist.json')
        until = harness.MOCKTIME + 1000
        entries = [{'version': 1, 'ban_created': 1, 'banned_until': until, 'address': address}
                   for address in ('1.2.3.0/24', 'fc00:1:2::3', ONION, I2P)]
        with open(path, 'w', encoding='utf-8') as file:
            json.dump({'banned_nets': entries}, file)
        node.start()
        self.assertEqual([row['address'] for row in node.rpc('listbanned')], ['1.2.3.0/24', 'fc00:1:2::3/128', ONION, I2P])
        node.rpc('setban', '5.6.7.8', 'add', 500)
        with open(path, encoding='utf-8') as file:
            saved = json.load(file)['banned_nets']
        self.assertEqual([entry for entry in saved if entry in entries], entries)
        self.assertEqual(len(saved), 5)
        self.assertIsNone(node.rpc('setban', ONION, 'remove'))
        self.assertEqual([row['address'] for row in node.rpc('listbanned')],
                         ['1.2.3.0/24', '5.6.7.8/32', 'fc00:1:2::3/128', I2P])

    def test_a_damaged_list_ends_the_start(self):
        """A ban that is silently gone would let in who was to be kept out."""
        node = self.daemon(source='-connect=0')
        node.stop()
        path = os.path.join(node.chain_dir, 'banlist.json')
        with open(path, 'w', encoding='utf-8') as file:
            file.write('{"banned_nets": [')
        node.spawn()
        self.assertEqual(node.wait_exit(), 1)
        self.assertIn(f'{path} is damaged', node.console())
        os.remove(path)
        node.start()


class Blocks(PeerRpcTest):
    def test_a_block_is_asked_of_a_peer(self):
        chain, blocks = self.blocks(10)
        stale = chain.branch(blocks[5], 2)
        peer = self.peer(blocks)
        node = self.follow(peer)
        self.wait_tip(node, blocks[-1])
        number = self.row_of(node, peer)['id']
        self.assert_rpc_error(-1, 'Block header missing', node, 'getblockfrompeer', stale[0].hash, number)
        for block in stale:
            peer.by_digest[block.digest] = block
            node.rpc('submitheader', block.raw[:80].hex())
        self.assert_rpc_error(-1, 'Block not found on disk', node, 'getblock', stale[0].hash, 0)
        self.assert_rpc_error(-1, 'Peer does not exist', node, 'getblockfrompeer', stale[0].hash, number + 1)
        for block in stale:
            self.assertEqual(node.rpc('getblockfrompeer', block.hash, number), {})

        def fetched():
            try:
                return node.rpc('getblock', stale[-1].hash, 0) == stale[-1].hex
            except RpcError:
                return False
        wait_until(fetched, 20, 'the block')
        self.assert_rpc_error(-1, 'Block already downloaded', node, 'getblockfrompeer', stale[-1].hash, number)
        self.assertEqual(node.rpc('getbestblockhash'), blocks[-1].hash)
        self.assertIn({'height': 8, 'hash': stale[-1].hash, 'branchlen': 2, 'status': 'valid-headers'},
                      node.rpc('getchaintips'))

    def test_a_peer_that_does_not_answer_is_left(self):
        chain, _ = self.blocks(0)
        block = chain.mine()
        peer = self.peer([], Stalling)
        node = self.follow(peer, args=['-peertimeout=1'])
        self.wait_connected(node, peer)
        # Less work than the tip: nobody asks for it otherwise.
        for other in chain.branch(regtest.GENESIS, 2):
            node.submit(other)
        node.rpc('submitheader', block.raw[:80].hex())
        number = self.row_of(node, peer)['id']
        self.assertEqual(node.rpc('getblockfrompeer', block.hash, number), {})
        self.assert_rpc_error(-1, 'Already requested from this peer', node, 'getblockfrompeer', block.hash, number)
        self.wait_log(node, self.name(peer), 'stalled: it was asked for')


if __name__ == '__main__':
    main()
