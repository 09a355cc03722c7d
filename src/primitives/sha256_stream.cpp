// SPDX-License-Identifier: MIT
#include "primitives/sha256_stream.hpp"

#include "base/check.hpp"

#include <openssl/evp.h>

namespace blockpub {

struct Sha256Stream::State {
    State() : context(EVP_MD_CTX_new()) {
        BLOCKPUB_CHECK(context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1);
    }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { EVP_MD_CTX_free(context); }

    EVP_MD_CTX* context;
};

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {}
Sha256Stream::Sha256Stream(Sha256Stream&&) noexcept = default;
Sha256Stream& Sha256Stream::operator=(Sha256Stream&&) noexcept = default;
Sha256Stream::~Sha256Stream() = default;

void Sha256Stream::update(ByteSpan bytes) {
    BLOCKPUB_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

Digest256 Sha256Stream::finish() {
    Digest256 digest;
    BLOCKPUB_CHECK(EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) == 1);
    return digest;
}

}  // namespace blockpub
