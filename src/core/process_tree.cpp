#include "core/process_tree.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "core/env_names.h"
#include "core/files.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay {

namespace {

std::vector<pid_t> all_pids() {
  std::vector<pid_t> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  if (!proc) return pids;
  while (const dirent* entry = ::readdir(proc.get())) {
    if (const auto pid = parse_number<pid_t>(entry->d_name)) pids.push_back(*pid);
  }
  return pids;
}

struct Stat {
  char state = 0;
  pid_t parent = 0;
  std::uint64_t ticks = 0;  // of CPU, including children it has waited for
};

// User and system time, its own and of waited-for children: fields 14 to 17 of /proc/PID/stat.
std::uint64_t ticks_of(std::string_view after_name) {
  constexpr std::size_t kFirst = 11;  // the state is field 3
  std::uint64_t sum = 0;
  std::size_t field = 0;
  while (!after_name.empty() && field < kFirst + 4) {
    const auto end = std::min(after_name.find(' '), after_name.size());
    if (field++ >= kFirst)
      sum += parse_number<std::uint64_t>(after_name.substr(0, end)).value_or(0);
    after_name.remove_prefix(std::min(end + 1, after_name.size()));
  }
  return sum;
}

std::optional<Stat> read_stat(pid_t pid) {
  const std::string text = read_file_or_empty("/proc/" + std::to_string(pid) + "/stat");
  const auto close = text.rfind(')');  // the command name may hold anything, even ')'
  if (close == std::string::npos || close + 4 >= text.size()) return std::nullopt;
  Stat stat{text[close + 2], 0, ticks_of(std::string_view(text).substr(close + 2))};
  std::from_chars(text.data() + close + 4, text.data() + text.size(), stat.parent);
  return stat;
}

bool dead(char state) {
  return state == 'Z' || state == 'X' || state == 'x';
}

}  // namespace

std::vector<pid_t> descendants(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  std::set<pid_t> zombies;
  for (const pid_t pid : all_pids()) {
    const auto stat = read_stat(pid);
    if (!stat) continue;
    children.emplace(stat->parent, pid);
    if (dead(stat->state)) zombies.insert(pid);
  }
  std::vector<pid_t> found;
  std::vector<pid_t> todo{root};
  while (!todo.empty()) {
    const pid_t parent = todo.back();
    todo.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto it = first; it != last; ++it) {
      if (!zombies.contains(it->second)) found.push_back(it->second);
      todo.push_back(it->second);
    }
  }
  return found;
}

std::vector<pid_t> processes_of_round(std::string_view round_id) {
  return processes_with(kRoundVariable, round_id);
}

std::vector<pid_t> processes_with(std::string_view variable, std::string_view value) {
  std::string needle(variable);
  needle += "=";
  needle += value;
  needle += '\0';
  std::vector<pid_t> found;
  for (const pid_t pid : all_pids()) {
    if (pid == ::getpid()) continue;
    const std::string environment = read_file_or_empty("/proc/" + std::to_string(pid) + "/environ");
    const auto at = environment.find(needle);
    const bool carries = at == 0 || (at != std::string::npos && environment[at - 1] == '\0');
    if (carries && !dead(process_state(pid))) found.push_back(pid);
  }
  return found;
}

std::vector<double> tree_cpu_s(const std::vector<pid_t>& roots) {
  std::multimap<pid_t, pid_t> children;
  std::map<pid_t, std::uint64_t> ticks;
  for (const pid_t pid : all_pids()) {
    const auto stat = read_stat(pid);
    if (!stat) continue;
    children.emplace(stat->parent, pid);
    ticks[pid] = stat->ticks;
  }
  const double per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::vector<double> out;
  for (const pid_t root : roots) {
    std::uint64_t sum = 0;
    std::vector<pid_t> todo{root};
    while (!todo.empty()) {
      const pid_t pid = todo.back();
      todo.pop_back();
      if (const auto found = ticks.find(pid); found != ticks.end()) sum += found->second;
      const auto [first, last] = children.equal_range(pid);
      for (auto it = first; it != last; ++it) todo.push_back(it->second);
    }
    out.push_back(static_cast<double>(sum) / per_second);
  }
  return out;
}

std::vector<pid_t> telling_processes(const std::vector<pid_t>& roots) {
  std::multimap<pid_t, pid_t> children;
  std::map<pid_t, char> states;
  for (const pid_t pid : all_pids()) {
    const auto stat = read_stat(pid);
    if (!stat || dead(stat->state)) continue;
    children.emplace(stat->parent, pid);
    states[pid] = stat->state;
  }
  const auto is_in = [&](pid_t pid, std::string_view wanted) {
    const auto found = states.find(pid);
    return found != states.end() && wanted.find(found->second) != std::string_view::npos;
  };
  std::vector<pid_t> out;
  for (const pid_t root : roots) {
    std::vector<pid_t> tree{root};
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const auto [first, last] = children.equal_range(tree[i]);
      for (auto it = first; it != last; ++it) tree.push_back(it->second);
    }
    pid_t telling = root;
    while (children.count(telling) == 1) telling = children.find(telling)->second;
    for (const std::string_view wanted : {"Tt", "D"}) {
      const auto found = std::ranges::find_if(tree, [&](pid_t pid) { return is_in(pid, wanted); });
      if (found == tree.end()) continue;
      telling = *found;
      break;
    }
    out.push_back(telling);
  }
  return out;
}

bool is_below(pid_t pid, std::string_view program) {
  constexpr int kDeepest = 1000;  // parents may change while this reads them
  for (int i = 0; pid > 1 && i < kDeepest; ++i) {
    const std::string name = read_file_or_empty("/proc/" + std::to_string(pid) + "/comm");
    if (trim(name) == program.substr(0, 15)) return true;
    const auto stat = read_stat(pid);
    if (!stat) return false;
    pid = stat->parent;
  }
  return false;
}

std::string wait_channel(pid_t pid) {
  std::string name = read_file_or_empty("/proc/" + std::to_string(pid) + "/wchan");
  return name == "0" ? std::string() : name;
}

char process_state(pid_t pid) {
  const auto stat = read_stat(pid);
  return stat ? stat->state : '\0';
}

int sweep_round(std::string_view round_id, int attempts) {
  return sweep_processes(kRoundVariable, round_id, attempts);
}

int sweep_processes(std::string_view variable, std::string_view value, int attempts) {
  std::set<pid_t> killed;
  for (int i = 0; i < attempts; ++i) {
    const std::vector<pid_t> left = processes_with(variable, value);
    if (left.empty()) break;
    for (const pid_t pid : left) {
      if (::kill(pid, SIGKILL) == 0) killed.insert(pid);
    }
    ::poll(nullptr, 0, 20);  // a killed process needs a moment to leave /proc
  }
  return static_cast<int>(killed.size());
}

}  // namespace assay
