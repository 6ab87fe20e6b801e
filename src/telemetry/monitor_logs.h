#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "telemetry/columns.h"
#include "telemetry/log_file.h"

namespace assay::telemetry {

/// One line of a FlagPerf device block: "31C 57W 15MiB 40536MiB 0%", with "N/A" for unknown values.
[[nodiscard]] std::string monitor_line(const Values& values);

/// FlagPerf's monitor logs in its formats, with at most one line (or block) per second and file.
class MonitorLogs {
 public:
  /// Creates cpu_monitor.log, mem_monitor.log, pwr_monitor.log, and the device log if it has a
  /// name. Throws Error of kind environment. `on_error` receives the file's name and errno.
  MonitorLogs(const std::filesystem::path& folder, const std::string& device_log,
              std::function<void(const LogFile&, int)> on_error);

  /// NaN values are left out.
  void system(const Instant& at, double cpu_util, double mem_share, double power_w);

  /// `devices` is indexed by device; nothing for an index that was never seen.
  void devices(const Instant& at, const std::vector<std::optional<Values>>& devices);

 private:
  struct Log {
    LogFile file;
    std::int64_t last_second = -1;
  };

  void line(Log& log, const Instant& at, double value, int decimals);
  const std::string& stamp(std::int64_t wall_ns);

  Log cpu_;
  Log mem_;
  Log pwr_;
  Log device_;
  std::function<void(const LogFile&, int)> on_error_;
  std::int64_t stamp_second_ = -1;
  std::string stamp_;
  std::string text_;
};

}  // namespace assay::telemetry
