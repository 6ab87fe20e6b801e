#include "agent/page_caches.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/files.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::agent {

namespace {

constexpr Nanoseconds kSyncLimit = std::chrono::seconds(60);
constexpr Nanoseconds kSudoLimit = std::chrono::seconds(30);

std::string last_line(const std::string& text) {
  const std::string_view trimmed = trim(text);
  return ellipsize(printable(trimmed.substr(trimmed.rfind('\n') + 1)), 200);
}

// Returns 0 or errno.
int write_three(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return errno;
  return ::write(fd.get(), "3\n", 2) == 2 ? 0 : errno;
}

}  // namespace

const std::vector<std::string>& drop_caches_by_sudo() {
  static const std::vector<std::string> command{"sudo", "-n", "/usr/sbin/sysctl", "-q",
                                                "vm.drop_caches=3"};
  return command;
}

CacheDrop drop_page_caches(const std::filesystem::path& root,
                           const std::vector<std::string>& fallback) {
  // Only clean pages are dropped. As a process of its own, sync can be abandoned. A root other than
  // "/" has no pages of its own.
  CommandOptions options;
  options.timeout = kSyncLimit;
  if (root == "/" && run_command({"sync"}, options).timed_out)
    return {false, fmt::format("sync took longer than {}", format_duration(kSyncLimit))};
  const int error = write_three(root / "proc/sys/vm/drop_caches");
  if (error == 0) return {true, "written by the agent"};
  const std::string refused = std::generic_category().message(error);
  if (fallback.empty() || !find_program(fallback.front()))
    return {false, fmt::format("vm.drop_caches: {}, and there is no sudo", refused)};
  options.timeout = kSudoLimit;
  const CommandResult result = run_command(fallback, options);
  if (result.status.ok() && !result.timed_out) return {true, "by sudo"};
  return {false, fmt::format("vm.drop_caches: {}; {}: {}", refused, join(fallback, " "),
                             result.timed_out     ? "no answer in time"
                             : result.err.empty() ? to_string(result.status)
                                                  : last_line(result.err))};
}

}  // namespace assay::agent
