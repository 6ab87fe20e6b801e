#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace assay::entry {

/// Of a program that is run beside a rank, in place of the round's own mark: the round does not
/// wait for it, and it is none of the round's processes.
inline constexpr const char* kEnteredVariable = "ASSAY_ENTERED";

/// Where a rank works, as its process has it.
struct RankPlace {
  pid_t pid = 0;
  std::vector<std::string> env{};  ///< "NAME=value", for a program beside it
  std::string folder{};

  [[nodiscard]] std::string variable(std::string_view name) const;  ///< or ""
};

/// The place of the rank `pid` of a round, or, where that process is gone, of the round's oldest
/// one here that can be read. Nothing: the round has ended on this machine.
[[nodiscard]] std::optional<RankPlace> find_place(const std::string& round, pid_t pid);

/// Binds this process, and what it starts, to the processors of the rank. Best effort.
void share_processors(const RankPlace& place);

/// The environment beside a rank that has this one ("NAME=value" with a zero byte after each).
/// Pure.
[[nodiscard]] std::vector<std::string> environment_beside(std::string_view environ,
                                                          const std::string& round);

}  // namespace assay::entry
