#pragma once

#include <filesystem>
#include <string>

#include "importer/flagperf.h"

namespace assay::importer {

/// A checkout's training/ folder, given the checkout's root or that folder itself. Throws Error of
/// kind config.
[[nodiscard]] std::filesystem::path find_training(const std::filesystem::path& dir);

/// Where FlagPerf keeps a case's parts.
struct Layout {
  std::filesystem::path training;
  std::string vendor;

  [[nodiscard]] std::filesystem::path benchmark(const FlagPerfCase& item) const {
    return training / "benchmarks" / item.model / item.family;
  }
  [[nodiscard]] std::filesystem::path vendor_folder(const FlagPerfCase& item) const {
    return training / vendor / (item.model + "-" + item.family);
  }
  [[nodiscard]] std::filesystem::path config_folder(const FlagPerfCase& item) const {
    return vendor_folder(item) / "config";
  }
  /// The script in benchmark() that the framework's launcher starts; empty for a framework unknown
  /// to the import.
  [[nodiscard]] std::string script(const FlagPerfCase& item) const;
};

/// How FlagPerf starts a case with the framework's launcher.
enum class Starter {
  unknown,
  pytorch,
  flagai,
  paddle,
  tensorflow,
  mindspore,
  deepspeed,        ///< torchrun
  deepspeed_torch,  ///< its own launcher
  megatron,         ///< and those started like it
  flagscale,
};

[[nodiscard]] Starter starter_of(const std::string& family) noexcept;

}  // namespace assay::importer
