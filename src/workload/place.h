#pragma once

#include <cstdint>
#include <string>

namespace assay::workload {

/// This process's place among the ranks, from the environment set by torchrun, srun and Assay:
/// RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT. Without RANK and WORLD_SIZE it is alone.
struct Place {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::string master_address = "127.0.0.1";
  std::uint16_t master_port = 29500;
  /// A launcher (torchrun's agent) already runs the store at the master's port.
  bool launcher_has_store = false;
  /// Distinguishes the attempts of a launcher that restarts ranks.
  std::string attempt = "0";

  [[nodiscard]] bool alone() const noexcept { return world_size == 1; }
};

/// Throws Error of kind usage if a variable is invalid, with its name and value.
[[nodiscard]] Place place_from_environment();

}  // namespace assay::workload
