// SPDX-License-Identifier: MIT
#include "base/mapped_read.hpp"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace blockpub {

Result<void> read_mapped(const MappedBytes& source, std::size_t offset, std::span<std::uint8_t> out) {
    const std::uint8_t* from = source.bytes().data() + offset;
    while (!out.empty()) {
        const ::iovec local{out.data(), out.size()};
        const ::iovec remote{const_cast<std::uint8_t*>(from), out.size()};
        const auto got = ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0);
        if (got > 0) {
            out = out.subspan(static_cast<std::size_t>(got));
            from += got;
        } else if (got < 0 && (errno == ENOSYS || errno == EPERM)) {
            // A sandbox that forbids the call: the copy is made, without its protection.
            std::memcpy(out.data(), from, out.size());
            return {};
        } else if (got == 0 || errno != EINTR) {
            return fail(Errc::io, fmt::format("reading a mapped block: {}", std::strerror(errno)));
        }
    }
    return {};
}

MappedBytes slice_mapped(const MappedBytes& source, std::size_t offset, std::size_t size) {
    return {source.bytes().subspan(offset, size), source.keep_alive(), source.place()};
}

}  // namespace blockpub
