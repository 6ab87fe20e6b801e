#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace assay::live {

/// How far somebody has read the logs of a run. The numbers of merged lines are those of one
/// Console; how many bytes of each log were read stays true when another one merges the same logs
/// differently: after a restart, or when the evidence of a round takes the place of what was sent.
struct LogPlace {
  std::string run{};                            ///< LiveRun::id()
  std::uint64_t generation = 0;                 ///< of the Console that gave the number
  std::uint64_t number = 0;                     ///< of the last line that was read; 0: none
  std::map<std::string, std::uint64_t> ends{};  ///< by log: the end of its last line
  bool whole = true;                            ///< false: `ends` does not say what was read

  [[nodiscard]] bool has(const std::string& log, std::uint64_t end) const;
  void take(std::uint64_t line, const std::string& log, std::uint64_t end);
};

/// As one word that fits into a header and a query; of very many logs without their ends.
[[nodiscard]] std::string text_of(const LogPlace& place);
/// Nothing: it is not the text of one.
[[nodiscard]] std::optional<LogPlace> parse_log_place(std::string_view text);

}  // namespace assay::live
