#include "telemetry/monitor_logs.h"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "telemetry/values.h"

namespace assay::telemetry {

namespace {

constexpr double kMiB = 1024 * 1024;

}  // namespace

std::string monitor_line(const Values& values) {
  std::string out;
  const auto add = [&](double number, std::string_view unit) {
    if (!out.empty()) out += ' ';
    if (std::isnan(number))
      out += "N/A";
    else
      fmt::format_to(std::back_inserter(out), "{:.0f}{}", number, unit);
  };
  add(values[Column::temp_c], "C");
  add(values[Column::power_w], "W");
  add(values[Column::mem_used_bytes] / kMiB, "MiB");
  add(values[Column::mem_total_bytes] / kMiB, "MiB");
  add(values[Column::util] * 100, "%");
  return out;
}

MonitorLogs::MonitorLogs(const std::filesystem::path& folder, const std::string& device_log,
                         std::function<void(const LogFile&, int)> on_error)
    : on_error_(std::move(on_error)) {
  cpu_.file = LogFile(folder / "cpu_monitor.log");
  mem_.file = LogFile(folder / "mem_monitor.log");
  pwr_.file = LogFile(folder / "pwr_monitor.log");
  if (!device_log.empty()) device_.file = LogFile(folder / device_log);
}

// Making a time stamp reads the time zone's rules, so the four logs share one.
const std::string& MonitorLogs::stamp(std::int64_t wall_ns) {
  const std::int64_t second = wall_ns / kSecond;
  if (second != stamp_second_) {
    stamp_second_ = second;
    stamp_ = flagperf_stamp(wall_ns);
  }
  return stamp_;
}

void MonitorLogs::line(Log& log, const Instant& at, double number, int decimals) {
  const std::int64_t second = at.wall_ns / kSecond;
  if (std::isnan(number) || second == log.last_second) return;
  log.last_second = second;
  text_.clear();
  fmt::format_to(std::back_inserter(text_), "{}\t{:.{}f}\n", stamp(at.wall_ns), number, decimals);
  if (const int error = log.file.append(text_); error != 0) on_error_(log.file, error);
}

void MonitorLogs::system(const Instant& at, double cpu_util, double mem_share, double power_w) {
  line(cpu_, at, cpu_util, 4);
  line(mem_, at, mem_share, 4);
  // Management controllers report whole watts; sums of counters deserve another digit.
  line(pwr_, at, power_w, power_w == std::round(power_w) ? 0 : 1);
}

void MonitorLogs::devices(const Instant& at, const std::vector<std::optional<Values>>& devices) {
  const std::int64_t second = at.wall_ns / kSecond;
  if (!device_.file.is_open() || second == device_.last_second) return;
  device_.last_second = second;
  text_.clear();
  fmt::format_to(std::back_inserter(text_), "{}\n", stamp(at.wall_ns));
  for (const auto& device : devices)
    if (device) fmt::format_to(std::back_inserter(text_), "{}\n", monitor_line(*device));
  text_ += '\n';
  if (const int error = device_.file.append(text_); error != 0) on_error_(device_.file, error);
}

}  // namespace assay::telemetry
