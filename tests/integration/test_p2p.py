# SPDX-License-Identifier: MIT
"""Following nodes over their P2P port: from an empty directory to the tip and on, whatever the nodes do."""
import fake_peer
import harness
import regtest
from fake_peer import FakePeer
from harness import IntegrationTest, main, wait_until


class P2pTest(IntegrationTest):
    def peer(self, blocks=(), kind=FakePeer, **kwargs):
        peer = kind(blocks, **kwargs).start()
        self.addCleanup(peer.stop)
        return peer

    def follow(self, *peers, args=(), **kwargs):
        return self.daemon(*[f'-connect=127.0.0.1:{p.port}' for p in peers], *args, source=None, **kwargs)

    def blocks(self, count):
        chain = self.chain()
        return chain, [chain.mine() for _ in range(count)]

    def wait_tip(self, node, block, limit=30):
        wait_until(lambda: node.rpc('getbestblockhash') == block.hash, limit, f'the tip at height {block.height}')

    def wait_log(self, node, *texts, limit=30):
        def line():
            return next((row for row in node.console().splitlines() if all(text in row for text in texts)), None)
        return wait_until(line, limit, f'a line with {texts}')


class Following(P2pTest):
    def test_from_nothing_to_the_tip_and_on(self):
        """Downloads a chain, follows what is announced by headers and by inv, and a reorganization; all of it is
        announced as if it had been submitted."""
        chain, blocks = self.blocks(300)
        peer = self.peer(blocks)
        node = self.follow(peer)
        self.wait_tip(node, blocks[-1])
        stream = self.subscriber(node.endpoint)
        while True:  # A subscription is in force when something comes through it.
            block = chain.mine()
            peer.announce(block)
            try:
                stream.wait_for(lambda frames: harness.ends_block(frames, block), 1)
                break
            except AssertionError:
                self.wait_tip(node, block)
        stream.take()

        live = [chain.mine() for _ in range(3)]
        peer.announce(live[0])
        self.wait_tip(node, live[0])
        peer.announce_by_inv(live[1])
        self.wait_tip(node, live[1])
        peer.announce(live[2])
        got = stream.wait_for(lambda frames: harness.ends_block(frames, live[2]))
        self.assert_frames(got, [f for b in live for f in regtest.connect_frames(b) + regtest.tip_frames(b)])
        stream.take()

        branch = chain.branch(live[0], 3)
        peer.announce(branch[-1], branch)
        got = stream.wait_for(lambda frames: harness.ends_block(frames, branch[-1]))
        self.assert_frames(got, regtest.disconnect_frames(live[2]) + regtest.disconnect_frames(live[1])
                           + [f for b in branch for f in regtest.connect_frames(b)] + regtest.tip_frames(branch[-1]))

    def test_what_the_rpc_says_of_peers(self):
        _, blocks = self.blocks(30)
        peer = self.peer(blocks)
        node = self.follow(peer)
        self.wait_tip(node, blocks[-1])
        row, = wait_until(lambda: [r for r in node.rpc('getpeerinfo') if r['synced_blocks'] == 30], 10, 'the row')
        self.assertEqual(row['addr'], f'127.0.0.1:{peer.port}')
        self.assertEqual(row['subver'], '/fake:1.0/?')  # what would spoil a terminal is left out
        self.assertEqual((row['version'], row['startingheight'], row['synced_headers']), (70016, 30, 30))
        self.assertEqual(row['servicesnames'], ['NETWORK', 'WITNESS'])
        self.assertEqual((row['inflight'], row['inbound'], row['connection_type']), ([], False, 'manual'))
        self.assertGreater(row['bytesrecv_per_msg']['block'], sum(len(b.raw) for b in blocks))
        self.assertEqual(sum(row['bytesrecv_per_msg'].values()), row['bytesrecv'])
        self.assertEqual(sum(row['bytessent_per_msg'].values()), row['bytessent'])
        self.assertEqual(node.rpc('getconnectioncount'), 1)
        self.assertEqual(node.rpc('getnetworkinfo')['connections_out'], 1)
        self.assertGreaterEqual(node.rpc('getnettotals')['totalbytesrecv'], row['bytesrecv'])
        peer.stop()
        wait_until(lambda: node.rpc('getconnectioncount') == 0, 10, 'no connection')

    def test_initial_download_is_silent_about_tips(self):
        """A chain that is older than a day: no hashblock until a block is younger."""
        _, old = self.blocks(20)
        late = harness.MOCKTIME + 10 * 24 * 3600
        peer = self.peer(old)
        node = self.follow(peer, mocktime=late)
        self.wait_tip(node, old[-1])
        stream = self.subscriber(node.endpoint)
        self.assertTrue(node.rpc('getblockchaininfo')['initialblockdownload'])
        chain = regtest.Chain(late - 100, old[-1])
        last = [regtest.make_block(old[-1], harness.MOCKTIME, tag=b'old')]
        while True:
            peer.announce(last[-1])
            self.wait_tip(node, last[-1])
            try:
                stream.wait_for(lambda frames: frames, 1)
                break
            except AssertionError:
                last.append(regtest.make_block(last[-1], harness.MOCKTIME + len(last), tag=b'old'))
        chain.tip = last[-1]
        fresh = chain.mine()
        peer.announce(fresh)
        got = stream.wait_for(lambda frames: harness.ends_block(frames, fresh))
        tips = [frame for frame in got if frame[0] in (b'hashblock', b'rawblock')]
        self.assert_frames(tips, regtest.tip_frames(fresh))
        self.assertFalse(node.rpc('getblockchaininfo')['initialblockdownload'])

    def test_restarts_of_the_node_and_cuts_heal(self):
        chain, blocks = self.blocks(10)
        peer = self.peer(blocks)
        node = self.follow(peer, args=['-peertimeout=1'])
        self.wait_tip(node, blocks[-1])
        peer.stop()
        missed = [chain.mine() for _ in range(3)]
        again = self.peer([*blocks, *missed], port=peer.port)
        self.wait_tip(node, missed[-1])
        # A cut that nobody tells of: the connection stands, and nothing comes through any more.
        again.on_message = lambda *_: None
        self.wait_log(node, 'no answer to a ping within')
        del again.on_message
        again.set_tip(chain.mine())
        self.wait_tip(node, chain.tip)

    def test_a_restart_goes_on_where_it_was(self):
        chain, blocks = self.blocks(50)
        peer = self.peer(blocks)
        node = self.follow(peer)
        self.wait_tip(node, blocks[-1])
        node.stop()
        peer.set_tip(chain.mine())
        peer.received.clear()
        node.start()
        self.wait_tip(node, chain.tip)
        self.assertEqual(peer.received.count('getdata'), 1)

    def test_peers_that_disagree(self):
        """The chain with more work wins; what the other has is there, too, and wins when it grows."""
        chain, common = self.blocks(20)
        less, more = chain.branch(common[-1], 2), chain.branch(common[-1], 4)
        one, other = self.peer([*common, *less]), self.peer([*common, *more])
        node = self.follow(one, other)
        self.wait_tip(node, more[-1])
        grown = chain.branch(less[-1], 3)
        one.announce(grown[-1], grown)
        self.wait_tip(node, grown[-1])

    def test_nothing_is_called_without_being_told(self):
        peer = self.peer()
        node = self.daemon(source='-connect=0')
        self.assertEqual(node.rpc('getconnectioncount'), 0)
        self.assertIn('No source of blocks was given', node.console())
        self.assertEqual(peer.accepted, 0)


