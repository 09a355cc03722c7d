// SPDX-License-Identifier: MIT
#pragma once

#include "base/text_appender.hpp"
#include "primitives/chain_params.hpp"
#include "primitives/output_type.hpp"

#include <blockpub/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace blockpub {

/// Appends a script as bitcoind's disassembly. With `name_hash_types`, as for scriptSigs, a signature ends in
/// the name of its hash type.
/// Source: Bitcoin Core v28 src/core_write.cpp, ScriptToAsmStr.
void append_script_asm(TextAppender& out, ByteSpan script, bool name_hash_types);

/// Appends the descriptor, with checksum, that Core infers for an output script of which it knows no keys.
/// Requires: `type` is the script's.
/// Source: Bitcoin Core v28 src/script/descriptor.cpp, InferDescriptor.
void append_descriptor(TextAppender& out, ByteSpan script, OutputType type, const ChainParams& params);

/// The same of a script that stands within `function(…)`. Requires: its expression needs no address.
void append_wrapped_descriptor(TextAppender& out, std::string_view function, ByteSpan script,
                               const ChainParams& params);

/// Appends output scripts as JSON objects: asm, desc, hex, address where there is one, type.
///
/// Payments of one block often go to the same script: what was written a moment ago is copied.
/// Thread safety: one thread at a time.
/// Ownership: borrows both.
class OutputScriptWriter {
 public:
    OutputScriptWriter(TextAppender& out, const ChainParams& params) : out_(out), params_(params) {}

    void append(ByteSpan script);

 private:
    static constexpr std::size_t kMaxRemembered = 42;  // a witness program's script
    struct Written {
        std::size_t begin = 0;  // in out_
        std::size_t length = 0;
        std::size_t script_size = 0;  // 0: nothing yet
        std::array<std::uint8_t, kMaxRemembered> script;
    };

    Written& place_of(ByteSpan script);

    TextAppender& out_;
    const ChainParams& params_;
    std::array<Written, 64> written_;
};

}  // namespace blockpub
