// SPDX-License-Identifier: MIT
#include "primitives/muhash.hpp"

#include "base/check.hpp"

#include <openssl/bn.h>
#include <openssl/evp.h>

#include <array>

namespace blockpub {
namespace {

constexpr std::size_t kBytes = 384;
constexpr int kNumberBits = 3072;
constexpr BN_ULONG kPrimeBelow = 1'103'717;  // the modulus is 2^3072 less this

using Block = std::array<std::uint8_t, kBytes>;

struct Free {
    void operator()(BIGNUM* number) const { BN_free(number); }
    void operator()(BN_CTX* context) const { BN_CTX_free(context); }
    void operator()(BN_MONT_CTX* context) const { BN_MONT_CTX_free(context); }
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

/// libcrypto fails here only when memory is out.
void must(bool done) {
    BLOCKPUB_CHECK(done, "libcrypto");
}

Owned<BIGNUM> new_number() {
    Owned<BIGNUM> number(BN_new());
    must(number != nullptr);
    return number;
}

Owned<BIGNUM> modulus() {
    auto number = new_number();
    must(BN_set_bit(number.get(), kNumberBits) == 1 && BN_sub_word(number.get(), kPrimeBelow) == 1);
    return number;
}

}  // namespace

/// A product, kept in Montgomery's form: each multiplication divides by 2^3072, which is made good at the
/// end.
class MuHash3072::Product {
 public:
    Product()
        : context_(BN_CTX_new()),
          montgomery_(BN_MONT_CTX_new()),
          cipher_(EVP_CIPHER_CTX_new()),
          modulus_(modulus()),
          value_(new_number()),
          factor_(new_number()) {
        must(context_ && montgomery_ && cipher_);
        must(BN_MONT_CTX_set(montgomery_.get(), modulus_.get(), context_.get()) == 1);
        must(BN_one(value_.get()) == 1);
    }

    void multiply(ByteSpan element) {
        const Block block = expand(element);
        must(BN_lebin2bn(block.data(), kBytes, factor_.get()) != nullptr);
        must(BN_mod_mul_montgomery(value_.get(), value_.get(), factor_.get(), montgomery_.get(),
                                   context_.get()) == 1);
        ++divisions_;
    }

    /// The product itself.
    [[nodiscard]] Owned<BIGNUM> value() const {
        auto divisor = new_number();
        auto power = new_number();
        must(BN_set_word(divisor.get(), kPrimeBelow) == 1);  // 2^3072 modulo the modulus
        must(BN_set_word(power.get(), divisions_) == 1);
        must(BN_mod_exp(divisor.get(), divisor.get(), power.get(), modulus_.get(), context_.get()) == 1);
        must(BN_mod_mul(divisor.get(), divisor.get(), value_.get(), modulus_.get(), context_.get()) == 1);
        return divisor;
    }
    [[nodiscard]] const BIGNUM* prime() const { return modulus_.get(); }
    [[nodiscard]] BN_CTX* context() const { return context_.get(); }

 private:
    [[nodiscard]] Block expand(ByteSpan element) const {
        const Digest256 key = sha256(element);
        constexpr std::array<std::uint8_t, 16> kCounterAndNonce{};
        Block block{};
        int written = 0;
        must(EVP_EncryptInit_ex(cipher_.get(), EVP_chacha20(), nullptr, key.data(),
                                kCounterAndNonce.data()) == 1);
        must(EVP_EncryptUpdate(cipher_.get(), block.data(), &written, block.data(), kBytes) == 1);
        return block;
    }

    Owned<BN_CTX> context_;
    Owned<BN_MONT_CTX> montgomery_;
    Owned<EVP_CIPHER_CTX> cipher_;
    Owned<BIGNUM> modulus_;
    Owned<BIGNUM> value_;
    Owned<BIGNUM> factor_;
    BN_ULONG divisions_ = 0;
};

MuHash3072::MuHash3072() : inserted_(std::make_unique<Product>()), removed_(std::make_unique<Product>()) {}
MuHash3072::MuHash3072(MuHash3072&&) noexcept = default;
MuHash3072& MuHash3072::operator=(MuHash3072&&) noexcept = default;
MuHash3072::~MuHash3072() = default;

void MuHash3072::insert(ByteSpan element) {
    inserted_->multiply(element);
}

void MuHash3072::remove(ByteSpan element) {
    removed_->multiply(element);
}

Digest256 MuHash3072::digest() const {
    const auto quotient = removed_->value();
    must(BN_mod_inverse(quotient.get(), quotient.get(), inserted_->prime(), inserted_->context()) != nullptr);
    must(BN_mod_mul(quotient.get(), quotient.get(), inserted_->value().get(), inserted_->prime(),
                    inserted_->context()) == 1);
    Block bytes;
    must(BN_bn2lebinpad(quotient.get(), bytes.data(), kBytes) == static_cast<int>(kBytes));
    return sha256(bytes);
}

}  // namespace blockpub
