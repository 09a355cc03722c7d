// SPDX-License-Identifier: MIT
#include "primitives/public_key.hpp"

#include "base/check.hpp"

#include <openssl/bn.h>
#include <secp256k1_extrakeys.h>

#include <memory>

namespace blockpub {
namespace {

struct FreeNumber {
    void operator()(BIGNUM* number) const { BN_free(number); }
};
struct FreeContext {
    void operator()(BN_CTX* context) const { BN_CTX_free(context); }
};
using Number = std::unique_ptr<BIGNUM, FreeNumber>;
using Context = std::unique_ptr<BN_CTX, FreeContext>;

Number from_bytes(ByteSpan bytes) {
    Number number(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
    BLOCKPUB_CHECK(number != nullptr);
    return number;
}

// The field's prime, 2^256 - 2^32 - 977.
Number field_prime() {
    BIGNUM* number = nullptr;
    BN_hex2bn(&number, "fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f");
    BLOCKPUB_CHECK(number != nullptr);
    return Number(number);
}

// x^3 + 7: the square of the y that belongs to x.
Number curve_equation(const BIGNUM* x, const BIGNUM* prime, BN_CTX* context) {
    Number out(BN_new());
    BLOCKPUB_CHECK(out != nullptr && BN_mod_sqr(out.get(), x, prime, context) == 1 &&
                   BN_mod_mul(out.get(), out.get(), x, prime, context) == 1 &&
                   BN_add_word(out.get(), 7) == 1 && BN_nnmod(out.get(), out.get(), prime, context) == 1);
    return out;
}

}  // namespace

bool is_hybrid_public_key(ByteSpan key) {
    return key.size() == kUncompressedKeySize && (key.front() == 6 || key.front() == 7);
}

bool has_public_key_size(ByteSpan key) {
    if (key.empty()) return false;
    if (key.front() == 2 || key.front() == 3) return key.size() == kCompressedKeySize;
    return (key.front() == 4 || is_hybrid_public_key(key)) && key.size() == kUncompressedKeySize;
}

bool is_valid_x_only_key(ByteSpan key) {
    // The descriptor of every taproot output asks: libsecp256k1 needs a tenth of the time that BN_kronecker
    // takes.
    secp256k1_xonly_pubkey parsed;
    return key.size() == kXOnlyKeySize &&
           secp256k1_xonly_pubkey_parse(secp256k1_context_static, &parsed, key.data()) == 1;
}

bool is_valid_public_key(ByteSpan key) {
    const bool compressed = key.size() == kCompressedKeySize && (key.front() == 2 || key.front() == 3);
    const bool uncompressed = key.size() == kUncompressedKeySize && key.front() == 4;
    if (!compressed && !uncompressed) return false;
    const Context context(BN_CTX_new());
    BLOCKPUB_CHECK(context != nullptr);
    const Number prime = field_prime();
    const Number x = from_bytes(key.subspan(1, 32));
    if (BN_cmp(x.get(), prime.get()) >= 0) return false;
    const Number square = curve_equation(x.get(), prime.get(), context.get());
    if (compressed) return BN_kronecker(square.get(), prime.get(), context.get()) == 1;
    const Number y = from_bytes(key.subspan(33, 32));
    if (BN_cmp(y.get(), prime.get()) >= 0) return false;
    const Number y_square(BN_new());
    BLOCKPUB_CHECK(y_square != nullptr &&
                   BN_mod_sqr(y_square.get(), y.get(), prime.get(), context.get()) == 1);
    return BN_cmp(square.get(), y_square.get()) == 0;
}

}  // namespace blockpub
