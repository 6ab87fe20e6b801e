#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay::plan {

/// One vendor's devices on the planning machine, as far as a suite depends on them.
struct Devices {
  std::string vendor;    ///< "nvidia"
  std::string hardware;  ///< their type in the vendor's file, else the vendor's name
  std::string name;      ///< the driver's name for them, "NVIDIA H200"; empty: unknown
  int count = 0;         ///< usable devices, one rank each
  /// The devices visible to programs (CUDA_VISIBLE_DEVICES), ranks included. Empty: all.
  std::string visible;
  /// The precisions in which built-in workloads can compute matrix products on them.
  std::vector<std::string> precisions;

  /// "8 × NVIDIA H200".
  [[nodiscard]] std::string text() const;
};

/// The result of looking for one vendor's devices, of which the machine showed a sign.
struct DeviceSearch {
  Devices devices;
  std::string problem;             ///< why they cannot be used; empty if they can
  std::string advice;              ///< what to do about it
  std::vector<std::string> notes;  ///< what else a user should know before measuring
};

/// The suite chosen for a command that names none.
struct SuiteChoice {
  std::string suite;               ///< in conf/suites
  std::optional<Devices> devices;  ///< the devices it uses; nothing: the CPU
  std::vector<std::string> lines;  ///< what was chosen and rejected, and why: one sentence each
};

/// Chooses gpu-quick if there are usable devices, else quick. Pure.
[[nodiscard]] SuiteChoice choose_suite(const std::vector<DeviceSearch>& searches);

/// Why a suite that needs devices cannot run: one clause per vendor that showed a sign.
[[nodiscard]] std::string why_none(const std::vector<DeviceSearch>& searches);

/// The search with the most usable devices; nullptr when none has any.
[[nodiscard]] const DeviceSearch* best_search(const std::vector<DeviceSearch>& searches);

}  // namespace assay::plan
