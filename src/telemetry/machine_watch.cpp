#include "telemetry/machine_watch.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cpu_set.h"
#include "core/env_names.h"
#include "core/text.h"
#include "core/time.h"
#include "telemetry/proc_text.h"
#include "telemetry/values.h"

namespace assay::telemetry {

namespace fs = std::filesystem;

namespace {

// Listing 100 processes takes a millisecond: these two keep the cost below 0.02 % of a core.
constexpr std::int64_t kBetweenLooks = 10 * kSecond;
constexpr std::int64_t kLooksCostAtMost = 5000;
constexpr std::int64_t kFirstLook = kSecond;
constexpr double kWorthNaming_s = 0.05;
constexpr std::size_t kMaxNamed = 5;
constexpr int kGenerations = 4;
constexpr std::size_t kMaxOnADevice = 256;
// Computes on behalf of others (MPS).
constexpr std::string_view kDeviceService = "nvidia-cuda-mps";

// Start processes for others, including the round's, and are charged for their time.
constexpr std::array<std::string_view, 5> kServices{"containerd-shim", "containerd", "dockerd",
                                                    "runc", "slurmstepd"};

template <class T>
std::optional<T> increase(const std::optional<T>& from, const std::optional<T>& to) {
  if (!from || !to) return std::nullopt;
  return *to > *from ? *to - *from : T{};
}

}  // namespace

double self_and_children_s() {
  double sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    for (const timeval& t : {usage.ru_utime, usage.ru_stime})
      sum += static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  }
  return sum;
}

MachineWatch::MachineWatch(Setup setup, std::int64_t mono_ns)
    : setup_(std::move(setup)),
      stat_(setup_.root / "proc/stat"),
      pressure_(setup_.root / "proc/pressure/memory"),
      vmstat_(setup_.root / "proc/vmstat"),
      started_ns_(mono_ns),
      next_look_ns_(mono_ns + kFirstLook) {
  if (setup_.self == 0) setup_.self = ::getpid();
  if (setup_.cpus.empty()) setup_.cpus = CpuSet::usable().cpus();
  for (const int cpu : setup_.cpus) {
    const auto at = static_cast<std::size_t>(cpu);
    if (at >= allowed_.size()) allowed_.resize(at + 1);
    allowed_[at] = true;
  }
  use_.ranks = setup_.ranks;
  use_.listed = setup_.lists_processes;
  use_.own_elsewhere = setup_.ranks_elsewhere;
  use_.cpus = static_cast<int>(setup_.cpus.size());
  use_.boot_id =
      printable(trim(ProcFile(setup_.root / "proc/sys/kernel/random/boot_id").read(buffer_)));
  read_before();
  first_ = read_counters();
  first_throttling_ = read_throttling();
  first_listing_ = list_processes();
}

// "0.52 0.58 0.59 2/1050 4567": three means, runnable tasks (including this one) and all tasks.
void MachineWatch::read_before() {
  std::string_view text = ProcFile(setup_.root / "proc/loadavg").read(buffer_);
  next_number(text, use_.load);
  next_word(text);
  next_word(text);
  std::string_view tasks = next_word(text);
  tasks = tasks.substr(0, tasks.find('/'));
  int runnable = 0;
  if (next_number(tasks, runnable)) use_.runnable = std::max(0, runnable - 1);
}

MachineWatch::Counters MachineWatch::read_counters() {
  static const double kTick_s = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  Counters out;
  std::string_view rest = stat_.read(buffer_);
  while (!rest.empty()) {
    std::string_view line = next_line(rest);
    if (!line.starts_with("cpu")) break;
    line.remove_prefix(3);
    std::uint64_t cpu = 0;
    if (line.starts_with(' ') || !next_number(line, cpu)) continue;
    if (cpu >= allowed_.size() || !allowed_[cpu]) continue;
    std::array<std::uint64_t, 8> ticks{};  // user nice system idle iowait irq softirq steal
    for (std::uint64_t& value : ticks)
      if (!next_number(line, value)) break;
    const auto sum = [&](std::initializer_list<std::size_t> fields) {
      std::uint64_t total = 0;
      for (const std::size_t field : fields) total += ticks.at(field);
      return static_cast<double>(total) * kTick_s;
    };
    out.user_system_s += sum({0, 1, 2});
    out.not_busy_s += sum({3, 4, 5, 6, 7});
    out.steal_s += sum({7});
  }
  // "some avg10=0.00 avg60=0.00 avg300=0.00 total=0", in microseconds.
  std::string_view pressure = pressure_.read(buffer_);
  std::string_view some = next_line(pressure);
  if (const auto at = some.find("total="); some.starts_with("some") && at != some.npos) {
    some.remove_prefix(at + 6);
    std::uint64_t micros = 0;
    if (next_number(some, micros)) out.memory_stalled_s = static_cast<double>(micros) * 1e-6;
  }
  static const auto kPage = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  rest = vmstat_.read(buffer_);
  while (!rest.empty()) {
    std::string_view line = next_line(rest);
    const std::string_view key = next_word(line);
    std::uint64_t pages = 0;
    if ((key == "pswpin" || key == "pswpout") && next_number(line, pages))
      out.swapped_bytes = out.swapped_bytes.value_or(0) + pages * kPage;
  }
  return out;
}

