// SPDX-License-Identifier: MIT
#include "base/ban_target.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace blockpub {
namespace {

/// A kind of name: base32 characters, and what follows them. The last character is one of few, since it holds
/// the version of the address (Tor), or fewer than five bits of it (I2P).
struct NameForm {
    std::string_view suffix;
    std::size_t characters;
    std::string_view last;
};
constexpr NameForm kNameForms[] = {{".onion", 56, "d"}, {".b32.i2p", 52, "aq"}};

bool is_base32(char c) {
    return is_lower(c) || (c >= '2' && c <= '7');
}

bool is_name(std::string_view text) {
    return std::ranges::any_of(kNameForms, [text](const NameForm& form) {
        return text.size() == form.characters + form.suffix.size() && text.ends_with(form.suffix) &&
               std::ranges::all_of(text.substr(0, form.characters), is_base32) &&
               form.last.find(text[form.characters - 1]) != std::string_view::npos;
    });
}

}  // namespace

Result<BanTarget> BanTarget::parse(std::string_view text) {
    std::string name(text);
    std::ranges::transform(name, name.begin(), to_lower);
    if (is_name(name)) {
        BanTarget target;
        target.name_ = std::move(name);
        return target;
    }
    const auto subnet = Subnet::parse(text);
    if (!subnet) return std::unexpected(subnet.error());
    return BanTarget(*subnet);
}

}  // namespace blockpub
