#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"
#include "telemetry/columns.h"

namespace assay::telemetry {

/// A small file of procfs or sysfs that stays open and is read repeatedly.
class ProcFile {
 public:
  ProcFile() = default;
  explicit ProcFile(const std::filesystem::path& path);
  /// The file's current content, "" if it cannot be read; valid until the next call. Files share
  /// `buffer`, so that its memory is allocated once.
  [[nodiscard]] std::string_view read(std::vector<char>& buffer) const;
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(fd_); }

 private:
  UniqueFd fd_;
};

struct CoreSample {
  int cpu;
  double util;
};

/// Reads /proc/stat, meminfo, diskstats, net/dev and the cpufreq clocks under a root;
/// docs/telemetry.md states what counts. Allocates only when hardware appears.
class ProcSampler {
 public:
  explicit ProcSampler(const std::filesystem::path& root);

  /// The row for the source "node". `mono_ns` is the sample's time; rates are per second of it.
  [[nodiscard]] Values sample(std::int64_t mono_ns);
  /// The cores in the last sample() with a known utilization.
  [[nodiscard]] const std::vector<CoreSample>& cores() const noexcept { return cores_; }

 private:
  struct CpuTimes {
    std::array<std::uint64_t, 8> ticks{};  // user nice system idle iowait irq softirq steal
    std::uint64_t seen = 0;                // the last sample with it; 0 = none
  };
  // A disk or an interface, with two byte counters: in and out.
  struct Counter {
    std::string name;
    bool counted = false;
    std::uint64_t seen = 0;
    std::uint64_t in = 0;
    std::uint64_t out = 0;
  };
  struct Rates {
    double in = 0;
    double out = 0;
    bool known = false;
  };

  double cpu_line(std::string_view fields, CpuTimes& last) const;
  double read_stat();
  void read_meminfo(Values& out);
  Counter& counter(std::vector<Counter>& all, std::size_t hint, std::string_view name,
                   bool (ProcSampler::*decide)(std::string_view) const) const;
  void add(Counter& counter, std::uint64_t in, std::uint64_t out, Rates& sum) const;
  Rates read_disks();
  Rates read_net();
  double read_clock(std::int64_t mono_ns);
  bool is_whole_disk(std::string_view name) const;
  bool is_outer_interface(std::string_view name) const;

  std::filesystem::path root_;
  ProcFile stat_;
  ProcFile meminfo_;
  ProcFile diskstats_;
  ProcFile net_dev_;
  std::vector<char> buffer_;
  std::uint64_t sample_ = 0;
  std::int64_t last_mono_ns_ = 0;
  CpuTimes total_;
  std::vector<CpuTimes> per_cpu_;
  std::vector<CoreSample> cores_;
  std::vector<Counter> disks_;
  std::vector<Counter> interfaces_;
  std::vector<std::filesystem::path> clocks_;
  std::int64_t next_clock_ns_ = 0;
  double clock_mhz_;
};

}  // namespace assay::telemetry
