// SPDX-License-Identifier: MIT
#pragma once

#include "source/file.hpp"

#include <blockpub/result.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace blockpub {

/// How far a block file has been imported, as a record of table `meta`: what a later import need not read
/// again.
///
/// The key is made from the file's path and first bytes, the value names an offset and the bytes before it: a
/// file that was replaced is imported from its beginning, one that has grown from where it ended.
struct ImportMark {
    std::string key;    ///< `import:` and 32 digits
    std::string value;  ///< the offset, a blank, and 32 digits
};

/// The mark that says: all blocks before `offset` are in the store. Errors: io.
[[nodiscard]] Result<ImportMark> make_import_mark(const File& file, std::uint64_t offset);
/// Key of the file's mark. Errors: io.
[[nodiscard]] Result<std::string> import_mark_key(const File& file);
/// The offset in a mark's value; 0 when the file no longer is the one that was marked, or the value is
/// senseless. Errors: io.
[[nodiscard]] Result<std::uint64_t> import_mark_offset(const File& file, std::string_view value);

}  // namespace blockpub
