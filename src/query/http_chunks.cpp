// SPDX-License-Identifier: MIT
#include "query/http_chunks.hpp"

#include "base/ascii.hpp"

#include <algorithm>

namespace blockpub {

ChunkDecoder::State ChunkDecoder::begin_data() {
    if (digits_ == 0) return State::malformed;
    line_ = digits_ = 0;
    carriage_return_ = false;
    if (left_ == 0) {
        part_ = Part::trailer;
        return State::more;
    }
    if (left_ > max_body_ - size_) return State::too_large;
    part_ = Part::data;
    return State::more;
}

ChunkDecoder::State ChunkDecoder::take_size(char c) {
    if (++line_ > kMaxLine) return State::malformed;
    if (c == '\n') return begin_data();
    if (carriage_return_) return State::malformed;
    if (c == '\r') {
        carriage_return_ = true;
        return State::more;
    }
    if (part_ == Part::extension) return State::more;
    if (const int digit = hex_digit(c); digit >= 0) {
        if (++digits_ > 15) return State::too_large;
        left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
        return State::more;
    }
    if (c != ';' && c != ' ' && c != '\t') return State::malformed;
    part_ = Part::extension;
    return State::more;
}

ChunkDecoder::State ChunkDecoder::take_trailer(char c) {
    if (++trailers_ > kMaxTrailers) return State::malformed;
    if (c == '\n') {
        if (line_ == 0) {
            part_ = Part::finished;
            return State::done;
        }
        line_ = 0;
        carriage_return_ = false;
        return State::more;
    }
    if (carriage_return_) return State::malformed;
    if (c == '\r') {
        carriage_return_ = true;
    } else {
        ++line_;
    }
    return State::more;
}

ChunkDecoder::State ChunkDecoder::feed(std::string_view& input, std::string* body) {
    while (state_ == State::more && !input.empty()) {
        if (part_ == Part::data) {
            const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size()));
            if (body != nullptr) body->append(input.substr(0, size));
            input.remove_prefix(size);
            size_ += size;
            left_ -= size;
            if (left_ == 0) part_ = Part::data_end;
            continue;
        }
        const char c = input.front();
        input.remove_prefix(1);
        if (part_ == Part::data_end) {
            if (c == '\n') {
                part_ = Part::size;
                carriage_return_ = false;
            } else if (c == '\r' && !carriage_return_) {
                carriage_return_ = true;
            } else {
                state_ = State::malformed;
            }
        } else {
            state_ = part_ == Part::trailer ? take_trailer(c) : take_size(c);
        }
    }
    return state_;
}

}  // namespace blockpub
