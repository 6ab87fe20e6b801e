#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/telemetry_table.h"

namespace assay::telemetry {

/// Reads telemetry.csv line by line, with the rules of read_table(), to follow a growing file.
class TableReader {
 public:
  enum class Line : std::uint8_t { row, header, malformed };

  TableReader();
  ~TableReader();

  /// `line` has no newline and is not empty. For a row, sets `row`.
  [[nodiscard]] Line read(std::string_view line, Row& row);
  /// The number of values so far that their columns cannot hold, and the first of them.
  [[nodiscard]] std::uint64_t impossible_values() const noexcept;
  [[nodiscard]] const std::string& first_impossible() const noexcept;
  /// The names that Row::source indexes.
  [[nodiscard]] const std::vector<std::string>& sources() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::telemetry
