#include "entry/rank_place.h"

#include <algorithm>

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "core/env_names.h"
#include "core/files.h"
#include "core/process_tree.h"
#include "core/text.h"

namespace assay::entry {

namespace {

std::string proc(pid_t pid, const char* file) {
  return fmt::format("/proc/{}/{}", pid, file);
}

std::string link_target(const std::string& path) {
  std::string out(4096, '\0');
  const ssize_t n = ::readlink(path.c_str(), out.data(), out.size());
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

std::string_view name_of(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

}  // namespace

std::string RankPlace::variable(std::string_view name) const {
  for (const std::string& entry : env)
    if (name_of(entry) == name && entry.size() > name.size()) return entry.substr(name.size() + 1);
  return {};
}

std::vector<std::string> environment_beside(std::string_view environ, const std::string& round) {
  std::vector<std::string> out;
  for (const std::string_view entry : split(environ, '\0'))
    if (entry.find('=') != std::string_view::npos && name_of(entry) != kRoundVariable &&
        name_of(entry) != kEnteredVariable)
      out.emplace_back(entry);
  out.push_back(std::string(kEnteredVariable) + "=" + round);
  return out;
}

std::optional<RankPlace> find_place(const std::string& round, pid_t pid) {
  // Process numbers are reused: only a process with the mark counts.
  std::vector<pid_t> pids = processes_of_round(round);
  std::ranges::sort(pids);
  if (const auto found = std::ranges::find(pids, pid); found != pids.end())
    std::rotate(pids.begin(), found, found + 1);
  for (const pid_t one : pids) {
    const std::string environ = read_file_or_empty(proc(one, "environ"));
    std::string folder = link_target(proc(one, "cwd"));
    if (environ.empty() || folder.empty()) continue;
    return RankPlace{one, environment_beside(environ, round), std::move(folder)};
  }
  return std::nullopt;
}

void share_processors(const RankPlace& place) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(place.pid, sizeof set, &set) == 0)
    (void)::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace assay::entry
