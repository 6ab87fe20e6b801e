#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "config/node.h"
#include "core/diagnostic.h"

namespace assay::importer {

/// What the command of AAH's trials says: its script's options, srun and the devices.
struct AahTrial {
  std::optional<int> slave;
  std::string address;  ///< --ip
  std::string train_dir;
  std::string val_dir;
  int batch_size = 448;  ///< of one device
  std::array<int, 4> epochs{15, 30, 45, 60};
  double initial_lr = 0.1;
  double final_lr = 0;
  double smoothing = 0.1;
  bool slurm = false;
  bool cifar = false;              ///< a script for CIFAR-10, which has defaults of its own
  int devices = 0;                 ///< of a node; 0: none are named
  std::string visible_variable{};  ///< that names devices other than the first ones of a node
  std::string visible_devices{};   ///< its value
  std::string vendor = "nvidia";
};

/// Takes the command apart; it is never executed. `tell` gets what was not taken over. Throws Error
/// of kind config at the entry for a value that makes no sense.
[[nodiscard]] AahTrial read_aah_command(const config::Entry& entry,
                                        const std::function<void(Severity, std::string)>& tell);

}  // namespace assay::importer
