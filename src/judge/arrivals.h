#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"

namespace assay::judge {

/// The number of a log's lines that the agent had by each time, on its node's clocks. From the
/// chain of hashes that the agent wrote as the log grew (`evidence.jsonl`).
class Arrivals {
 public:
  struct Seen {
    Instant at;
    std::uint64_t lines = 0;  ///< complete lines
    /// The time of the previous link of the chain: the new lines came after it.
    std::optional<std::int64_t> after_mono_ns{};
  };

  Arrivals() = default;
  /// In the order of their lines.
  explicit Arrivals(std::vector<Seen> seen) : seen_(std::move(seen)) {}

  [[nodiscard]] bool empty() const noexcept { return seen_.empty(); }
  /// The first time at which the agent had line `line` (from 1), or nullptr if the chain does not
  /// reach it.
  [[nodiscard]] const Seen* line(std::uint64_t line) const noexcept;

 private:
  std::vector<Seen> seen_;
};

/// The arrivals of the log `name`, which was not cut into parts; empty if the node has no chain
/// (`node_dir/evidence.jsonl`), or the chain does not know the file. Reads tolerantly: other code
/// checks that the chain is sound.
[[nodiscard]] Arrivals read_arrivals(const std::filesystem::path& node_dir,
                                     const std::string& name);

}  // namespace assay::judge