class Hostile(P2pTest):
    def test_each_fault_has_a_reason_and_the_honest_peer_is_followed(self):
        chain, blocks = self.blocks(200)
        hostile = [self.peer(blocks, kind) for kind in fake_peer.HOSTILE]
        honest = FakePeer(blocks, port=harness.free_port())
        node = self.follow(*hostile, honest, args=['-peertimeout=2'])
        self.wait_log(node, f'127.0.0.1:{honest.port}', 'connection refused: no node listens there')
        for peer in hostile:
            with self.subTest(kind=type(peer).__name__):
                self.wait_log(node, f'Peer 127.0.0.1:{peer.port}: ', peer.reason, 'Trying again in')
        # As of here whoever keeps blocks back has had its chance; those come from the honest one.
        honest.start()
        self.addCleanup(honest.stop)
        self.wait_tip(node, blocks[-1], 60)
        honest.announce(chain.mine())
        self.wait_tip(node, chain.tip)
        self.assertLess(node.resident_bytes(), 300 << 20)
        # They were called again, later and later.
        for peer in hostile:
            with self.subTest(kind=type(peer).__name__):
                self.assertLessEqual(peer.accepted, 12)

    def test_headers_without_the_work_that_a_chain_must_have(self):
        """They are looked at and not kept; a chain with the work is kept, although it is as long."""
        chain, blocks = self.blocks(30)
        flood = self.peer(30_000, fake_peer.EndlessHeaders)
        node = self.follow(flood, args=['-minimumchainwork=f0000'])
        self.wait_log(node, f'127.0.0.1:{flood.port}', 'its chain, of height 30000, has less work', limit=60)
        self.assertEqual(node.rpc('getblockchaininfo')['headers'], 0)
        node.stop()
        # Enough for the first two thousand and some: they are asked for once more, and taken.
        node.args.remove('-minimumchainwork=f0000')
        node.args.append('-minimumchainwork=1500')
        flood.length = 5000
        node.start()
        wait_until(lambda: node.rpc('getblockchaininfo')['headers'] == 5000, 60, 'the headers')

    def test_headers_that_run_ahead_of_blocks(self):
        """Where headers cost nothing they are taken as far as blocks follow; the peer has none, and is left."""
        chain, blocks = self.blocks(10)
        flood = self.peer(60_000, fake_peer.EndlessHeaders)
        honest = self.peer(blocks)
        node = self.follow(flood, honest, args=['-peertimeout=3'])
        self.wait_tip(node, blocks[-1])
        self.wait_log(node, f'127.0.0.1:{flood.port}', 'stalled: it was asked for', limit=60)
        self.assertLessEqual(node.rpc('getblockchaininfo')['headers'], 52_000)
        honest.announce(chain.mine())
        self.wait_tip(node, chain.tip)


