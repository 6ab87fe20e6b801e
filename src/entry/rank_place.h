#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace assay::entry {

/// Replaces the round's mark for a program that runs beside a rank: the round does not wait for it
/// or count it as its process.
inline constexpr const char* kEnteredVariable = "ASSAY_ENTERED";

/// A rank's place of work, taken from its process.
struct RankPlace {
  pid_t pid = 0;
  std::vector<std::string> env{};  ///< "NAME=value", for a neighboring program
  std::string folder{};

  [[nodiscard]] std::string variable(std::string_view name) const;  ///< or ""
};

/// The place of the round's rank with process `pid`, or, if that process is gone, of the round's
/// oldest readable one here. Nothing if the round has ended on this machine.
[[nodiscard]] std::optional<RankPlace> find_place(const std::string& round, pid_t pid);

/// Binds this process and its children to the rank's processors. Best effort.
void share_processors(const RankPlace& place);

/// The environment for a program beside a rank with this one ("NAME=value", each followed by a zero
/// byte). Pure.
[[nodiscard]] std::vector<std::string> environment_beside(std::string_view environ,
                                                          const std::string& round);

}  // namespace assay::entry
