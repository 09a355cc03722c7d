// SPDX-License-Identifier: MIT
#include "unit/notify/notify_fixture.hpp"

#include <doctest/doctest.h>

using namespace blockpub;
using namespace blockpub::test;

TEST_SUITE("notify.publisher") {
    TEST_CASE("block 170 gives Core's frames of every topic, in Core's order") {
        Scene scene;
        const auto publisher = scene.publish();
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        const SharedBytes block = block170();
        const EventRecord record = scene.connect(block);
        scene.disconnect(record);
        const auto messages = scene.messages(subscriber);
        REQUIRE(outline(messages) == Lines{"hashtx 0", "rawtx 0", "hashtx 1", "rawtx 1", "sequence 0",
                                           "hashblock 0", "rawblock 0", "hashtx 2", "rawtx 2", "hashtx 3",
                                           "rawtx 3", "sequence 1"});
        CHECK(hex_of(messages[0].body) == kBlock170Coinbase);
        CHECK(hex_of(messages[2].body) == kBlock170Payment);
        CHECK(hex_of(messages[1].body) + hex_of(messages[3].body) == hex_of(block.bytes().subspan(81)));
        CHECK(hex_of(messages[4].body) == std::string(kBlock170Hash) + "43");
        CHECK(hex_of(messages[5].body) == kBlock170Hash);
        CHECK(hex_of(messages[6].body) == hex_of(block.bytes()));
        CHECK(hex_of(messages[7].body) == kBlock170Coinbase);
        CHECK(hex_of(messages[11].body) == std::string(kBlock170Hash) + "44");
    }

    TEST_CASE("mempool events give hashtx, rawtx and sequence A, and sequence R alone") {
        Scene scene;
        const auto publisher = scene.publish();
        Subscriber subscriber(publisher->status().endpoint);
        scene.join(subscriber);
        const SharedBytes raw = block170().slice(81, 134);
        const Txid txid = *Txid::from_display_hex(kBlock170Coinbase);
        scene.bus.release_mempool(TransactionAddedToMempool{txid, MempoolSequence{0x0102030405060708}, raw});
        scene.bus.release_mempool(TransactionRemovedFromMempool{txid, MempoolSequence{7}});
        const auto messages = scene.messages(subscriber);
        REQUIRE(outline(messages) == Lines{"hashtx 0", "rawtx 0", "sequence 0", "sequence 1"});
        CHECK(hex_of(messages[0].body) == kBlock170Coinbase);
        CHECK(hex_of(messages[1].body) == hex_of(raw.bytes()));
        CHECK(hex_of(messages[2].body) == std::string(kBlock170Coinbase) + "41" + "0807060504030201");
        CHECK(hex_of(messages[3].body) == std::string(kBlock170Coinbase) + "52" + "0700000000000000");
    }
}
