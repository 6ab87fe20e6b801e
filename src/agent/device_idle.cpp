#include "agent/device_idle.h"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/units.h"
#include "telemetry/resolve.h"

namespace assay::agent {

namespace {

using telemetry::Column;
using telemetry::DeviceReading;

// Drivers keep some memory for themselves, on some a twentieth, and a sample of an idle device may
// catch its housekeeping.
constexpr double kBusy = 0.10;
constexpr Nanoseconds kInterval = std::chrono::milliseconds(500);

// Empty when the device is idle.
std::string work_of(const DeviceReading& reading) {
  std::vector<std::string> parts;
  if (const double util = reading.values[Column::util]; util > kBusy)
    parts.push_back(fmt::format("{:.0f} % busy", 100 * util));
  const double used = reading.values[Column::mem_used_bytes];
  const double total = reading.values[Column::mem_total_bytes];
  if (total > 0 && used > kBusy * total)
    parts.push_back(fmt::format("{} of {} in use", format_bytes(used), format_bytes(total)));
  return join(parts, ", ");
}

}  // namespace

probe::Check judge_idle(const std::vector<DeviceReading>& readings) {
  std::map<int, const DeviceReading*> newest;
  for (const DeviceReading& reading : readings) newest[reading.index] = &reading;
  std::vector<std::string> busy;
  bool known = false;
  for (const auto& [index, reading] : newest) {
    known = known || !std::isnan(reading->values[Column::util]) ||
            !std::isnan(reading->values[Column::mem_used_bytes]);
    if (const std::string work = work_of(*reading); !work.empty())
      busy.push_back(fmt::format("device {}: {}", index, work));
  }
  if (!known)
    return {"idle", probe::Level::warn, "cannot tell whether the devices are idle",
            "run the vendor's tool by hand; 'samples' of conf/vendors names it"};
  if (busy.empty())
    return {"idle", probe::Level::pass, counted(newest.size(), "device") + ", all idle", ""};
  return {"idle", probe::Level::warn, join(busy, "; "),
          "these devices are in use: stop what uses them, or wait"};
}

probe::Check check_idle(const std::vector<telemetry::DeviceSource>& sources, Nanoseconds timeout) {
  std::string reason = "no command is known that samples the devices";
  for (const telemetry::DeviceSource& source : sources) {
    if (source.mode == telemetry::DeviceSource::Mode::none || source.command.empty()) continue;
    try {
      const telemetry::DeviceParser parser(source, source.vendor);
      std::vector<std::string> argv =
          telemetry::expand_command(source.command, kInterval, source.vendor);
      const auto program = telemetry::resolve_program(argv.front());
      reason = argv.front() + " is not installed";
      if (!program) continue;
      argv.front() = *program;
      CommandOptions options;
      options.timeout = timeout;  // a source that samples in a loop runs until then
      const CommandResult result = run_command(argv, options);
      const auto output = parser.parse_output(result.out);
      if (!output.readings.empty()) return judge_idle(output.readings);
      reason = fmt::format("{} gave no sample", argv.front());
    } catch (const Error& error) {
      reason = error.message();
    }
  }
  return {"idle", probe::Level::warn, "cannot tell whether the devices are idle: " + reason,
          "run the vendor's tool by hand; 'samples' of conf/vendors names it"};
}

}  // namespace assay::agent
