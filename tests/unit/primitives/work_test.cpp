// SPDX-License-Identifier: MIT
#include "primitives/work.hpp"

#include "primitives/chain_params.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace blockpub;

TEST_SUITE_BEGIN("primitives.work");

namespace {

Uint256 number(std::string_view hex) {
    return Uint256::from_hex(hex);
}

// Of any size up to 256 bits, so that small and large operands meet.
Uint256 random_number(std::mt19937_64& random) {
    std::array<std::uint8_t, 32> bytes;
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    return Uint256::from_big_endian(bytes) >> static_cast<unsigned>(random() % 256);
}

const Uint256 kMax = ~Uint256();

}  // namespace

TEST_CASE("numbers keep their value through digits, bytes and hashes") {
    const char* digits = "0123456789abcdeffedcba98765432100011223344556677ffeeddccbbaa9988";
    CHECK(number(digits).hex() == digits);
    CHECK(Uint256::from_big_endian(number(digits).big_endian()) == number(digits));
    CHECK(Uint256::from_hash(*BlockHash::from_display_hex(digits)) == number(digits));
    CHECK(number("FF").hex() == "00000000000000000000000000000000000000000000000000000000000000ff");
    CHECK(number("") == Uint256());
    CHECK(number("f") == Uint256(15));
}

TEST_CASE("bits is the place of the highest bit") {
    CHECK(Uint256().bits() == 0);
    for (unsigned shift = 0; shift < 256; ++shift) CHECK((Uint256(1) << shift).bits() == shift + 1);
    CHECK((Uint256(1) << 256).is_zero());
    CHECK((kMax >> 256).is_zero());
}

TEST_CASE("sums, differences and products wrap around at 256 bits") {
    CHECK((kMax + Uint256(1)).is_zero());
    CHECK(Uint256() - Uint256(1) == kMax);
    CHECK(kMax * 2 == kMax - Uint256(1));
    CHECK(number("ffffffffffffffff") + Uint256(1) == number("10000000000000000"));
    CHECK(number("ffffffffffffffffffffffffffffffff") * 0xffffffff ==
          number("fffffffeffffffffffffffffffffffff00000001"));
}

TEST_CASE("quotients of known numbers") {
    struct Case {
        const char* name;
        const char* dividend;
        const char* divisor;
        const char* quotient;
    };
    // Made with Python's integers.
    static constexpr Case kCases[] = {
        {"smaller by larger", "1", "2", "0"},
        {"equal", "deadbeefdeadbeefdeadbeef", "deadbeefdeadbeefdeadbeef", "1"},
        {"by one", "123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0", "1",
         "123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0"},
        {"all bits by three", "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", "3",
         "5555555555555555555555555555555555555555555555555555555555555555"},
        {"across limbs", "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210",
         "10000000000000001", "fedcba98765432100000000000000000fedcba9876543210"},
        {"odd sizes", "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210",
         "123456789abcdef0fedcba98765", "e0000000000000c790000000003450f5a00000"},
    };
    for (const Case& c : kCases) {
        SUBCASE(c.name) {
            CHECK(number(c.dividend) / number(c.divisor) == number(c.quotient));
        }
    }
}

TEST_CASE("quotient and remainder give back what was divided") {
    const std::uint64_t seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 3000; ++round) {
        const Uint256 dividend = random_number(random);
        const auto divisor = static_cast<std::uint32_t>(random() >> (32 + random() % 31)) | 1;
        const Uint256 quotient = dividend / Uint256(divisor);
        const Uint256 remainder = dividend - quotient * divisor;
        CHECK(remainder < Uint256(divisor));
        CHECK(quotient * divisor + remainder == dividend);
    }
}

TEST_CASE("division by any number agrees with shifting and adding") {
    const std::uint64_t seed = std::random_device{}();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 500; ++round) {
        const Uint256 divisor = random_number(random) + Uint256(1);
        // A quotient small enough that the product fits.
        const auto quotient = divisor.bits() >= 224
                                  ? static_cast<std::uint32_t>(random() % (1ull << (256 - divisor.bits())))
                                  : static_cast<std::uint32_t>(random());
        const Uint256 product = divisor * quotient;
        CHECK(product / divisor == Uint256(quotient));
        const Uint256 below = product + (divisor - Uint256(1));
        if (below >= product) CHECK(below / divisor == Uint256(quotient));
    }
}

TEST_CASE("shifts agree with doubling and halving") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
        Uint256 left = random_number(random);
        Uint256 right = left;
        const Uint256 start = left;
        for (unsigned shift = 0; shift <= 256; ++shift) {
            REQUIRE((start << shift) == left);
            REQUIRE((start >> shift) == right);
            left = left + left;
            right = right / Uint256(2);
        }
    }
}

