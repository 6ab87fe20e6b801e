#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace assay {

/// A running SHA-256. A value: a copy goes on by itself, and the hash so far can be taken at any
/// moment. Never allocates or fails; with the processor's instructions for it over 1 GB/s.
class Sha256 {
 public:
  Sha256() noexcept;
  void update(std::string_view data) noexcept;
  /// Of everything so far, 64 lower-case hex digits.
  [[nodiscard]] std::string hex() const;

 private:
  // OpenSSL's SHA256_CTX.
  alignas(8) std::array<std::uint32_t, 28> state_;
};

/// 64 lower-case hex digits.
[[nodiscard]] std::string sha256(std::string_view data);

/// The hash of a file's content, read in pieces; throws Error of kind environment.
[[nodiscard]] std::string sha256_file(const std::filesystem::path& path);

}  // namespace assay
