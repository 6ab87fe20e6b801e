#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::accounts {

/// Before anything of libsodium is used. Throws Error of kind environment.
void prepare_sodium();

/// 64 hex digits from the kernel's generator.
[[nodiscard]] std::string new_secret();

/// How a secret is kept: it is random and long, so a plain hash cannot be turned back.
[[nodiscard]] std::string kept(std::string_view secret);

/// Takes as long wherever they differ.
[[nodiscard]] bool same_secret(std::string_view one, std::string_view other);

}  // namespace assay::accounts
