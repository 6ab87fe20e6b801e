#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include "core/files.h"
#include "core/processors.h"
#include "core/text.h"
#include "core/units.h"
#include "probe/checks.h"
#include "probe/readings.h"

namespace assay::probe {

namespace {

namespace fs = std::filesystem;

std::string bytes_text(std::uint64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

struct Space {
  std::uint64_t total = 0;
  std::uint64_t free = 0;  // for users other than root
};

std::optional<Space> space_at(const fs::path& path) {
  struct statvfs info {};
  if (statvfs(path.c_str(), &info) != 0) return std::nullopt;
  return Space{info.f_frsize * info.f_blocks, info.f_frsize * info.f_bavail};
}

/// The path itself, or its nearest existing parent.
fs::path existing(const fs::path& path) {
  std::error_code error;
  fs::path out = fs::absolute(path, error).lexically_normal();
  while (!fs::exists(out, error) && out.has_relative_path()) out = out.parent_path();
  return out;
}

Check memory(const CheckOptions& options) {
  const auto available = meminfo(options.root, "MemAvailable");
  const auto limit = cgroup_memory(options.root);
  if (!available) return {"memory", Level::warn, "available memory cannot be read", ""};
  const bool limited = limit && *limit < *available;
  const std::uint64_t usable = limited ? *limit : *available;
  std::string seen = fmt::format("{} available", bytes_text(*available));
  if (limited) seen += fmt::format(", {} allowed by the cgroup", bytes_text(*limit));
  if (usable >= options.required_memory_bytes) return {"memory", Level::pass, seen, ""};
  return {"memory", Level::fail,
          seen + fmt::format(", {} needed", bytes_text(options.required_memory_bytes)),
          limited ? "raise the memory limit of the container or job"
                  : "stop other programs, or run fewer ranks"};
}

Check swap(const CheckOptions& options) {
  const auto total = meminfo(options.root, "SwapTotal");
  const auto free = meminfo(options.root, "SwapFree");
  if (!total || !free || *total == 0) return {"swap", Level::pass, "no swap", ""};
  const std::uint64_t used = *total - std::min(*free, *total);
  const std::string seen =
      fmt::format("{} of {} swap in use", bytes_text(used), bytes_text(*total));
  constexpr std::uint64_t kHarmless = 100ULL << 20;  // unneeded old pages
  if (used <= kHarmless) return {"swap", Level::pass, seen, ""};
  return {"swap", Level::warn, seen,
          "memory was short: paging disturbs measurements; free memory, then swapoff and swapon"};
}

Check disk(const CheckOptions& options) {
  const fs::path folder = existing(options.out_dir);
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return {"disk", Level::fail, fmt::format("{} is not writable", folder.string()),
            "choose another folder with --out, or change its permissions"};
  const auto space = space_at(folder);
  if (!space)
    return {"disk", Level::warn, fmt::format("free space at {} cannot be read", folder.string()),
            ""};
  const std::string seen = fmt::format("{} free at {}", bytes_text(space->free), folder.string());
  if (space->free >= options.required_disk_bytes) return {"disk", Level::pass, seen, ""};
  return {"disk", Level::fail,
          seen + fmt::format(", {} needed", bytes_text(options.required_disk_bytes)),
          "free space, or choose another folder with --out"};
}

Check shared_memory(const CheckOptions& options) {
  const auto space = space_at(options.root / "dev/shm");
  if (!space)
    return {"shm", Level::warn, "there is no /dev/shm",
            "frameworks exchange batches and gradients through it: mount it"};
  const std::string seen =
      fmt::format("/dev/shm has {} free of {}", bytes_text(space->free), bytes_text(space->total));
  const std::uint64_t each = are_processors(options.vendor) ? 16ULL << 20 : 256ULL << 20;
  const std::uint64_t wanted = each * static_cast<std::uint64_t>(std::max(options.procs, 1));
  if (space->free >= wanted) return {"shm", Level::pass, seen, ""};
  return {"shm", Level::warn, seen + fmt::format(", {} advised", bytes_text(wanted)),
          "containers start with 64 MiB: give --shm-size; else remount /dev/shm larger"};
}

Check governor(const Cpus& cpus) {
  if (cpus.governors.empty())
    return {"governor", Level::pass, "the kernel does not control the CPU frequency here", ""};
  const std::string seen = join(cpus.governors, ", ");
  if (cpus.governors.size() == 1 && seen == "performance")
    return {"governor", Level::pass, seen, ""};
  return {"governor", Level::warn, seen,
          "the frequency follows the load, which adds spread: cpupower frequency-set -g "
          "performance"};
}

Check load(const CheckOptions& options, int threads) {
  const std::string text = line_of(options.root / "proc/loadavg");
  double one_minute = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), one_minute);
  if (error != std::errc{}) return {"load", Level::warn, "the load cannot be read", ""};
  const std::string seen = fmt::format("load {:.2f} on {} CPUs", one_minute, threads);
  // No measurement is valid while other work keeps half of the CPUs busy.
  if (threads <= 0 || one_minute <= std::max(1.0, threads * 0.5))
    return {"load", Level::pass, seen, ""};
  return {"load", Level::warn, seen, "other work runs on this machine: stop it, or wait"};
}

/// CPUs usable by this process: online, and within its affinity and quota.
double usable_cpus(const CheckOptions& options, const Cpus& cpus) {
  double usable = cpus.threads;
  if (const CpuSet allowed = allowed_cpus(options.root); !allowed.empty())
    usable = std::min(usable, static_cast<double>(allowed.size()));
  if (const auto quota = cgroup_cpus(options.root)) usable = std::min(usable, *quota);
  return usable;
}

Check cpu_quota(const CheckOptions& options, const Cpus& cpus) {
  const auto quota = cgroup_cpus(options.root);
  if (!quota) return {"cpu-quota", Level::pass, "no CPU quota", ""};
  const std::string seen =
      fmt::format("the cgroup allows {} of {} CPUs", format_number(*quota), cpus.threads);
  if (*quota >= cpus.threads) return {"cpu-quota", Level::pass, seen, ""};
  return {"cpu-quota", Level::warn, seen,
          "processes are stopped for parts of every period when they exceed it: raise the quota, "
          "or limit the threads of each rank"};
}

Check oversubscription(const CheckOptions& options, const Cpus& cpus) {
  const double usable = usable_cpus(options, cpus);
  const std::string seen = counted(options.procs, "rank") + " on " + format_number(usable) +
                           (usable == 1 ? " usable CPU" : " usable CPUs");
  if (cpus.threads <= 0)
    return {"ranks-per-cpu", Level::warn, "the number of CPUs cannot be read", ""};
  if (options.procs <= usable) return {"ranks-per-cpu", Level::pass, seen, ""};
  return {"ranks-per-cpu", Level::warn, seen,
          "ranks share CPUs and disturb each other: use at most one rank per CPU"};
}

/// Whether the clock is synchronized, as the kernel reports it; nothing when unknown.
std::optional<bool> kernel_clock_synchronized(const fs::path& root) {
  if (root != "/") return std::nullopt;
  timex query{};
  const int state = adjtimex(&query);
  if (state < 0) return std::nullopt;
  return state != TIME_ERROR && (query.status & STA_UNSYNC) == 0;
}

std::string limit_text(const std::optional<std::uint64_t>& limit) {
  return limit ? std::to_string(*limit) : "unlimited";
}

Check limit_check(const std::string& id, const ProcessLimit& limit, std::uint64_t needed,
                  const std::string& what, const std::string& option) {
  const std::string seen =
      fmt::format("{} {} (at most {}), about {} needed", limit_text(limit.soft), what,
                  limit_text(limit.hard), needed);
  if (!limit.soft || *limit.soft >= needed) return {id, Level::pass, seen, ""};
  if (!limit.hard || *limit.hard >= needed)
    return {id, Level::warn, seen, fmt::format("ulimit {} {}", option, needed)};
  return {id, Level::fail, seen,
          fmt::format("raise the hard limit in /etc/security/limits.conf, or run fewer ranks; "
                      "then ulimit {} {}",
                      option, needed)};
}

}  // namespace

