#include "entry/run_as_user.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "core/text.h"

namespace assay::entry {

namespace {

constexpr int kCannot = 255;
// Below are the system's own: an account of the platform must not get them by its name.
constexpr uid_t kFirstPerson = 1000;
constexpr const char* kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

bool become(const passwd& user) {
  return ::initgroups(user.pw_name, user.pw_gid) == 0 &&
         ::setresgid(user.pw_gid, user.pw_gid, user.pw_gid) == 0 &&
         ::setresuid(user.pw_uid, user.pw_uid, user.pw_uid) == 0 && ::setuid(0) != 0;
}

}  // namespace

int run_as_user(const SshCall& call, const std::string& allowed) {
  const auto refuse = [&](const std::string& words) {
    fmt::print(stderr, "{}: {}\n", printable(call.user), words);
    return kCannot;
  };
  if (call.user.empty() || (allowed != kEveryOwner && call.user != allowed))
    return refuse("jobs do not run as this user here");
  const passwd* user = ::getpwnam(call.user.c_str());
  if (user == nullptr) return refuse("this machine has no such user, so its jobs cannot run");
  if (user->pw_uid == 0 || (allowed == kEveryOwner && user->pw_uid < kFirstPerson))
    return refuse("jobs do not run as a user of the system");
  const std::string shell = *user->pw_shell == '\0' ? "/bin/sh" : user->pw_shell;
  std::vector<std::string> env{
      std::string("HOME=") + user->pw_dir, std::string("USER=") + user->pw_name,
      std::string("LOGNAME=") + user->pw_name, "SHELL=" + shell, std::string("PATH=") + kPath};
  if (const char* language = std::getenv("LANG")) env.push_back(std::string("LANG=") + language);
  const std::string home = user->pw_dir;
  if (!become(*user))
    return refuse(std::string("cannot become this user: ") + std::strerror(errno));
  if (::chdir(home.c_str()) != 0)
    return refuse("their home " + home + " cannot be used: " + std::strerror(errno));
  std::string command = join(call.command, " ");
  std::string name = shell;
  std::string option = "-c";
  char* const argv[] = {name.data(), option.data(), command.data(), nullptr};
  std::vector<char*> variables;
  for (std::string& one : env) variables.push_back(one.data());
  variables.push_back(nullptr);
  ::execve(shell.c_str(), argv, variables.data());
  return refuse("their shell " + shell + " cannot be executed: " + std::strerror(errno));
}

}  // namespace assay::entry
