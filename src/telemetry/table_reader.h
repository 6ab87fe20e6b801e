#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/telemetry_table.h"

namespace assay::telemetry {

/// Reads telemetry.csv line by line, as read_table() says, for who follows a file that grows.
class TableReader {
 public:
  enum class Line : std::uint8_t { row, header, malformed };

  TableReader();
  ~TableReader();

  /// `line` without its newline; not empty. Of a row, sets `row`.
  [[nodiscard]] Line read(std::string_view line, Row& row);
  /// Values so far that their columns cannot hold, and the first of them.
  [[nodiscard]] std::uint64_t impossible_values() const noexcept;
  [[nodiscard]] const std::string& first_impossible() const noexcept;
  /// Row::source counts in it.
  [[nodiscard]] const std::vector<std::string>& sources() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::telemetry
