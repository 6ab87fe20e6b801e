#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace assay {

/// An incremental SHA-256. A copy continues independently; the hash so far can be read at any time.
/// Never allocates or fails; over 1 GB/s with the processor's instructions for it.
class Sha256 {
 public:
  Sha256() noexcept;
  void update(std::string_view data) noexcept;
  /// The hash of everything so far, as 64 lower-case hex digits.
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