// Milliseconds of throttling by counter: per core, and per package as seen from each core.
std::map<std::string, double> MachineWatch::read_throttling() const {
  std::map<std::string, double> out;
  std::vector<char> buffer;
  for (const int cpu : setup_.cpus) {
    const fs::path folder =
        setup_.root / fmt::format("sys/devices/system/cpu/cpu{}/thermal_throttle", cpu);
    std::error_code ec;
    if (out.empty() && !fs::exists(folder, ec)) return out;
    for (const char* name : {"core_throttle_total_time_ms", "package_throttle_total_time_ms"}) {
      std::string_view text = ProcFile(folder / name).read(buffer);
      std::string_view line = next_line(text);
      std::uint64_t ms = 0;
      if (next_number(line, ms)) out[(folder / name).string()] = static_cast<double>(ms);
    }
  }
  return out;
}

bool MachineWatch::carries_round(pid_t pid) const {
  std::vector<char> buffer;
  const std::string_view text =
      ProcFile(setup_.root / "proc" / std::to_string(pid) / "environ").read(buffer);
  const std::string wanted = fmt::format("{}={}", kRoundVariable, setup_.round_id);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\0');
    if (rest.substr(0, end) == wanted) return true;
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return false;
}

MachineWatch::Listing MachineWatch::list_processes() {
  const double own_before = setup_.own_s();
  if (!setup_.lists_processes) return {.own_s = own_before};
  const std::vector<ProcessTimes> all = read_processes(setup_.root);
  std::unordered_map<pid_t, const ProcessTimes*> by_pid;
  for (const ProcessTimes& process : all) by_pid.emplace(process.pid, &process);
  const auto parent_of = [&](const ProcessTimes& process) -> const ProcessTimes* {
    const auto parent = by_pid.find(process.parent);
    return parent == by_pid.end() || parent->first == process.pid ? nullptr : parent->second;
  };
  // The controller, if it runs here and started this agent.
  pid_t starter = 0;
  if (const auto self = by_pid.find(setup_.self); self != by_pid.end()) {
    const ProcessTimes* up = self->second;
    for (int i = 0; i < kGenerations && starter == 0 && (up = parent_of(*up)) != nullptr; ++i)
      if (up->name == "assay") starter = up->pid;
  }
  struct Place {
    bool below_self = false;
    bool below_starter = false;
    bool below_an_agent = false;
  };
  const auto place_of = [&](const ProcessTimes& process) {
    Place place;
    std::size_t steps = 0;  // a listing that is not a snapshot might contain a cycle
    for (const ProcessTimes* at = &process; at != nullptr && steps <= all.size();
         at = parent_of(*at), ++steps) {
      place.below_self = place.below_self || at->pid == setup_.self;
      place.below_starter = place.below_starter || (starter != 0 && at->pid == starter);
      place.below_an_agent = place.below_an_agent || at->name == "assay-agent";
    }
    return place;
  };

  Listing out;
  out.own_s = own_before;
  own_processes_.clear();
  std::vector<ProcessTimes> foreign;
  std::uint64_t newest = 0;
  for (const ProcessTimes& process : all) {
    newest = std::max(newest, process.started);
    if (process.kernel) {
      out.kernel_s += process.own_s;
      continue;
    }
    if (process.pid == setup_.self) continue;
    if (process.pid == starter) {
      out.starter_s = process.own_s;
      continue;
    }
    const Place place = place_of(process);
    if (place.below_self) {
      out.own_s += process.own_s + process.children_s;
      own_processes_.push_back(process.pid);
      continue;
    }
    if (place.below_starter) continue;  // another agent of this run, or below it
    const bool young = newest_at_start_ != 0 && process.started >= newest_at_start_;
    if (young && carries_round(process.pid)) {
      use_.own_elsewhere = use_.own_elsewhere || !place.below_an_agent;
      own_processes_.push_back(process.pid);
      continue;
    }
    foreign.push_back(process);
  }
  use_.starter_pid = starter;
  if (newest_at_start_ == 0) newest_at_start_ = newest;
  ledger_.observe(foreign);
  ask_for_owners();
  return out;
}

// Asks while they exist: nobody can tell afterwards.
void MachineWatch::ask_for_owners() {
  for (auto& [pid, entry] : ledger_.entries()) {
    if (entry.uid || entry.used_s < kWorthNaming_s) continue;
    struct stat info {};
    const fs::path folder = setup_.root / "proc" / std::to_string(pid);
    if (::stat(folder.c_str(), &info) == 0) entry.uid = info.st_uid;
  }
}

void MachineWatch::look(std::int64_t mono_ns) {
  if (mono_ns < next_look_ns_) return;
  const std::int64_t before = mono_now_ns();
  list_processes();
  next_look_ns_ = mono_ns + std::max(kBetweenLooks, kLooksCostAtMost * (mono_now_ns() - before));
}

