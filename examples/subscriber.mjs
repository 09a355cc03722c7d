#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// Prints every notification of one endpoint, one line each, and what was missed.
//
//     npm install && node subscriber.mjs tcp://127.0.0.1:28332 [count]
//
// With a count it ends after so many messages, and with status 1 when none came for a minute.

import { Subscriber } from 'zeromq';

const [endpoint, count] = process.argv.slice(2);
if (!endpoint) {
    console.error('usage: subscriber.mjs ENDPOINT [COUNT]');
    process.exit(2);
}

// Hash bodies are in display order, the one of RPC: never turn them round.
function readable(topic, body) {
    if (topic.startsWith('raw')) return `${body.length} bytes, begins ${body.toString('hex', 0, 8)}`;
    // C and D are a block's connect and disconnect, A and R a transaction's way into the mempool and out of it.
    if (topic === 'sequence') return `${body.toString('hex', 0, 32)} ${String.fromCharCode(body[32])}`;
    return body.toString('hex');
}

const socket = new Subscriber({
    receiveHighWaterMark: 0, // a queue that is full would drop messages on our side
    receiveTimeout: count ? 60000 : -1,
    tcpKeepalive: 1,
});
socket.subscribe('');
socket.connect(endpoint);

const expected = new Map(); // topic -> the counter that its next message must have
let received = 0;
try {
    for await (const [topicFrame, body, counterFrame] of socket) {
        const topic = topicFrame.toString();
        const counter = counterFrame.readUInt32LE();
        const missed = (counter - (expected.get(topic) ?? counter)) >>> 0;
        if (missed > 0) console.log(`${topic}: missed ${missed} before ${counter}`);
        expected.set(topic, (counter + 1) >>> 0);
        console.log(topic.padEnd(9), String(counter).padStart(6), readable(topic, body));
        if (++received === Number(count)) break;
    }
} catch (error) {
    console.error(`${endpoint}: ${error.message}`);
    process.exitCode = 1;
}
socket.close();
