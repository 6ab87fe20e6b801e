#include "launch/agents/spawn.h"

#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include "core/error.h"

namespace assay::launch {

Child spawn_child(const std::vector<std::string>& argv, const std::string& label) {
  Pipe to = make_pipe();
  Pipe from = make_pipe();
  Pipe errors = make_pipe();
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, to.read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.write.get(), STDERR_FILENO);
  sigset_t none;
  sigset_t defaults;
  sigemptyset(&none);
  sigfillset(&defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t pid = -1;
  const int rc = posix_spawnp(&pid, words[0], &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (rc != 0) throw system_error(ErrorKind::launch, "cannot start '" + argv[0] + "'", label, rc);
  return {pid, std::move(to.write), std::move(from.read), std::move(errors.read)};
}

}  // namespace assay::launch
