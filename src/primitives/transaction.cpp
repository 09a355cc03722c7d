// SPDX-License-Identifier: MIT
#include "primitives/transaction.hpp"

#include "primitives/compact_size.hpp"
#include "primitives/sha256.hpp"

#include <array>

namespace blockpub {
namespace {

constexpr std::size_t kVersionSize = 4;
constexpr std::size_t kLockTimeSize = 4;
constexpr std::size_t kMarkerAndFlagSize = 2;
constexpr std::uint8_t kWitnessFlag = 1;

// A serialized list: what is counted, and its bytes without the count.
struct List {
    std::size_t count = 0;
    ByteSpan bytes;
};

template <class ReadElement>
List read_list(ByteReader& reader, ByteSpan whole, ReadElement&& read_element) {
    const std::uint64_t count = reader.compact_size();
    const std::size_t begin = reader.position();
    // Every element is at least a byte long, so that the loop ends with the bytes whatever the count claims.
    for (std::uint64_t i = 0; reader.ok() && i < count; ++i) read_element();
    return {static_cast<std::size_t>(count), whole.subspan(begin, reader.position() - begin)};
}

/// One transaction and nothing behind it.
template <class Parse>
Result<TransactionView> only(ByteSpan bytes, Parse&& parse) {
    ByteReader reader(bytes);
    auto view = parse(reader);
    if (view && reader.remaining() != 0) return fail(Errc::corrupt, "bytes behind the transaction");
    return view;
}

}  // namespace

Result<TransactionView> TransactionView::parse(ByteReader& reader) {
    return parse_form(reader, true);
}

Result<TransactionView> TransactionView::parse_form(ByteReader& reader, bool extended) {
    const ByteSpan rest = reader.rest();
    ByteReader own(rest);
    const auto read_input = [&] {
        own.skip(32 + 4);
        own.skip(own.compact_size());
        own.skip(4);
    };
    const auto read_output = [&] {
        own.skip(8);
        own.skip(own.compact_size());
    };

    TransactionView view;
    own.skip(kVersionSize);
    List inputs = read_list(own, rest, read_input);
    List outputs;
    std::uint8_t flags = 0;
    if (own.ok() && extended && inputs.count == 0) {
        // No inputs: what follows is the flag of the extended form (BIP 144). Without a flag there are no
        // outputs either: Core then takes the two zero bytes for both counts.
        flags = own.le<std::uint8_t>();
        if (flags != 0) {
            inputs = read_list(own, rest, read_input);
            outputs = read_list(own, rest, read_output);
        }
    } else {
        outputs = read_list(own, rest, read_output);
    }
    if (own.ok() && (flags & kWitnessFlag) != 0) {
        flags ^= kWitnessFlag;
        const std::size_t begin = own.position();
        bool any_item = false;
        for (std::size_t i = 0; own.ok() && i < inputs.count; ++i) {
            const std::uint64_t items = own.compact_size();
            any_item |= items != 0;
            for (std::uint64_t k = 0; own.ok() && k < items; ++k) own.skip(own.compact_size());
        }
        if (own.ok() && !any_item) return fail(Errc::corrupt, "Superfluous witness record");
        view.witness_size_ = own.position() - begin;
    }
    if (own.ok() && flags != 0) return fail(Errc::corrupt, "Unknown transaction optional data");
    own.skip(kLockTimeSize);
    if (!own.ok())
        return fail(Errc::corrupt, "transaction ends within a field, or has a size that is not canonical");

    view.bytes_ = rest.first(own.position());
    view.inputs_ = inputs.bytes;
    view.outputs_ = outputs.bytes;
    view.input_count_ = inputs.count;
    view.output_count_ = outputs.count;
    reader.skip(own.position());
    return view;
}

Result<TransactionView> TransactionView::parse_whole(ByteSpan bytes) {
    return only(bytes, [](ByteReader& reader) { return parse_form(reader, true); });
}

Result<TransactionView> TransactionView::parse_whole_legacy(ByteSpan bytes) {
    return only(bytes, [](ByteReader& reader) { return parse_form(reader, false); });
}

TransactionView::Shape TransactionView::shape() const {
    return {
        .input_count = static_cast<std::uint32_t>(input_count_),
        .output_count = static_cast<std::uint32_t>(output_count_),
        .outputs_at = output_count_ == 0 ? 0U : static_cast<std::uint32_t>(outputs_.data() - bytes_.data()),
        .witness_size = static_cast<std::uint32_t>(witness_size_)};
}

TransactionView TransactionView::of_shape(ByteSpan bytes, const Shape& shape) {
    TransactionView view;
    view.bytes_ = bytes;
    view.input_count_ = shape.input_count;
    view.output_count_ = shape.output_count;
    view.witness_size_ = shape.witness_size;
    const std::size_t counted = kVersionSize + (shape.witness_size != 0 ? kMarkerAndFlagSize : 0);
    const std::size_t inputs_at = counted + compact_size_length(shape.input_count);
    view.inputs_ = bytes.subspan(inputs_at, bytes.size() - inputs_at);
    view.outputs_ = bytes.subspan(shape.outputs_at);
    return view;
}

std::int32_t TransactionView::version() const {
    return read_le<std::int32_t>(bytes_.data());
}

std::uint32_t TransactionView::lock_time() const {
    return read_le<std::uint32_t>(bytes_.data() + bytes_.size() - kLockTimeSize);
}

std::size_t TransactionView::stripped_size() const {
    return has_witness() ? bytes_.size() - kMarkerAndFlagSize - witness_size_ : bytes_.size();
}

ByteSpan TransactionView::witness() const {
    return bytes_.subspan(bytes_.size() - kLockTimeSize - witness_size_, witness_size_);
}

std::array<ByteSpan, 3> TransactionView::stripped_parts() const {
    if (!has_witness()) return {bytes_, {}, {}};
    const std::size_t begin = kVersionSize + kMarkerAndFlagSize;
    const std::size_t end = bytes_.size() - kLockTimeSize - witness_size_;
    return {bytes_.first(kVersionSize), bytes_.subspan(begin, end - begin), bytes_.last(kLockTimeSize)};
}

Txid TransactionView::txid() const {
    return Txid(sha256d(stripped_parts()));
}

Wtxid TransactionView::wtxid() const {
    return Wtxid(sha256d(bytes_));
}

bool TransactionView::is_coinbase() const {
    if (input_count_ != 1) return false;
    bool null = false;
    for_each_input([&](std::size_t, const TxInput& input) {
        null = input.prevout.is_null();
        return false;
    });
    return null;
}

}  // namespace blockpub
