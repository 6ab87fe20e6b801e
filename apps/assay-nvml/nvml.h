#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probe/device_state.h"

namespace assay::nvml {

/// One device at one moment; values that the device or driver does not report are empty.
struct Sample {
  std::optional<double> util;  ///< 0..1
  std::optional<std::uint64_t> mem_used_bytes;
  std::optional<std::uint64_t> mem_total_bytes;
  std::optional<double> power_w;
  std::optional<double> energy_j;  ///< since the driver was loaded
  std::optional<double> temp_c;
  std::optional<unsigned> clock_mhz;
  std::optional<unsigned> mem_clock_mhz;
  std::optional<std::uint64_t> throttle_reasons;  ///< NVML's bit mask
  std::optional<std::uint64_t> ecc_errors;        ///< uncorrected, since the last reboot
  std::optional<double> power_limit_w;            ///< enforced by the driver
  std::optional<unsigned> clock_max_mhz;
  std::vector<unsigned> pids{};  ///< processes computing on it, if requested
  std::optional<int> lost;       ///< the error code if the device does not answer
};

struct DeviceInfo {
  unsigned index = 0;
  std::string name;
  std::string uuid;
  std::uint64_t memory_bytes = 0;
};

class Library;

/// The NVIDIA Management Library, loaded at run time. Single-threaded.
class Nvml {
 public:
  /// Loads ASSAY_NVML_LIBRARY, or libnvidia-ml.so.1. Throws Error of kind environment if the
  /// library is missing, lacks essential functions, or finds no driver.
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] unsigned count() const;
  [[nodiscard]] Sample sample(unsigned index) const;
  /// Processes computing on the device, of a bounded number; none if NVML does not report them.
  [[nodiscard]] std::vector<unsigned> processes(unsigned index) const;
  [[nodiscard]] DeviceInfo info(unsigned index) const;
  [[nodiscard]] std::string driver_version() const;
  /// The devices' setup and health. Anything that the library, the driver or a device does not
  /// report is named with the reason.
  [[nodiscard]] probe::DeviceStates states(const std::vector<unsigned>& indices) const;

 private:
  std::unique_ptr<Library> library_;
};

}  // namespace assay::nvml
