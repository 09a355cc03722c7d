// SPDX-License-Identifier: MIT
#pragma once

#include <blockpub/bytes.hpp>

#include <string_view>

namespace blockpub {

/// Name of the hash type at the end of what is encoded as an ECDSA signature (strict DER, BIP 66, and a
/// defined hash type): `ALL`, `NONE|ANYONECANPAY`, …; empty for all other bytes.
/// Source: Bitcoin Core v28 CheckSignatureEncoding with SCRIPT_VERIFY_STRICTENC, mapSigHashTypes.
[[nodiscard]] std::string_view signature_hash_name(ByteSpan bytes);

}  // namespace blockpub
