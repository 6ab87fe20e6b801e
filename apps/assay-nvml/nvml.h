#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probe/device_state.h"

namespace assay::nvml {

/// One moment of one device; empty where the device or the driver reports no value.
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
  std::optional<double> power_limit_w;            ///< that the driver enforces
  std::optional<unsigned> clock_max_mhz;
  std::vector<unsigned> pids{};  ///< of processes that compute on it, where they were asked for
  std::optional<int> lost;       ///< the error code, when the device does not answer at all
};

struct DeviceInfo {
  unsigned index = 0;
  std::string name;
  std::string uuid;
  std::uint64_t memory_bytes = 0;
};

class Library;

/// The NVIDIA Management Library, loaded at run time. One thread.
class Nvml {
 public:
  /// ASSAY_NVML_LIBRARY, or libnvidia-ml.so.1. Throws Error of kind environment when the library is
  /// missing, lacks what nothing works without, or finds no driver.
  Nvml();
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] unsigned count() const;
  [[nodiscard]] Sample sample(unsigned index) const;
  /// Processes that compute on the device, a bounded number of them; none where NVML does not tell.
  [[nodiscard]] std::vector<unsigned> processes(unsigned index) const;
  [[nodiscard]] DeviceInfo info(unsigned index) const;
  [[nodiscard]] std::string driver_version() const;
  /// How the devices are set up, and how well they are. What the library, the driver or a device
  /// does not tell is named with the reason.
  [[nodiscard]] probe::DeviceStates states(const std::vector<unsigned>& indices) const;

 private:
  std::unique_ptr<Library> library_;
};

}  // namespace assay::nvml
