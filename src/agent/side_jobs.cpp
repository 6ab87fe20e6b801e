#include "agent/side_jobs.h"

#include <cstdio>

#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/subprocess.h"
#include "core/time.h"

namespace assay::agent {

namespace {

constexpr int kBetweenAttempts_ms = 100;
constexpr Nanoseconds kSideJobCleanupLimit = std::chrono::seconds(10);

std::vector<std::string> words_of(const Json& command) {
  std::vector<std::string> words;
  if (command.is_array())
    for (const Json& word : command)
      if (word.is_string()) words.push_back(word.get<std::string>());
  return words;
}

int run_inheriting(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  if (::posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0) {
    fmt::print(stderr, "{} is not installed on this node\n", words[0]);
    return 127;
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return ExitStatus::from_wait(status).code.value_or(128);
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

void run_cleanups(const std::vector<std::string>& commands) {
  const std::int64_t deadline = mono_now_ns() + kSideJobCleanupLimit.count();
  for (const std::string& text : commands) {
    const auto words = words_of(parse_json_or_null(text));
    // A container whose own supervisor was killed, too, is gone for its runtime only at the second
    // attempt.
    while (!words.empty() && mono_now_ns() < deadline) {
      CommandOptions options;
      options.timeout = Nanoseconds(deadline - mono_now_ns());
      if (run_command(words, options).status.ok()) break;
      ::poll(nullptr, 0, kBetweenAttempts_ms);
    }
  }
}

}  // namespace assay::agent