class FirstErrors(P2pTest):
    """What newcomers get wrong: one line each, with the remedy."""

    def test_the_rpc_port(self):
        other = self.daemon()
        node = self.daemon(source=f'-connect=127.0.0.1:{other.rpc_port}')
        line = self.wait_log(node, f'Peer 127.0.0.1:{other.rpc_port}: ')
        self.assertIn('RPC', line)

    def test_a_node_of_another_chain(self):
        for kind, remedy in ((fake_peer.OtherChain, 'give -chain=main, or another -connect'),
                             (fake_peer.SilentOtherChain, 'a node of another chain than regtest')):
            peer = self.peer(kind=kind)
            node = self.follow(peer)
            self.assertIn(remedy, self.wait_log(node, f'Peer 127.0.0.1:{peer.port}: '))

    def test_a_node_that_does_not_listen(self):
        port = harness.free_port()
        node = self.daemon(source=f'-connect=127.0.0.1:{port}')
        line = self.wait_log(node, f'Peer 127.0.0.1:{port}: ')
        self.assertIn('connection refused: no node listens there; is it running, and with -listen=1?', line)
        # One line, however often it is tried.
        peer = FakePeer(port=port).start()
        self.addCleanup(peer.stop)
        wait_until(lambda: node.rpc('getconnectioncount') == 1, 20, 'the connection')
        lines = [row for row in node.console().splitlines() if 'connection refused' in row]
        self.assertEqual(len(lines), 1, lines)

    def test_a_name_that_is_not_found(self):
        node = self.daemon(source='-connect=no-such-host.invalid')
        self.wait_log(node, 'Peer no-such-host.invalid:18444: ', 'the host is not found')


class Lag(P2pTest):
    def test_a_lag_shows(self):
        _, blocks = self.blocks(30)
        peer = self.peer(blocks, fake_peer.Stalling)
        node = self.follow(peer)

        def following():
            return node.rpc('getblockpubinfo')['following']
        wait_until(lambda: following()['seconds_behind'] >= 1, 20, 'the lag')
        about = following()
        self.assertEqual((about['nodes'], about['connected'], about['best_height'], about['blocks_behind']), (1, 1, 30, 30))
        self.assertGreater(about['blocks_in_flight'], 0)
        chain = node.rpc('getblockchaininfo')
        self.assertEqual((chain['headers'], chain['blocks']), (30, 0))
        row, = node.rpc('getpeerinfo')
        self.assertEqual((row['synced_headers'], row['synced_blocks']), (30, 0))
        self.assertEqual(row['inflight'], list(range(1, len(row['inflight']) + 1)))
        self.wait_log(node, 'Following: height 0 of 30 (0.0%)')
        peer.stop()
        honest = self.peer(blocks, port=peer.port)
        self.wait_tip(node, blocks[-1])
        about = wait_until(lambda: (a := following())['blocks_behind'] == 0 and a, 20, 'no lag')
        self.assertEqual((about['seconds_behind'], about['blocks_received'], about['sessions']), (0, 30, 2))
        honest.stop()
        about = wait_until(lambda: (a := following())['seconds_alone'] >= 1 and a, 20, 'no node')
        self.assertEqual((about['nodes'], about['connected'], about['faulty']), (1, 0, 0))
        self.assertGreaterEqual(about['lost'], 2)


if __name__ == '__main__':
    main()
