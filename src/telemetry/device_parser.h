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
  int index = -1;            ///< -1: the sampler does not say; the position in its output counts
  std::int64_t mono_ns = 0;  ///< when it was measured, or 0: when the line came
  Values values;
  std::string error;      ///< why this device could not be read, or ""
  std::vector<int> pids;  ///< of processes that compute on it, where the sampler tells
};

/// Reads the output of one device source. No allocation per line for the line formats.
class DeviceParser {
 public:
  /// Output of one run beyond this is ignored.
  static constexpr std::size_t kMaxOutput = 256U << 10;

  /// Throws Error of kind config at `where`, see validate().
  DeviceParser(const DeviceSource& source, const std::string& where);

  enum class Line { reading, nothing, nonsense };
  /// `nothing` is an empty line or a comment. With format regex the first match in the line counts.
  [[nodiscard]] Line parse_line(std::string_view line, DeviceReading& out) const;

  /// A first line of names, which some tools print above their CSV: it has no digits.
  [[nodiscard]] bool is_title(std::string_view line) const;

  struct Output {
    std::vector<DeviceReading> readings;
    std::size_t nonsense = 0;
    std::string first_nonsense;
  };
  /// The output of one whole run; devices without an index are numbered as they come.
  [[nodiscard]] Output parse_output(std::string_view text) const;

 private:
  struct Field {
    bool skip = false;
    bool index = false;
    Column column{};
    double factor = 1;     // from the field's unit to the column's
    bool percent = false;  // of mem_total_bytes, resolved when the line is complete
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

/// 1 when one of NVML's throttle reasons is heat, the power brake or a hardware slowdown, else 0.
[[nodiscard]] double throttle_from_reasons(std::uint64_t reasons) noexcept;
/// 1 when one of NVML's throttle reasons is the power cap in software: the device works at its
/// power limit, as designed; else 0.
[[nodiscard]] double power_cap_from_reasons(std::uint64_t reasons) noexcept;

}  // namespace assay::telemetry