TEST_CASE("compact targets expand as Core's do") {
    struct Case {
        const char* name;
        std::uint32_t bits;
        const char* target;  // null: negative or too large
        std::uint32_t encoded;
    };
    static constexpr Case kCases[] = {
        {"zero", 0x00000000, "0", 0},
        {"mantissa shifted away, size 0", 0x00123456, "0", 0},
        {"mantissa shifted away, size 1", 0x01003456, "0", 0},
        {"mantissa shifted away, size 2", 0x02000056, "0", 0},
        {"no mantissa, size 3", 0x03000000, "0", 0},
        {"no mantissa, size 4", 0x04000000, "0", 0},
        {"sign without a number, size 0", 0x00923456, "0", 0},
        {"sign without a number, size 1", 0x01803456, "0", 0},
        {"sign without a number, size 4", 0x04800000, "0", 0},
        {"one byte", 0x01123456, "12", 0x01120000},
        {"one byte with its highest bit", 0x02008000, "80", 0x02008000},
        {"two bytes", 0x02123456, "1234", 0x02123400},
        {"three bytes", 0x03123456, "123456", 0x03123456},
        {"four bytes", 0x04123456, "12345600", 0x04123456},
        {"negative, one byte", 0x01fedcba, nullptr, 0},
        {"negative, four bytes", 0x04923456, nullptr, 0},
        {"five bytes", 0x05009234, "92340000", 0x05009234},
        {"32 bytes", 0x20123456, "1234560000000000000000000000000000000000000000000000000000000000",
         0x20123456},
        {"regtest", 0x207fffff, "7fffff0000000000000000000000000000000000000000000000000000000000",
         0x207fffff},
        {"mainnet's first", 0x1d00ffff, "ffff0000000000000000000000000000000000000000000000000000",
         0x1d00ffff},
        {"33 bytes with a small mantissa", 0x2100ffff,
         "ffff000000000000000000000000000000000000000000000000000000000000", 0x2100ffff},
        {"33 bytes with a large mantissa", 0x21123456, nullptr, 0},
        {"34 bytes with a mantissa of one byte", 0x220000ff,
         "ff00000000000000000000000000000000000000000000000000000000000000", 0x2100ff00},
        {"34 bytes with a mantissa of two bytes", 0x22000100, nullptr, 0},
        {"35 bytes", 0x23000001, nullptr, 0},
        {"255 bytes", 0xff123456, nullptr, 0},
        {"255 bytes without a mantissa", 0xff000000, "0", 0},
    };
    for (const Case& c : kCases) {
        SUBCASE(c.name) {
            const auto target = decode_compact(c.bits);
            REQUIRE(target.has_value() == (c.target != nullptr));
            if (!target) return;
            CHECK(*target == number(c.target));
            CHECK(encode_compact(*target) == c.encoded);
        }
    }
}

TEST_CASE("encoding a target and expanding it again loses only what does not fit the mantissa") {
    std::mt19937_64 random(11);
    for (int round = 0; round < 2000; ++round) {
        const Uint256 target = random_number(random);
        const auto expanded = decode_compact(encode_compact(target));
        REQUIRE(expanded);
        CHECK(*expanded <= target);
        CHECK(encode_compact(*expanded) == encode_compact(target));
        if (target.bits() > 24) CHECK(((target - *expanded) >> (target.bits() - 15)).is_zero());
    }
}

TEST_CASE("a block's work is what its target stands for") {
    CHECK(block_work(0x1d00ffff) == number("100010001"));
    CHECK(block_work(0x207fffff) == Uint256(2));
    CHECK(block_work(0x01010000) == (Uint256(1) << 255));
    CHECK(block_work(0x00000000).is_zero());
    CHECK(block_work(0x04923456).is_zero());
    CHECK(block_work(0xff123456).is_zero());
    CHECK(block_work(0x2100ffff) == Uint256(1));
}

TEST_CASE("a hash meets a target that is allowed and not below it") {
    const Uint256 limit = chain_params(ChainKind::main).pow_limit;
    const auto hash = [](std::string_view hex) {
        return *BlockHash::from_display_hex(std::string(64 - hex.size(), '0') + std::string(hex));
    };
    const BlockHash at_target = hash("ffff0000000000000000000000000000000000000000000000000000");
    const BlockHash above = hash("ffff0000000000000000000000000000000000000000000000000001");
    CHECK(meets_proof_of_work(at_target, 0x1d00ffff, limit));
    CHECK_FALSE(meets_proof_of_work(above, 0x1d00ffff, limit));
    CHECK(meets_proof_of_work(hash("1"), 0x03000001, limit));
    CHECK_FALSE_MESSAGE(meets_proof_of_work(hash("0"), 0x1d010000, limit), "beyond the chain's limit");
    CHECK_FALSE_MESSAGE(meets_proof_of_work(hash("0"), 0x00000000, limit), "zero");
    CHECK_FALSE_MESSAGE(meets_proof_of_work(hash("0"), 0x1d80ffff, limit), "negative");
    CHECK_FALSE_MESSAGE(meets_proof_of_work(hash("0"), 0xff7fffff, limit), "overflow");
}

// Doubles as Python gives them for 0xffff / mantissa * 256^(29 - size) in Core's order of operations.
TEST_CASE("difficulty is Core's double to the last bit") {
    CHECK(difficulty(0x1d00ffff) == 1.0);
    CHECK(difficulty(0x207fffff) == 4.6565423739069247e-10);
    CHECK(difficulty(0x1b0404cb) == 16307.420938523983);
    CHECK(difficulty(0x1c05a3f4) == 45.38582234101263);
    CHECK(difficulty(0x1f111111) == 8.94056082500228e-07);
    CHECK(difficulty(0x1ef88f6f) == 1.571526342774647e-05);
    CHECK(difficulty(0x1df88f6f) == 0.004023107437503096);
    CHECK(difficulty(0x1cf88f6f) == 1.0299155040007926);
    CHECK(difficulty(0x17053894) == 53911173001054.586);
    CHECK(difficulty(0x02000001) == 6.901641034498895e+69);
    CHECK(difficulty(0x22222222) == 2.6644947603351712e-14);
    CHECK(std::isinf(difficulty(0x1d000000)));
}

TEST_CASE("a number as a double is the nearest sum of its words") {
    CHECK(Uint256().to_double() == 0.0);
    CHECK(Uint256(12345).to_double() == 12345.0);
    CHECK((Uint256(1) << 255).to_double() == std::ldexp(1.0, 255));
    CHECK(kMax.to_double() == std::ldexp(1.0, 256));
    CHECK(number("100010001").to_double() == 4295032833.0);
}
