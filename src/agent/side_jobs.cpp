#include "agent/side_jobs.h"

#include <cstdio>

#include <fmt/format.h>
#include <poll.h>

#include "core/error.h"
#include "core/subprocess.h"

namespace assay::agent {

namespace {

constexpr int kBetweenAttempts_ms = 100;

std::vector<std::string> words_of(const Json& command) {
  std::vector<std::string> words;
  if (command.is_array())
    for (const Json& word : command)
      if (word.is_string()) words.push_back(word.get<std::string>());
  return words;
}

int run_inheriting(const std::vector<std::string>& words) {
  try {
    Child child = spawn({.argv = words,
                         .in = Stream::inherit(),
                         .out = Stream::inherit(),
                         .err = Stream::inherit(),
                         .group = Group::shared});
    return child.wait().code.value_or(128);
  } catch (const SpawnError&) {
    fmt::print(stderr, "{} is not installed on this node\n", words[0]);
    return 127;
  }
}

}  // namespace

int run_until_one_succeeds(const Json& commands) {
  int code = 0;
  if (!commands.is_array()) throw Error(ErrorKind::usage, "not a list of commands");
  for (const Json& command : commands) {
    const std::vector<std::string> words = words_of(command);
    if (words.empty()) continue;
    code = run_inheriting(words);
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
    ::poll(nullptr, 0, kBetweenAttempts_ms);
  }
  return false;
}

void run_cleanups(const std::vector<std::string>& commands) {
  const std::int64_t deadline = mono_now_ns() + kCleanupLimit.count();
  for (const std::string& text : commands)
    if (const auto words = words_of(parse_json_or_null(text)); !words.empty())
      (void)clean_up(words, deadline);
}

}  // namespace assay::agent
