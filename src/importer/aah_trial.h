#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "config/node.h"
#include "core/diagnostic.h"

namespace assay::importer {

/// The content of AAH's trial command: its script's options, srun and the devices.
struct AahTrial {
  std::optional<int> slave;
  std::string address;  ///< --ip
  std::string train_dir;
  std::string val_dir;
  int batch_size = 448;  ///< for one device
  std::array<int, 4> epochs{15, 30, 45, 60};
  double initial_lr = 0.1;
  double final_lr = 0;
  double smoothing = 0.1;
  bool slurm = false;
  bool cifar = false;              ///< a script for CIFAR-10, with its own defaults
  int devices = 0;                 ///< per node; 0: not named
  std::string visible_variable{};  ///< selects devices other than a node's first ones
  std::string visible_devices{};   ///< its value
  std::string vendor = "nvidia";
};

/// Parses the command, which is never executed. Calls `tell` with what was not carried over. Throws
/// Error of kind config at the entry for an invalid value.
[[nodiscard]] AahTrial read_aah_command(const config::Entry& entry,
                                        const std::function<void(Severity, std::string)>& tell);

}  // namespace assay::importer
