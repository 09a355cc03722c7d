// SPDX-License-Identifier: MIT
// A bcoin full node on regtest that is told what to do: a JSON object a line on the standard input, { call, ... }, and a
// JSON answer a line. The arguments are its port, another one, and whom it is to call, if anybody.
'use strict';

const readline = require('node:readline');
const bcoin = require('bcoin');

const port = Number(process.argv[2]);
const from = process.argv[4] || '127.0.0.1:1'; // whom it calls
const ring = bcoin.KeyRing.generate();
const address = ring.getAddress();
const blocks = []; // all that were mined, in order: what is in memory does not outlive the node
let node = null;

async function open() {
    node = new bcoin.FullNode({
        network: 'regtest', memory: true, listen: true, host: '127.0.0.1', port, publicHost: '127.0.0.1',
        httpPort: Number(process.argv[3]), workers: false, maxOutbound: 1, only: [from],
    });
    await node.open();
    for (const block of blocks) await node.chain.add(block);
    await node.connect();
    node.startSync();
}

const describe = (block) => ({ hash: block.rhash(), raw: block.toRaw().toString('hex') });

const calls = {
    /** Mines `count` blocks, on the tip or on the block of height `on`. */
    async mine({ count, on }) {
        const mined = [];
        let entry = on === undefined ? node.chain.tip : await node.chain.getEntryByHeight(on);
        for (let i = 0; i < count; i++) {
            const block = await node.miner.mineBlock(entry, address);
            entry = await node.chain.add(block);
            blocks.push(block);
            mined.push(describe(block));
        }
        return mined;
    },
    /** Takes blocks that another one has mined. */
    async take({ raws }) {
        for (const raw of raws) {
            const block = bcoin.Block.fromRaw(Buffer.from(raw, 'hex'));
            await node.chain.add(block);
            blocks.push(block);
        }
        return node.chain.height;
    },
    /** A signed transaction that spends the coinbase of a block, and is announced where `send` says so. */
    async pay({ height, send }) {
        const block = await node.chain.getBlock(await node.chain.getHash(height));
        const payment = new bcoin.MTX();
        payment.addTX(block.txs[0], 0, height);
        payment.addOutput(address, block.txs[0].outputs[0].value - 10000);
        payment.sign(ring);
        const tx = payment.toTX();
        if (send) await node.sendTX(tx);
        return { txid: tx.txid(), raw: tx.toRaw().toString('hex') };
    },
    async mempool() {
        return node.mempool.getSnapshot().map((hash) => Buffer.from(hash, 'hex').reverse().toString('hex'));
    },
    async tip() {
        return { height: node.chain.height, hash: node.chain.tip.rhash() };
    },
    /** The transactions of its mempool. */
    async mempool() {
        return [...node.mempool.map.values()].map((entry) => entry.tx.txid());
    },
    /** Hangs up on everybody. */
    async cut() {
        let count = 0;
        for (let peer = node.pool.peers.head(); peer;) {
            const next = peer.next;
            peer.destroy();
            peer = next;
            count++;
        }
        return count;
    },
    async close() {
        await node.close();
        return true;
    },
    async open() {
        await open();
        return true;
    },
};

async function main() {
    await open();
    console.log(JSON.stringify({ result: 'ready' }));
    for await (const line of readline.createInterface({ input: process.stdin })) {
        const request = JSON.parse(line);
        try {
            console.log(JSON.stringify({ result: await calls[request.call](request) }));
        } catch (error) {
            console.log(JSON.stringify({ error: String(error.stack || error) }));
        }
    }
    process.exit(0);
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
