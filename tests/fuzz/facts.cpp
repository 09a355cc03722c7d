// SPDX-License-Identifier: MIT
#include "chain/facts.hpp"

#include "sealed_record.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    blockpub::fuzz::check_sealed_record({bytes, size}, blockpub::decode_facts, blockpub::encode_facts);
    return 0;
}
