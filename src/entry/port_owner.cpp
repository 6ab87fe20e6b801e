#include "entry/port_owner.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "core/env_names.h"
#include "core/files.h"
#include "core/parse_number.h"
#include "core/process_tree.h"
#include "core/text.h"

namespace assay::entry {

namespace fs = std::filesystem;

namespace {

// 0.0.0.0, 127.0.0.1, ::, ::1 and 127.0.0.1 as IPv6, in the order of bytes that /proc/net has.
constexpr std::array<std::string_view, 5> kReached{
    "00000000", "0100007F", "00000000000000000000000000000000", "00000000000000000000000001000000",
    "0000000000000000FFFF00000100007F"};
constexpr std::string_view kListening = "0A";

void add_sockets(pid_t pid, std::set<std::uint64_t>& sockets) {
  constexpr std::string_view kSocket = "socket:[";
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), ec)) {
    const std::string target = fs::read_symlink(entry.path(), ec).string();
    if (!target.starts_with(kSocket)) continue;
    const std::string_view number(target.data() + kSocket.size(),
                                  target.size() - kSocket.size() - 1);
    if (const auto inode = parse_number<std::uint64_t>(number)) sockets.insert(*inode);
  }
}

std::string cgroup_of(const std::string& process) {
  const std::string groups = read_file_or_empty("/proc/" + process + "/cgroup");
  for (const std::string_view line : split(groups, '\n'))
    if (line.starts_with("0::")) return std::string(line.substr(3));
  return {};
}

// The members of the round's own control group, where the agent could make one.
std::vector<pid_t> cgroup_members(const RankPlace& place) {
  const std::string group = cgroup_of(std::to_string(place.pid));
  if (group.empty() || group == cgroup_of("self")) return {};
  std::vector<pid_t> members;
  const std::string text = read_file_or_empty("/sys/fs/cgroup" + group + "/cgroup.procs");
  for (const std::string_view line : split(text, '\n'))
    if (const auto pid = parse_number<pid_t>(line)) members.push_back(*pid);
  return members;
}

}  // namespace

std::set<std::uint64_t> listening_inodes(std::string_view table, int port) {
  constexpr std::size_t kLocal = 1;
  constexpr std::size_t kState = 3;
  constexpr std::size_t kInode = 9;
  const std::string wanted = fmt::format(":{:04X}", port);
  std::set<std::uint64_t> inodes;
  for (const std::string_view line : split(table, '\n')) {
    std::vector<std::string_view> words;
    for (const std::string_view word : split(line, ' '))
      if (!word.empty()) words.push_back(word);
    if (words.size() <= kInode || words[kState] != kListening) continue;
    const std::string_view local = words[kLocal];
    if (!local.ends_with(wanted)) continue;
    if (std::ranges::find(kReached, local.substr(0, local.size() - wanted.size())) ==
        kReached.end())
      continue;
    if (const auto inode = parse_number<std::uint64_t>(words[kInode])) inodes.insert(*inode);
  }
  return inodes;
}

bool port_belongs_to(const std::string& round, const RankPlace& place, int port) {
  std::set<std::uint64_t> left;
  for (const char* table : {"tcp", "tcp6"})
    left.merge(listening_inodes(read_file_or_empty(fmt::format("/proc/net/{}", table)), port));
  std::set<pid_t> seen;
  const auto look = [&](const std::vector<pid_t>& pids) {
    std::set<std::uint64_t> sockets;
    for (const pid_t pid : pids)
      if (seen.insert(pid).second) add_sockets(pid, sockets);
    std::erase_if(left, [&](std::uint64_t inode) { return sockets.contains(inode); });
    return left.empty();
  };
  std::vector<pid_t> marked = processes_of_round(round);
  for (const pid_t pid : processes_with(kEnteredVariable, round)) marked.push_back(pid);
  if (look(marked) || look(cgroup_members(place))) return true;
  // A program that was started with another environment still descends from one of them.
  return std::ranges::any_of(marked, [&](pid_t pid) { return look(descendants(pid)); });
}

}  // namespace assay::entry