ProcessLimits process_limits() {
  const auto read = [](auto resource) {
    rlimit limit{};
    ProcessLimit out;
    if (getrlimit(resource, &limit) != 0) return out;
    if (limit.rlim_cur != RLIM_INFINITY) out.soft = limit.rlim_cur;
    if (limit.rlim_max != RLIM_INFINITY) out.hard = limit.rlim_max;
    return out;
  };
  return {read(RLIMIT_NOFILE), read(RLIMIT_NPROC), read(RLIMIT_MEMLOCK)};
}

void check_resources(const CheckOptions& options, std::vector<Check>& out) {
  out.push_back(memory(options));
  out.push_back(swap(options));
  out.push_back(disk(options));
  out.push_back(shared_memory(options));
}

void check_processors(const CheckOptions& options, std::vector<Check>& out) {
  const Cpus cpus = read_cpus(options.root);
  out.push_back(governor(cpus));
  if (cpus.boost)
    out.push_back({"boost", Level::pass, *cpus.boost ? "boost is on" : "boost is off",
                   *cpus.boost ? "clocks depend on heat and neighbors; switch it off to compare "
                                 "machines strictly"
                               : ""});
  out.push_back(load(options, cpus.threads));
  out.push_back(cpu_quota(options, cpus));
  out.push_back(oversubscription(options, cpus));
  const std::string pages = line_of(options.root / "sys/kernel/mm/transparent_hugepage/enabled");
  if (!pages.empty()) out.push_back({"hugepages", Level::pass, "transparent: " + pages, ""});
}

