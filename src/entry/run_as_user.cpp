#include "entry/run_as_user.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "core/parse_number.h"
#include "core/process.h"
#include "core/subprocess.h"
#include "core/text.h"

namespace assay::entry {

namespace {

constexpr int kCannot = 255;
// Lower ids are the system's: a platform account with such a name must not get them.
constexpr uid_t kFirstPerson = 1000;
constexpr const char* kPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// An entry of passwd(5).
struct User {
  std::string name;
  uid_t uid = 0;
  std::string group;
  std::string home;
};

// A static program cannot ask directory services, but getent can.
std::optional<User> find_user(const std::string& name) {
  const CommandResult found = run_command({"getent", "--", "passwd", name});
  const std::string line(trim(found.out));
  const std::vector<std::string_view> fields = split(line, ':');
  if (!found.ok() || fields.size() != 7 || fields[0] != name) return std::nullopt;
  const auto uid = parse_number<uid_t>(fields[2]);
  if (!uid) return std::nullopt;
  return User{name, *uid, std::string(fields[3]), std::string(fields[5])};
}

}  // namespace

int run_as_user(const SshCall& call, const std::string& allowed) {
  const auto refuse = [&](const std::string& words) {
    fmt::print(stderr, "{}: {}\n", printable(call.user), words);
    return kCannot;
  };
  if (call.user.empty() || (allowed != kEveryOwner && call.user != allowed))
    return refuse("jobs do not run as this user here");
  const auto user = find_user(call.user);
  if (!user) return refuse("this machine has no such user, so its jobs cannot run");
  if (user->uid == 0 || (allowed == kEveryOwner && user->uid < kFirstPerson))
    return refuse("jobs do not run as a user of the system");
  std::vector<std::string> env{"HOME=" + user->home, "USER=" + user->name, "LOGNAME=" + user->name,
                               "SHELL=/bin/sh", std::string("PATH=") + kPath};
  if (const char* language = std::getenv("LANG")) env.push_back(std::string("LANG=") + language);
  // Includes the user's groups; the home must be accessible to them.
  std::vector<std::string> argv{"/usr/bin/setpriv",
                                "--reuid=" + std::to_string(user->uid),
                                "--regid=" + user->group,
                                "--init-groups",
                                "--",
                                "/bin/sh",
                                "-c",
                                "cd \"$HOME\" || exit 255; " + join(call.command, " ")};
  try {
    replace_process(argv, env);
  } catch (const SpawnError& error) {
    return refuse(error.message());
  }
}

}  // namespace assay::entry
