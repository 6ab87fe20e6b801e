#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"

namespace assay::judge {

/// How many lines of a log the agent had at which time, on its node's clocks; taken from the chain
/// of hashes that the agent wrote as the log grew (`evidence.jsonl`).
class Arrivals {
 public:
  struct Seen {
    Instant at;
    std::uint64_t lines = 0;  ///< complete ones
    /// The time of the previous link: the lines that are new here came after it.
    std::optional<std::int64_t> after_mono_ns{};
  };

  Arrivals() = default;
  /// `seen` must be in line order.
  explicit Arrivals(std::vector<Seen> seen) : seen_(std::move(seen)) {}

  [[nodiscard]] bool empty() const noexcept { return seen_.empty(); }
  /// The first moment at which line `line` (from 1) was present; nullptr if the chain does not
  /// reach it.
  [[nodiscard]] const Seen* line(std::uint64_t line) const noexcept;

 private:
  std::vector<Seen> seen_;
};

/// The arrivals of the log `name`, which was not cut into parts; empty if the node has no chain
/// (`node_dir/evidence.jsonl`) or the chain does not contain the file. Reads tolerantly: another
/// check decides whether the chain is sound.
[[nodiscard]] Arrivals read_arrivals(const std::filesystem::path& node_dir,
                                     const std::string& name);

}  // namespace assay::judge
