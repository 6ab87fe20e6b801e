#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json_fields.h"
#include "probe/check.h"

namespace assay::probe {

struct DeviceProcess {
  std::int64_t pid = 0;
  std::string name{};  ///< empty: not reported by the driver

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("pid", self.pid);
    field.optional("name", self.name);
  }
};

/// A device's setup and health. A value that the device or its driver does not report is empty,
/// with the reason in `unknown` under the same name: it never counts as fine.
struct DeviceState {
  int index = 0;
  std::string name{};
  std::string uuid{};
  std::string firmware{};
  std::string error{};  ///< why it does not answer; empty if it does
  std::optional<bool> persistence{};
  std::optional<bool> prohibited{};  ///< programs are not allowed to compute on it
  std::optional<bool> ecc{};
  std::optional<bool> ecc_pending{};                ///< after the next reset
  std::optional<std::uint64_t> ecc_corrected{};     ///< errors since the driver was loaded
  std::optional<std::uint64_t> ecc_uncorrected{};   ///< likewise
  std::optional<std::uint64_t> corrected_ever{};    ///< over the device's lifetime
  std::optional<std::uint64_t> uncorrected_ever{};  ///< likewise
  std::optional<std::uint64_t> rows_corrected{};    ///< remapped after corrected errors
  std::optional<std::uint64_t> rows_uncorrected{};  ///< remapped after uncorrected ones
  std::optional<bool> rows_pending{};               ///< will be remapped at the next reset
  std::optional<bool> rows_failed{};                ///< no spare row is left
  std::optional<int> pcie_generation{};
  std::optional<int> pcie_generation_max{};  ///< common to device and slot
  std::optional<int> pcie_width{};
  std::optional<int> pcie_width_max{};
  std::optional<int> links{};  ///< to other devices (NVLink)
  std::optional<int> links_active{};
  std::optional<double> clock_max_mhz{};
  std::optional<double> clock_set_mhz{};      ///< the highest that applications get
  std::optional<double> clock_default_mhz{};  ///< the same, as shipped
  std::optional<bool> partitioned{};          ///< MIG
  std::optional<bool> partitioned_pending{};
  std::optional<double> power_limit_w{};
  std::optional<double> power_limit_default_w{};
  std::optional<double> temp_c{};
  std::optional<double> slowdown_c{};  ///< temperature at which it slows down
  std::optional<bool> full_speed{};    ///< not in an idle state, in which links train down
  std::optional<std::vector<DeviceProcess>> processes{};  ///< those computing on it
  std::map<std::string, std::string> unknown{};

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("index", self.index);
    field.optional("name", self.name);
    field.optional("uuid", self.uuid);
    field.optional("firmware", self.firmware);
    field.optional("error", self.error);
    field.optional("persistence", self.persistence);
    field.optional("prohibited", self.prohibited);
    field.optional("ecc", self.ecc);
    field.optional("ecc_pending", self.ecc_pending);
    field.optional("ecc_corrected", self.ecc_corrected);
    field.optional("ecc_uncorrected", self.ecc_uncorrected);
    field.optional("corrected_ever", self.corrected_ever);
    field.optional("uncorrected_ever", self.uncorrected_ever);
    field.optional("rows_corrected", self.rows_corrected);
    field.optional("rows_uncorrected", self.rows_uncorrected);
    field.optional("rows_pending", self.rows_pending);
    field.optional("rows_failed", self.rows_failed);
    field.optional("pcie_generation", self.pcie_generation);
    field.optional("pcie_generation_max", self.pcie_generation_max);
    field.optional("pcie_width", self.pcie_width);
    field.optional("pcie_width_max", self.pcie_width_max);
    field.optional("links", self.links);
    field.optional("links_active", self.links_active);
    field.optional("clock_max_mhz", self.clock_max_mhz);
    field.optional("clock_set_mhz", self.clock_set_mhz);
    field.optional("clock_default_mhz", self.clock_default_mhz);
    field.optional("partitioned", self.partitioned);
    field.optional("partitioned_pending", self.partitioned_pending);
    field.optional("power_limit_w", self.power_limit_w);
    field.optional("power_limit_default_w", self.power_limit_default_w);
    field.optional("temp_c", self.temp_c);
    field.optional("slowdown_c", self.slowdown_c);
    field.optional("full_speed", self.full_speed);
    field.optional("processes", self.processes);
    field.optional("unknown", self.unknown);
  }
};

/// The JSON output of `state` in a vendor's file, as stored in system.json (docs/telemetry.md).
struct DeviceStates {
  std::string problem{};  ///< why there is nothing below; empty if there is
  std::string driver{};
  std::string library{};
  std::string runtime{};  ///< the newest that the driver supports: "CUDA 12.4"
  std::vector<DeviceState> devices{};

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field.optional("problem", self.problem);
    field.optional("driver", self.driver);
    field.optional("library", self.library);
    field.optional("runtime", self.runtime);
    field.optional("devices", self.devices);
  }
};

/// Reasons in DeviceState::unknown: the device lacks the feature; the library lacks the query.
inline constexpr std::string_view kNotSupported = "not supported";
inline constexpr std::string_view kNotInLibrary = "the library is too old to tell";

/// Parses a command's output; text that is not such JSON, or has no device, yields a problem.
[[nodiscard]] DeviceStates device_states_from_text(const std::string& text);

/// Checks whether the devices are fit for measuring. Pure; the result has every check in a fixed
/// order, and unknown values are a WARN.
[[nodiscard]] std::vector<Check> check_device_states(const DeviceStates& states);

/// Changes in a machine's devices between two readings.
struct DeviceChanges {
  std::vector<std::string> errors;     ///< uncorrected memory errors; devices that disappeared
  std::vector<std::string> corrected;  ///< errors
  std::vector<std::string> settings;   ///< changed by somebody
  std::vector<std::string> links;      ///< narrower or fewer
};
/// Pure. Matches devices by UUID, or by index without one; ignores values that one reading lacks,
/// and counts that fell (a reset).
[[nodiscard]] DeviceChanges compare_device_states(const DeviceStates& before,
                                                  const DeviceStates& after);

}  // namespace assay::probe
