#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace assay::train::tokens {

/// Finds any of several texts in a longer one: the leftmost, and the longest at that place.
class TextFinder {
 public:
  struct Hit {
    std::size_t at = 0;
    std::size_t size = 0;
    std::int32_t id = 0;
  };

  /// `text` must not be empty and must outlive this. Of two equal ones, the first counts.
  void add(std::string_view text, std::int32_t id);
  [[nodiscard]] bool empty() const noexcept { return empty_; }
  /// The first occurrence at or after `from`.
  [[nodiscard]] std::optional<Hit> find(std::string_view text, std::size_t from) const noexcept;

 private:
  struct Wanted {
    std::string_view text;
    std::int32_t id;
  };
  std::array<std::vector<Wanted>, 256> by_first_byte_;  // longest first
  bool empty_ = true;
};

}  // namespace assay::train::tokens
