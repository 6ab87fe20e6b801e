#include "agent/device_states.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/units.h"
#include "telemetry/resolve.h"

namespace assay::agent {

namespace {

constexpr Nanoseconds kNoInterval = std::chrono::seconds(1);  // the command samples nothing

std::string last_words(const CommandResult& result) {
  const std::string_view text = trim(result.err.empty() ? result.out : result.err);
  return ellipsize(printable(text.substr(0, text.find('\n'))), 160);
}

}  // namespace

probe::DeviceStates read_device_states(const std::vector<std::string>& command,
                                       Nanoseconds timeout) {
  if (command.empty()) return {"no command is known that tells the state of these devices"};
  try {
    std::vector<std::string> argv = telemetry::expand_command(command, kNoInterval, "state");
    const auto program = telemetry::resolve_program(argv.front());
    if (!program) return {printable(argv.front()) + " is not installed"};
    const std::string name = std::exchange(argv.front(), *program);
    CommandOptions options;
    options.timeout = timeout;
    const CommandResult result = run_command(argv, options);
    if (result.timed_out)
      return {fmt::format("{} did not answer within {}: the driver may hang", printable(name),
                          format_duration(timeout))};
    if (!result.ok())
      return {fmt::format("{} ended with {}: {}", printable(name), to_string(result.status),
                          last_words(result))};
    return probe::device_states_from_text(result.out);
  } catch (const Error& error) {
    return {printable(error.what())};
  }
}

}  // namespace assay::agent
