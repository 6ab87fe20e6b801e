#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/pattern.h"
#include "telemetry/columns.h"
#include "telemetry/device_source.h"

namespace assay::telemetry {

/// A sampler's report about one device.
struct DeviceReading {
  int index = -1;            ///< -1: not reported; its position in the output is used
  std::int64_t mono_ns = 0;  ///< time of measurement; 0: when the line came
  Values values;
  std::string error;      ///< why this device could not be read; empty if it could
  std::vector<int> pids;  ///< processes computing on it, if the sampler reports them
};

/// Reads the output of a device source. The line formats need no allocation per line.
class DeviceParser {
 public:
  /// Output of a single run beyond this size is ignored.
  static constexpr std::size_t kMaxOutput = 256U << 10;

  /// Throws Error of kind config at `where`, as validate() does.
  DeviceParser(const DeviceSource& source, const std::string& where);

  enum class Line { reading, nothing, nonsense };
  /// `nothing` is an empty line or a comment. With format regex a line's first match counts.
  [[nodiscard]] Line parse_line(std::string_view line, DeviceReading& out) const;

  /// Whether it is a title line, which some tools print above their CSV: it has no digits.
  [[nodiscard]] bool is_title(std::string_view line) const;

  struct Output {
    std::vector<DeviceReading> readings;
    std::size_t nonsense = 0;
    std::string first_nonsense;
  };
  /// Parses the output of a complete run; devices without an index are numbered in order.
  [[nodiscard]] Output parse_output(std::string_view text) const;

 private:
  struct Field {
    bool skip = false;
    bool index = false;
    Column column{};
    double factor = 1;     // from the reported unit to the column's
    bool percent = false;  // of mem_total_bytes; resolved once the line is complete
  };

  static Field parse_field(const std::string& text, const std::string& where);
  static bool set_field(const Field& field, std::string_view text, DeviceReading& out,
                        double& used_share);
  static void finish(DeviceReading& out, double used_share);
  Line parse_csv(std::string_view line, DeviceReading& out) const;
  static Line parse_assay(std::string_view line, DeviceReading& out);
  bool from_match(const Pattern::Groups& match, DeviceReading& out) const;

  DeviceSource::Format format_;
  std::vector<Field> fields_;
  Pattern pattern_;
};

/// 1 if heat, the power brake or a hardware slowdown is among NVML's throttle reasons, else 0.
[[nodiscard]] double throttle_from_reasons(std::uint64_t reasons) noexcept;
/// 1 if the software power cap is among NVML's throttle reasons, which means that the device works
/// at its power limit as designed; else 0.
[[nodiscard]] double power_cap_from_reasons(std::uint64_t reasons) noexcept;

}  // namespace assay::telemetry
