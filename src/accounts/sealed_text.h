#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace assay::accounts {

/// A key of 64 hex digits in a file of mode 0600. Throws Error of kind environment where the file
/// is something else, or others can read it. Nothing: there is no such file.
[[nodiscard]] std::optional<std::string> read_key(const std::filesystem::path& file);
/// The same; makes the file where there is none. Two processes get one key.
[[nodiscard]] std::string read_or_make_key(const std::filesystem::path& file);

/// Encrypted and authenticated (XChaCha20-Poly1305), as hex digits, no two alike. `about` is bound
/// to it: it opens with the same one only.
[[nodiscard]] std::string seal(std::string_view key, std::string_view text, std::string_view about);
/// Nothing: it was sealed with another key, is about something else, or was changed.
[[nodiscard]] std::optional<std::string> open_sealed(std::string_view key, std::string_view sealed,
                                                     std::string_view about);

}  // namespace assay::accounts
