#include "core/process_name.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "core/files.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay {

namespace {

// Distinguishes the same pid in another boot or namespace.
std::string prefix() {
  return fmt::format("{}:{}:", trim(read_file_or_empty("/proc/sys/kernel/random/boot_id")),
                     pid_namespace());
}

}  // namespace

// Field 22 of /proc/PID/stat.
std::string start_time(pid_t pid) {
  const std::string text = read_file_or_empty(fmt::format("/proc/{}/stat", pid));
  const auto close = text.rfind(')');  // the command name may hold anything, even ')'
  if (close == std::string::npos || close + 2 >= text.size()) return {};
  const auto words = split(std::string_view(text).substr(close + 2), ' ');
  constexpr std::size_t kStartTime = 19;  // counted from the state, which is field 3
  return words.size() > kStartTime ? std::string(words[kStartTime]) : std::string();
}

std::string pid_namespace() {
  std::error_code ec;
  const std::string link = std::filesystem::read_symlink("/proc/self/ns/pid", ec).string();
  const auto open = link.find('[');
  return ec || open == std::string::npos ? "0" : link.substr(open + 1, link.size() - open - 2);
}

std::string process_name(pid_t pid) {
  const std::string start = start_time(pid);
  return start.empty() ? "" : fmt::format("{}{}:{}", prefix(), pid, start);
}

std::optional<pid_t> find_process(std::string_view name) {
  const std::string here = prefix();
  if (!name.starts_with(here)) return std::nullopt;
  const auto words = split(name.substr(here.size()), ':');
  const auto pid = parse_number<pid_t>(words.front(), 2);
  if (words.size() != 2 || !pid || words[1].empty() || start_time(*pid) != words[1])
    return std::nullopt;
  return pid;
}

}  // namespace assay
