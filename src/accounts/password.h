#pragma once

#include <string>
#include <string_view>

namespace assay::accounts {

inline constexpr std::size_t kMinPassword = 10;    ///< code points
inline constexpr std::size_t kMaxPassword = 1024;  ///< bytes

/// Argon2id in its text form, with a salt of its own. Takes about 50 ms and 32 MiB; callers wait
/// for each other, so that no number of them takes more. Throws Error of kind environment where
/// there is no memory.
[[nodiscard]] std::string hash_password(std::string_view password);
/// Takes as long for a wrong password as for the right one.
[[nodiscard]] bool is_password(const std::string& hash, std::string_view password);

/// What a password is held against where there is no such person; made once.
[[nodiscard]] const std::string& nobodys_hash();

/// Throws Error of kind usage for one that is too short, too long or no text.
void check_password(std::string_view password);

}  // namespace assay::accounts
