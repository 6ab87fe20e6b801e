#include "agent/one_shot_commands.h"

#include <cstdio>

#include <fmt/format.h>
#include <poll.h>

#include "core/error.h"
#include "core/subprocess.h"

namespace assay::agent {

namespace {

constexpr int kBetweenCleanUps_ms = 100;

std::vector<std::string> arguments_of(const Json& command) {
  std::vector<std::string> arguments;
  if (command.is_array())
    for (const Json& argument : command)
      if (argument.is_string()) arguments.push_back(argument.get<std::string>());
  return arguments;
}

int run_inheriting(const std::vector<std::string>& arguments) {
  try {
    Child child = spawn({.argv = arguments,
                         .in = Stream::inherit(),
                         .out = Stream::inherit(),
                         .err = Stream::inherit(),
                         .group = Group::shared});
    return child.wait().code.value_or(128);
  } catch (const SpawnError&) {
    fmt::print(stderr, "{} is not installed on this node\n", arguments[0]);
    return 127;
  }
}

}  // namespace

int run_until_one_succeeds(const Json& commands) {
  int code = 0;
  if (!commands.is_array()) throw Error(ErrorKind::usage, "not a list of commands");
  for (const Json& command : commands) {
    const std::vector<std::string> arguments = arguments_of(command);
    if (arguments.empty()) continue;
    code = run_inheriting(arguments);
    if (code == 0) return 0;
  }
  return code;
}

bool clean_up(const std::vector<std::string>& command, std::int64_t deadline_ns) {
  // A container whose client was killed goes on without it. Removed while its own supervisor lives
  // it goes at once; afterwards its runtime may need a second attempt to notice.
  for (std::int64_t left = 0; (left = deadline_ns - mono_now_ns()) > 0;) {
    CommandOptions options;
    options.timeout = Nanoseconds(left);
    if (run_command(command, options).status.ok()) return true;
    ::poll(nullptr, 0, kBetweenCleanUps_ms);
  }
  return false;
}

void run_cleanups(const std::vector<std::string>& commands) {
  const std::int64_t deadline = mono_now_ns() + kCleanupLimit.count();
  for (const std::string& text : commands)
    if (const auto arguments = arguments_of(parse_json_or_null(text)); !arguments.empty())
      (void)clean_up(arguments, deadline);
}

}  // namespace assay::agent