std::vector<MachineUse::Program> MachineWatch::worst_programs(double& named_s) const {
  struct Group {
    MachineUse::Program program;
    double largest_s = 0;
  };
  std::map<std::pair<std::string, std::optional<uid_t>>, Group> groups;
  named_s = 0;
  const auto add = [&](const ProgramLedger::Entry& entry) {
    const auto processor = static_cast<std::size_t>(std::max(0, entry.last.processor));
    if (entry.used_s <= 0 || processor >= allowed_.size() || !allowed_[processor]) return;
    if (use_.own_elsewhere && std::ranges::find(kServices, entry.last.name) != kServices.end())
      return;
    named_s += entry.used_s;
    const auto [place, is_new] = groups.try_emplace({entry.last.name, entry.uid});
    Group& group = place->second;
    if (!is_new) ++group.program.processes;
    group.program.cpu_s += entry.used_s;
    if (entry.used_s <= group.largest_s) return;
    group.largest_s = entry.used_s;
    group.program.pid = entry.last.pid;
  };
  for (const ProgramLedger::Entry& entry : ledger_.ended()) add(entry);
  for (const auto& [pid, entry] : ledger_.entries()) add(entry);

  std::vector<MachineUse::Program> out;
  for (auto& [key, group] : groups) {
    if (group.program.cpu_s < kWorthNaming_s) continue;
    group.program.name = printable(key.first);
    if (key.second) group.program.user = user_name(*key.second, setup_.root);
    out.push_back(std::move(group.program));
  }
  std::ranges::sort(out, std::greater<>(), &MachineUse::Program::cpu_s);
  if (out.size() > kMaxNamed) out.resize(kMaxNamed);
  return out;
}

void MachineWatch::device_processes(int device, const std::vector<int>& pids) {
  auto& known = on_devices_[device];
  std::vector<ProcessTimes> all;
  for (const int pid : pids) {
    if (known.contains(pid) || known.size() >= kMaxOnADevice) continue;
    if (all.empty()) all = read_processes(setup_.root);
    const auto find = [&](pid_t wanted) {
      const auto at = std::ranges::lower_bound(all, wanted, {}, &ProcessTimes::pid);
      return at != all.end() && at->pid == wanted ? &*at : nullptr;
    };
    const ProcessTimes* process = find(pid);
    if (process == nullptr || process->name.starts_with(kDeviceService)) continue;
    bool own = carries_round(pid);
    std::size_t steps = 0;
    for (const ProcessTimes* at = process; at != nullptr && !own && ++steps <= all.size();
         at = find(at->parent))
      own = at->pid == setup_.self;
    auto& entry = known[pid];
    if (own) continue;
    struct stat info {};
    const fs::path folder = setup_.root / "proc" / std::to_string(pid);
    const bool owned = ::stat(folder.c_str(), &info) == 0;
    entry = MachineUse::DeviceUser{device, printable(process->name),
                                   owned ? user_name(info.st_uid, setup_.root) : "unknown", pid};
  }
}

MachineUse MachineWatch::finish(std::int64_t mono_ns) {
  const Counters last = read_counters();
  const std::map<std::string, double> throttling = read_throttling();
  const Listing listing = list_processes();
  use_.seconds = static_cast<double>(mono_ns - started_ns_) / 1e9;
  // Ticks and idle time are counted differently, each with its own errors: no process is accused on
  // one of them alone.
  const double by_ticks = last.user_system_s - first_.user_system_s;
  const double by_idle = use_.cpus * use_.seconds - (last.not_busy_s - first_.not_busy_s);
  use_.busy_s = std::max(0.0, std::min(by_ticks, by_idle));
  use_.own_s = std::max(0.0, listing.own_s - first_listing_.own_s);
  use_.kernel_s = std::max(0.0, listing.kernel_s - first_listing_.kernel_s);
  use_.starter_s = std::max(0.0, listing.starter_s - first_listing_.starter_s);
  use_.steal_s = std::max(0.0, last.steal_s - first_.steal_s);
  use_.memory_stalled_s = increase(first_.memory_stalled_s, last.memory_stalled_s);
  use_.swapped_bytes = increase(first_.swapped_bytes, last.swapped_bytes);
  for (const auto& [counter, ms] : throttling)
    if (const auto before = first_throttling_.find(counter); before != first_throttling_.end())
      use_.throttled_s =
          std::max(use_.throttled_s.value_or(0), std::max(0.0, ms - before->second) / 1e3);
  use_.others = worst_programs(use_.named_s);
  for (const auto& [device, processes] : on_devices_) {
    const auto is_own = [](const auto& process) { return !process.second.has_value(); };
    if (std::ranges::none_of(processes, is_own)) continue;
    if (!use_.device_users) use_.device_users.emplace();
    for (const auto& [pid, user] : processes)
      if (user) use_.device_users->push_back(*user);
  }
  return use_;
}

}  // namespace assay::telemetry
