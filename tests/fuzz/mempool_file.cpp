// SPDX-License-Identifier: MIT
#include "chain/mempool_file.hpp"

#include "base/check.hpp"

using namespace blockpub;

/// What is read as a mempool's file, and written again, is the same when it is read once more.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto contents = MempoolFile::decode({bytes, size});
    if (!contents) return 0;
    const auto again = MempoolFile::decode(MempoolFile::encode(*contents, {7, 6, 5, 4, 3, 2, 1, 0}));
    BLOCKPUB_CHECK(again.has_value());
    BLOCKPUB_CHECK(again->items.size() == contents->items.size());
    for (std::size_t i = 0; i < contents->items.size(); ++i) {
        const auto& item = contents->items[i];
        BLOCKPUB_CHECK(again->items[i].transaction->wtxid() == item.transaction->wtxid());
        BLOCKPUB_CHECK(again->items[i].time == item.time && again->items[i].fee_delta == item.fee_delta);
    }
    BLOCKPUB_CHECK(again->fee_deltas == contents->fee_deltas);
    BLOCKPUB_CHECK(again->unbroadcast == contents->unbroadcast);
    return 0;
}