void check_clock(const CheckOptions& options, std::vector<Check>& out) {
  const auto synchronized = options.clock_synchronized ? options.clock_synchronized
                                                       : kernel_clock_synchronized(options.root);
  std::error_code ignored;
  const bool timesyncd = fs::exists(options.root / "run/systemd/timesync/synchronized", ignored);
  if (synchronized == true || timesyncd) {
    out.push_back({"clock", Level::pass, "the clock is synchronized", ""});
  } else {
    out.push_back({"clock", Level::warn,
                   synchronized ? "the clock is not synchronized"
                                : "it is unknown whether the clock is synchronized",
                   "times of different hosts cannot be lined up: start chrony or "
                   "systemd-timesyncd"});
  }
  const std::string source =
      line_of(options.root / "sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (source.empty()) return;
  const bool slow = source == "hpet" || source == "acpi_pm" || source == "jiffies" ||
                    source == "refined-jiffies" || source == "pit";
  out.push_back(
      {"clocksource", slow ? Level::warn : Level::pass, source,
       slow ? "reading this clock is slow; the kernel distrusts the TSC: see dmesg" : ""});
}

void check_limits(const CheckOptions& options, std::vector<Check>& out) {
  const ProcessLimits limits = options.limits ? *options.limits : process_limits();
  const auto procs = static_cast<std::uint64_t>(std::max(options.procs, 1));
  // For each rank the agent holds its output pipe, its log and a process handle.
  out.push_back(limit_check("nofile", limits.files, 64 + 4 * procs, "open files", "-n"));
  // A rank of a typical framework has a thread pool and data loaders.
  Check threads =
      limit_check("nproc", limits.threads, 256 + 32 * procs, "processes and threads", "-u");
  if (threads.level == Level::fail) threads.level = Level::warn;  // needs are estimated
  out.push_back(std::move(threads));
  constexpr std::uint64_t kPinned = 64ULL << 20;
  const bool small = limits.memlock.soft && *limits.memlock.soft < kPinned;
  const std::string seen = limits.memlock.soft
                               ? fmt::format("{} may be locked", bytes_text(*limits.memlock.soft))
                               : std::string("any amount may be locked");
  const bool matters = small && options.vendor != "cpu";
  out.push_back({"memlock", matters ? Level::warn : Level::pass, seen,
                 matters ? "RDMA and pinned buffers need locked memory: ulimit -l unlimited" : ""});
}

}  // namespace assay::probe
