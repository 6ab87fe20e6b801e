#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::code {

/// Several whole contents one behind the other, for folders of many small files: of each a line
/// "SHA256 SIZE", and its bytes.
struct BundledContent {
  std::string sha256{};
  std::string_view bytes{};  ///< within the bundle
};

/// What a content takes in a bundle besides its bytes, at most.
inline constexpr std::uint64_t kBundleLine = 64 + 1 + 20 + 1;

void add_to_bundle(std::string& bundle, std::string_view sha256, std::string_view bytes);

/// Throws Error of kind usage for what is no bundle. Hashes are not compared with the bytes.
[[nodiscard]] std::vector<BundledContent> read_bundle(std::string_view bundle);
/// Those of a text that is gone would have no bytes.
std::vector<BundledContent> read_bundle(std::string&& bundle) = delete;

}  // namespace assay::code
