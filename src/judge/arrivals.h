#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"

namespace assay::judge {

/// By when, on its node's clocks, the agent had how many lines of a log. From the chain of hashes
/// that the agent wrote as the log grew (`evidence.jsonl`).
class Arrivals {
 public:
  struct Seen {
    Instant at;
    std::uint64_t lines = 0;  ///< that had ended
    /// When the chain was written before: the lines that are new here came after it.
    std::optional<std::int64_t> after_mono_ns{};
  };

  Arrivals() = default;
  /// In the order of their lines.
  explicit Arrivals(std::vector<Seen> seen) : seen_(std::move(seen)) {}

  [[nodiscard]] bool empty() const noexcept { return seen_.empty(); }
  /// The first moment at which line `line` (from 1) was there, or nullptr when the chain does not
  /// reach it.
  [[nodiscard]] const Seen* line(std::uint64_t line) const noexcept;

 private:
  std::vector<Seen> seen_;
};

/// The arrivals of the log `name`, which was not cut into parts; empty where the node has no chain
/// (`node_dir/evidence.jsonl`), or the chain does not know the file. Reads tolerantly: whether the
/// chain is sound is found out elsewhere.
[[nodiscard]] Arrivals read_arrivals(const std::filesystem::path& node_dir,
                                     const std::string& name);

}  // namespace assay::judge
