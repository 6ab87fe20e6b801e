#include "agent/one_shot_commands.h"

#include <cstdio>

#include <fmt/format.h>
#include <poll.h>

#include "core/error.h"
#include "core/parallel.h"
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

// A container whose client was killed goes on without it. Removed while its own supervisor lives it
// goes at once; afterwards its runtime may need a second attempt to notice.
bool succeeds_before(std::int64_t deadline_ns, const std::vector<std::string>& command) {
  for (std::int64_t left = 0; (left = deadline_ns - mono_now_ns()) > 0;) {
    CommandOptions options;
    options.timeout = Nanoseconds(left);
    const CommandResult result = run_command(command, options);
    // Docker's answer for one that has removed itself; older ones fail with it.
    if (result.status.ok() || result.err.find("No such container") != std::string::npos)
      return true;
    ::poll(nullptr, 0, kBetweenCleanUps_ms);
  }
  return false;
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

std::vector<bool> clean_up(const std::vector<std::vector<std::string>>& commands,
                           Nanoseconds limit) {
  const std::int64_t deadline_ns = mono_now_ns() + limit.count();
  // A node has a container for each of its devices, and a runtime takes seconds for one of them.
  std::vector<char> done(commands.size());  // bits of a vector<bool> share their bytes
  run_parallel(commands.size(), static_cast<int>(commands.size()), {},
               [&](std::size_t i, const std::stop_token&) {
                 done[i] = commands[i].empty() || succeeds_before(deadline_ns, commands[i]);
               });
  return {done.begin(), done.end()};
}

void run_cleanups(const std::vector<std::string>& commands) {
  std::vector<std::vector<std::string>> argument_lists;
  for (const std::string& text : commands)
    argument_lists.push_back(arguments_of(parse_json_or_null(text)));
  (void)clean_up(argument_lists);
}

}  // namespace assay::agent
