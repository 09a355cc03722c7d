// SPDX-License-Identifier: MIT
#include "store/tx_table.hpp"

#include "base/endian.hpp"
#include "store_fixture.hpp"

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

using namespace blockpub;

namespace {

template <class Hash>
Hash numbered(std::uint32_t number) {
    std::array<std::uint8_t, 32> bytes{};
    write_le(bytes.data(), number);
    return Hash::from_wire(bytes);
}

struct TxTableFixture {
    test::TemporaryDirectory directory;
    std::unique_ptr<TxTable> table;

    TxTableFixture() { REQUIRE(open()); }
    Result<void> open(std::uint64_t min_free_disk = 0) {
        table.reset();
        auto opened = TxTable::open({.directory = directory.path() / "txindex",
                                     .map_bytes = std::uint64_t{1} << 30,
                                     .min_free_disk = min_free_disk});
        if (!opened) return forward_error(opened);
        table = std::move(*opened);
        return {};
    }
    /// The number of the block that has a transaction; none: 0.
    std::uint32_t block_of(std::uint32_t transaction) const {
        const auto found = table->find(numbered<Txid>(transaction));
        REQUIRE(found);
        return *found ? read_le<std::uint32_t>((*found)->wire_bytes().data()) : 0;
    }
    std::filesystem::path file() const { return directory.path() / "txindex/data.mdb"; }
    /// One row: that block has that transaction.
    Result<void> write(std::uint32_t transaction, std::uint32_t block) {
        std::vector rows{std::pair(numbered<Txid>(transaction), numbered<BlockHash>(block))};
        return table->write(rows, Tip{.hash = numbered<BlockHash>(block), .height = {block}});
    }
};

}  // namespace

TEST_SUITE("store.tx_table") {
    TEST_CASE("what is written is found, also after it was opened again") {
        TxTableFixture f;
        CHECK_FALSE(f.table->best()->has_value());
        REQUIRE(f.write(1, 10));
        REQUIRE(f.write(2, 11));
        REQUIRE(f.write(1, 12));
        for (int i = 0; i < 2; ++i) {
            CHECK(f.block_of(1) == 12);
            CHECK(f.block_of(2) == 11);
            CHECK(f.block_of(3) == 0);
            CHECK((*f.table->best())->height.value == 12);
            REQUIRE(f.open());
        }
    }

    TEST_CASE("a file that is cut short is refused by its name, with what to do") {
        TxTableFixture f;
        for (std::uint32_t i = 0; i < 200; ++i) REQUIRE(f.write(i, i));
        f.table.reset();
        std::filesystem::resize_file(f.file(), 8192);
        const auto refused = f.open();
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == Errc::corrupt);
        CHECK(refused.error().context.find(f.file().native() + " is cut short") != std::string::npos);
        CHECK(refused.error().context.ends_with("remove the directory to have it made again"));
    }

    TEST_CASE("nothing is written where too little room would be left") {
        TxTableFixture f;
        REQUIRE(f.open(std::uint64_t{1} << 60));
        const auto refused = f.write(1, 1);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == Errc::disk_full);
        CHECK(f.block_of(1) == 0);
    }

    TEST_CASE("reading goes on where LMDB is left in MDB_PANIC") {
        TxTableFixture f;
        REQUIRE(f.write(1, 10));
        test::refuse_meta_pages(f.file());
        CHECK(f.write(2, 11).error().code == Errc::outcome_unknown);
        for (int i = 0; i < 2; ++i) CHECK(f.block_of(1) == 10);
    }
}
