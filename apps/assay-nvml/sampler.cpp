#include "sampler.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "core/error.h"
#include "core/json.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::nvml {

namespace {

constexpr std::uint64_t kThrottle = 0x08 | 0x20 | 0x40 | 0x80;  // hardware, heat (2), power brake
constexpr std::uint64_t kPowerCap = 0x04;                       // by software: the power limit

// A computing process stays for longer; ranks take a moment to begin.
constexpr std::int64_t kBetweenProcesses = 5'000'000'000;

// Returns false if the reader is gone.
bool write_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// Sleeps until the deadline; returns false if stdout's reader went away meanwhile.
bool wait_until(std::int64_t deadline_ns) {
  for (;;) {
    const std::int64_t left = deadline_ns - mono_now_ns();
    if (left <= 0) return true;
    pollfd out{STDOUT_FILENO, 0, 0};
    const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
    const int rc = ::ppoll(&out, 1, &timeout, nullptr);
    if (rc > 0 && (out.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) return false;
    if (rc < 0 && errno != EINTR) return false;
  }
}

}  // namespace

std::string format_line(unsigned index, std::int64_t mono_ns, const Sample& sample) {
  std::string line = fmt::format("dev={} mono_ns={}", index, mono_ns);
  const auto to = std::back_inserter(line);
  const auto add = [&](std::string_view key, const auto& value) {
    if (value) fmt::format_to(to, " {}={}", key, *value);
  };
  add("util", sample.util);
  add("mem_used_bytes", sample.mem_used_bytes);
  add("mem_total_bytes", sample.mem_total_bytes);
  add("power_w", sample.power_w);
  add("energy_j", sample.energy_j);
  add("temp_c", sample.temp_c);
  add("clock_mhz", sample.clock_mhz);
  add("mem_clock_mhz", sample.mem_clock_mhz);
  if (sample.throttle_reasons)
    fmt::format_to(to, " throttle={} power_capped={} reasons=0x{:x}",
                   (*sample.throttle_reasons & kThrottle) != 0 ? 1 : 0,
                   (*sample.throttle_reasons & kPowerCap) != 0 ? 1 : 0, *sample.throttle_reasons);
  add("ecc_errors", sample.ecc_errors);
  add("power_limit_w", sample.power_limit_w);
  add("clock_max_mhz", sample.clock_max_mhz);
  if (!sample.pids.empty()) fmt::format_to(to, " pids={}", fmt::join(sample.pids, ","));
  if (sample.lost) fmt::format_to(to, " error=nvml_{}", *sample.lost);
  return line + "\n";
}

std::vector<unsigned> choose_devices(const Nvml& nvml, const std::string& list) {
  const unsigned count = nvml.count();
  std::vector<unsigned> out;
  if (trim(list).empty()) {
    for (unsigned i = 0; i < count; ++i) out.push_back(i);
    return out;
  }
  for (const std::string_view part : split(list, ',')) {
    const std::string_view word = trim(part);
    unsigned index = count;
    if (const auto number = parse_number<unsigned>(word)) {
      index = *number;
    } else {
      for (unsigned i = 0; i < count && word.starts_with("GPU-"); ++i)
        if (nvml.info(i).uuid == word) index = i;
    }
    if (index >= count)
      throw Error(ErrorKind::usage, fmt::format("there is no device '{}'", word), "--devices",
                  fmt::format("this machine has {} devices; see --list", count));
    if (std::find(out.begin(), out.end(), index) == out.end()) out.push_back(index);
  }
  return out;
}

void print_samples(const Nvml& nvml, const std::vector<unsigned>& devices, int interval_ms,
                   bool once) {
  const std::int64_t interval = std::int64_t{interval_ms} * 1'000'000;
  std::int64_t deadline = mono_now_ns();
  std::int64_t ask_for_processes = deadline;
  std::string text;
  for (;;) {
    text.clear();
    const bool with_processes = mono_now_ns() >= ask_for_processes;
    if (with_processes) ask_for_processes = mono_now_ns() + kBetweenProcesses;
    for (const unsigned device : devices) {
      const std::int64_t at = mono_now_ns();
      Sample sample = nvml.sample(device);
      if (with_processes && !sample.lost) sample.pids = nvml.processes(device);
      text += format_line(device, at, sample);
    }
    if (!write_out(text) || once) return;
    deadline += interval;
    // Keeps a driver that was busy for long from getting its samples in a burst.
    if (const std::int64_t late = mono_now_ns() - deadline; late > 0)
      deadline += late / interval * interval;
    if (!wait_until(deadline)) return;
  }
}

std::string list_devices(const Nvml& nvml, const std::vector<unsigned>& devices) {
  Json list = Json::array();
  for (const unsigned device : devices) {
    const DeviceInfo info = nvml.info(device);
    list.push_back({{"index", info.index},
                    {"name", info.name},
                    {"uuid", info.uuid},
                    {"memory_bytes", info.memory_bytes}});
  }
  return dump_pretty({{"driver", nvml.driver_version()}, {"devices", std::move(list)}});
}

}  // namespace assay::nvml
