#include <optional>

#include <fmt/format.h>

#include "core/pattern.h"
#include "core/processors.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/units.h"
#include "probe/checks.h"

namespace assay::probe {

namespace {

std::string first_line(std::string_view text) {
  const std::string_view trimmed = trim(text);
  return ellipsize(printable(trimmed.substr(0, trimmed.find('\n'))), 120);
}

/// Lines of `output` that describe a device; nothing if the pattern is invalid.
std::optional<int> count_devices(const std::string& output, const std::string& pattern) {
  try {
    const Pattern device(pattern);
    int count = 0;
    for (const auto line : split(output, '\n')) {
      const std::string_view text = trim(line);
      if (!text.empty() && device.found_in(text)) ++count;
    }
    return count;
  } catch (const PatternError&) {
    return std::nullopt;
  }
}

}  // namespace

void check_devices(const CheckOptions& options, std::vector<Check>& out) {
  if (are_processors(options.vendor) || options.vendor.empty()) return;
  const auto add = [&](Level level, std::string seen, std::string advice) {
    out.push_back({"devices", level, std::move(seen), std::move(advice)});
  };
  if (options.device_query.empty())
    return add(Level::warn,
               fmt::format("no command is known that lists {} devices", options.vendor),
               "add it to the vendor's file in conf/vendors");
  const std::string& program = options.device_query.front();
  if (!find_program(program))
    return add(
        Level::fail, fmt::format("{} is not installed", program),
        fmt::format("install the driver and tools of {}, or choose vendor: cpu", options.vendor));
  CommandOptions command;
  command.timeout = options.timeout;
  const CommandResult result = run_command(options.device_query, command);
  if (result.timed_out)
    return add(
        Level::fail,
        fmt::format("{} did not answer within {}", program, format_duration(options.timeout)),
        "the driver hangs: see dmesg, then reset the device or reboot");
  if (result.not_found)
    return add(Level::fail, fmt::format("{} cannot be executed", program),
               "check its permissions and that it is built for this machine");
  if (!result.status.ok())
    return add(Level::fail,
               fmt::format("{} ended with {}: {}", program, to_string(result.status),
                           first_line(result.err.empty() ? result.out : result.err)),
               "the driver does not work: run the command by hand");
  const auto count = count_devices(result.out, options.device_pattern);
  if (!count)
    return add(Level::warn, fmt::format("'{}' is not a pattern", printable(options.device_pattern)),
               "correct it in the vendor's file in conf/vendors");
  const std::string seen = fmt::format("{} for {}", counted(*count, options.vendor + " device"),
                                       counted(options.procs, "rank"));
  if (*count >= options.procs) return add(Level::pass, seen, "");
  add(Level::fail, seen,
      *count == 0 ? "no device is visible: check the driver, and what the container may see"
                  : "use at most one rank per device");
}

void check_container(const CheckOptions& options, std::vector<Check>& out) {
  if (options.container_runtime.empty()) return;
  const bool any = options.container_runtime == "any";
  const std::vector<std::string> wanted =
      any ? std::vector<std::string>{"podman", "docker", "apptainer", "singularity", "enroot"}
          : std::vector<std::string>{options.container_runtime};
  for (const std::string& name : wanted) {
    if (const auto path = find_program(name)) {
      out.push_back({"container", Level::pass, *path, ""});
      return;
    }
  }
  out.push_back({"container", Level::fail,
                 any ? std::string("no container runtime is installed")
                     : fmt::format("{} is not installed", printable(wanted.front())),
                 fmt::format("install {}, or run without a container", printable(wanted.front()))});
}

}  // namespace assay::probe
