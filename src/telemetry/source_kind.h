#pragma once

#include <cstdint>
#include <string_view>

namespace assay::telemetry {

/// The subject of a telemetry.csv source.
enum class SourceKind : std::uint8_t {
  node,        ///< "node": the kernel's counters
  job,         ///< "job": the round's own processes
  core,        ///< "cpu<i>"
  package,     ///< "rapl<i>": a processor
  whole_node,  ///< "ipmi": the power of everything in the node
  device,      ///< "dev<i>"
  other,       ///< "dram<i>", "psys": within or around the packages
};
[[nodiscard]] SourceKind source_kind(std::string_view source) noexcept;

/// Whether the power of `source` is part of its node's sum. Powers overlap: the whole node's stands
/// alone if it is known; otherwise packages and devices add up to a lower bound without memory,
/// disks, fans and power supplies.
[[nodiscard]] bool adds_up(std::string_view source, bool whole_node_known) noexcept;

}  // namespace assay::telemetry
