#include "agent/round_cgroup.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/fnv1a.h"
#include "core/parse_number.h"
#include "core/process_name.h"
#include "core/text.h"

namespace assay::agent {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "assay.";
constexpr std::size_t kMaxRunId = 64;
constexpr std::size_t kMaxFolders = 50'000;  // in a walk over all groups
constexpr int kMaxDepth = 24;
constexpr int kKillAttempts = 50;
constexpr int kBetweenAttempts_ms = 20;

// Does not decode the kernel's octal escapes ("\040"): no system's mount has blanks.
fs::path find_mount() {
  const std::string text = read_file_or_empty("/proc/self/mountinfo");
  for (const std::string_view line : split(text, '\n')) {
    const auto dash = line.find(" - cgroup2 ");
    if (dash == std::string_view::npos) continue;
    const auto words = split(line, ' ');
    if (words.size() > 4) return std::string(words[4]);
  }
  return {};
}

std::string own_group() {
  const std::string text = read_file_or_empty("/proc/self/cgroup");
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with("0::")) return std::string(line.substr(3));
  return {};
}

std::string name_hash(std::string_view text) {
  return fmt::format("{:016x}", fnv1a(text));
}

// assay.PIDNS.PID.START.HASH.RUN
struct GroupName {
  std::string pid_namespace;
  pid_t pid = 0;
  std::string start;
  std::string round;  ///< hashed
};

std::optional<GroupName> parse_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const auto words = split(name, '.');
  if (words.size() < 6) return std::nullopt;
  const auto pid = parse_number<pid_t>(words[2], 1);
  if (!pid) return std::nullopt;
  return GroupName{std::string(words[1]), *pid, std::string(words[3]), std::string(words[4])};
}

std::string name_of(std::string_view round_id) {
  std::string run(round_id.substr(0, std::min(round_id.find('/'), kMaxRunId)));
  for (char& c : run)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-') c = '_';
  return fmt::format("{}{}.{}.{}.{}.{}", kPrefix, pid_namespace(), ::getpid(),
                     start_time(::getpid()), name_hash(round_id), run);
}

// Processes of foreign pid namespaces appear as 0.
std::vector<pid_t> members(const fs::path& group) {
  std::vector<pid_t> out;
  const std::string text = read_file_or_empty(group / "cgroup.procs");
  for (const std::string_view line : split(text, '\n'))
    if (const auto pid = parse_number<pid_t>(line, 2)) out.push_back(*pid);
  return out;
}

bool is_ours(const fs::path& group) {
  struct stat found {};
  return ::geteuid() == 0 || (::stat(group.c_str(), &found) == 0 && found.st_uid == ::geteuid());
}

int kill_group(const fs::path& group) {
  std::set<pid_t> killed;
  for (int i = 0; i < kKillAttempts; ++i) {
    const std::vector<pid_t> left = members(group);
    if (left.empty() && ::rmdir(group.c_str()) == 0) break;
    if (left.empty() && errno != EBUSY) break;
    for (const pid_t pid : left)
      if (pid != ::getpid() && ::kill(pid, SIGKILL) == 0) killed.insert(pid);
    ::poll(nullptr, 0, kBetweenAttempts_ms);
  }
  return static_cast<int>(killed.size());
}

}  // namespace

CgroupPlace cgroup_place() {
  CgroupPlace place;
  place.mount = find_mount();
  if (place.mount.empty()) {
    place.problem = "there is no cgroup version 2";
    return place;
  }
  const std::string own = own_group();
  place.folder = place.mount / fs::path(own).relative_path();
  const fs::path trial = place.folder / fmt::format("assay-trial.{}", ::getpid());
  if (own.empty() || own.find("..") != std::string::npos)
    place.problem = "this process is in no group that is shown here";
  else if (::mkdir(trial.c_str(), 0755) != 0)
    place.problem = fmt::format("cannot make a group: {}", std::strerror(errno));
  else if (const UniqueFd procs(::open((trial / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
           !procs)
    place.problem = fmt::format("cannot put a process into a group: {}", std::strerror(errno));
  (void)::rmdir(trial.c_str());
  return place;
}

RoundCgroup::RoundCgroup(std::string_view round_id, const CgroupPlace& place) {
  if (!place.problem.empty()) return;
  const fs::path folder = place.folder / name_of(round_id);
  if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) return;
  folder_ = folder;
  procs_.reset(::open((folder / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
}

RoundCgroup::~RoundCgroup() {
  if (!folder_.empty()) (void)::rmdir(folder_.c_str());
}

int sweep_cgroups(const CgroupPlace& place, std::string_view round_id) {
  if (place.mount.empty()) return 0;
  const std::string here = pid_namespace();
  const std::string wanted = round_id.empty() ? "" : name_hash(round_id);
  std::vector<fs::path> found;
  std::size_t seen = 0;
  std::error_code ec;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(place.mount, options, ec), end; !ec && it != end;
       it.increment(ec)) {
    std::error_code gone;
    if (!it->is_directory(gone) || gone) continue;
    if (++seen > kMaxFolders) break;
    if (it.depth() >= kMaxDepth) it.disable_recursion_pending();
    const auto name = parse_name(it->path().filename().string());
    if (!name || name->pid_namespace != here || !is_ours(it->path())) continue;
    it.disable_recursion_pending();
    const bool stale = start_time(name->pid) != name->start;
    if (stale || (!wanted.empty() && name->round == wanted)) found.push_back(it->path());
  }
  int killed = 0;
  for (const fs::path& group : found) killed += kill_group(group);
  return killed;
}

}  // namespace assay::agent
