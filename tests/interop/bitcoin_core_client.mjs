// SPDX-License-Identifier: MIT
// Drives blockpubd with the npm package bitcoin-core, a client of bitcoind's JSON-RPC and REST. What it is to find comes
// as JSON on the standard input: { url, username, password, blocks: [{ hash, hex, txids }], next: hex, address }, blocks
// from genesis on. Each check prints a line; the first that fails ends it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import Client from 'bitcoin-core';

const expected = JSON.parse(readFileSync(0, 'utf8'));
const { url, username, password, blocks } = expected;
const tip = blocks.at(-1);
const height = blocks.length - 1;
const unknown = 'ab'.repeat(32);
const connect = (more) => new Client({ host: url, username, password, ...more });
const client = connect();

/** How the client tells of an error answer: with its code as a number, or in its text. */
const fails = (promise, code, message) =>
    assert.rejects(promise, (error) => {
        assert.equal(error.name, 'RpcError');
        assert.equal(error.code, code);
        assert.match(error.message, message);
        return true;
    });

const checks = {
    async 'the chain and the node'() {
        const chain = await client.getBlockchainInfo();
        assert.equal(chain.chain, 'regtest');
        assert.equal(chain.blocks, height);
        assert.equal(chain.bestblockhash, tip.hash);
        const network = await client.getNetworkInfo();
        assert.equal(network.version, 280100);
        assert.match(network.subversion, /^\/Satoshi:28\.1\.0/);
        assert.equal(await client.getBlockCount(), height);
        assert.match(await client.help('getblock'), /^getblock "blockhash"/);
    },

    async 'blocks, by every way and in every form'() {
        for (const block of blocks) {
            assert.equal(await client.getBlock(block.hash, 0), block.hex);
            assert.deepEqual((await client.getBlock(block.hash)).tx, block.txids);
            assert.deepEqual(await client.getBlockByHash(block.hash, { extension: 'bin' }), Buffer.from(block.hex, 'hex'));
            assert.equal(await client.getBlockByHash(block.hash, { extension: 'hex' }), `${block.hex}\n`);
            const summary = await client.getBlockByHash(block.hash, { summary: true });
            assert.deepEqual(summary.tx, block.txids);
            assert.deepEqual(summary, await client.getBlock(block.hash, 1));
            assert.deepEqual(await client.getBlockByHash(block.hash), await client.getBlock(block.hash, 3));
        }
    },

    async 'headers'() {
        const headers = await client.getBlockHeadersByHash(blocks[1].hash, blocks.length);
        assert.deepEqual(headers.map((header) => header.hash), blocks.slice(1).map((block) => block.hash));
        assert.deepEqual(headers[0], await client.getBlockHeader(blocks[1].hash));
        const bytes = await client.getBlockHeadersByHash(blocks[0].hash, 2, { extension: 'bin' });
        assert.equal(bytes.toString('hex'), blocks[0].hex.slice(0, 160) + blocks[1].hex.slice(0, 160));
    },

    async 'transactions and coins'() {
        const txid = tip.txids[0];
        const coin = await client.getTxOut(txid, 0);
        assert.equal(coin.bestblock, tip.hash);
        assert.equal(coin.coinbase, true);
        const { chainHeight, bitmap, utxos } = await client.getUnspentTransactionOutputs([
            { id: txid, index: 0 }, { id: unknown, index: 0 }]);
        assert.equal(chainHeight, height);
        assert.equal(bitmap, '10');
        assert.equal(utxos[0].value, coin.value);
        const transaction = await client.getRawTransaction(txid, true, tip.hash);
        assert.equal(transaction.blockhash, tip.hash);
        assert.deepEqual(await client.verifyTxOutProof(await client.getTxOutProof([txid], tip.hash)), [txid]);
        assert.equal((await client.getTxOutSetInfo()).height, height);
        assert.equal((await client.getMemoryPoolInformation()).size, 0);
        assert.deepEqual(Object.keys(await client.getMemoryPoolContent()), []);
    },

    async 'parameters by name'() {
        const named = connect({ version: '0.20.0' });
        assert.equal(await named.getBlock({ verbosity: 0, blockhash: tip.hash }), tip.hex);
        assert.equal(await named.getBlockHash({ height: 0 }), blocks[0].hash);
    },

    async 'batches'() {
        const results = await client.command([
            ...blocks.map((_, index) => ({ method: 'getblockhash', parameters: [index] })),
            { method: 'getblockhash', parameters: [blocks.length] },
            { method: 'nosuchmethod', parameters: [] }]);
        assert.deepEqual(results.slice(0, -2), blocks.map((block) => block.hash));
        assert.equal(results.at(-2).code, -8);
        assert.equal(results.at(-2).message, 'Block height out of range');
        assert.equal(results.at(-1).code, -32601);
    },

    async 'errors'() {
        await fails(client.getBlock(unknown), -5, /^Block not found$/);
        await fails(client.getBlock('abc'), -8, /^blockhash must be of length 64/);
        await fails(client.command('nosuchmethod'), -32601, /^Method not found$/);
        await fails(client.getBlockByHash(unknown), 404, new RegExp(`^${unknown} not found$`));
        await fails(client.getBlockByHash('abc'), 400, /^Invalid hash: abc$/);
        await fails(connect({ password: 'wrong' }).getBlockCount(), 401, /^Unauthorized$/);
    },

    async 'two hundred calls at once'() {
        const asked = Array.from({ length: 200 }, (_, index) => blocks[index % blocks.length]);
        const got = await Promise.all(asked.map((block) => client.getBlock(block.hash, 0)));
        assert.deepEqual(got, asked.map((block) => block.hex));
    },

    async 'new blocks'() {
        assert.equal(await client.submitBlock(expected.next), null);
        assert.equal(await client.submitBlock(expected.next), 'duplicate');
        const hashes = await client.generateToAddress(2, expected.address);
        assert.equal(hashes.length, 2);
        assert.equal(await client.getBestBlockHash(), hashes[1]);
        assert.equal(await client.getBlockCount(), height + 3);
    },
};

for (const [name, check] of Object.entries(checks)) {
    await check();
    console.log(`ok: ${name}`);
}
console.log(`${Object.keys(checks).length} checks passed`);
