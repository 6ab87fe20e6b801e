#include "telemetry/procfs.h"

#include <algorithm>
#include <cctype>

#include <fcntl.h>
#include <unistd.h>

#include "telemetry/proc_text.h"
#include "telemetry/values.h"

namespace assay::telemetry {

namespace fs = std::filesystem;

namespace {

constexpr double kSectorBytes = 512;  // the unit of diskstats, whatever the disk's sectors
constexpr std::int64_t kClockPeriodNs = 5'000'000'000;
constexpr std::size_t kMaxClocks = 64;
constexpr std::uint64_t kMaxCpu = 1 << 16;

bool digit(char c) {
  return c >= '0' && c <= '9';
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), digit);
}

// "sda1", "vdb2", "nvme0n1p3", "mmcblk0p1"; only needed if sysfs does not show it.
bool looks_like_partition(std::string_view name) {
  std::size_t stem = name.size();
  while (stem > 0 && digit(name[stem - 1])) --stem;
  if (stem == name.size() || stem == 0) return false;
  const std::string_view head = name.substr(0, stem);
  for (const std::string_view disk : {"sd", "vd", "hd", "xvd"})
    if (head.starts_with(disk)) return true;
  return head.back() == 'p' && head.size() > 1 && digit(head[head.size() - 2]);
}

// nvme0c1n1: one path of a multipath disk whose traffic nvme0n1 also counts.
bool is_nvme_path(std::string_view name) {
  if (!name.starts_with("nvme")) return false;
  const std::size_t c = name.find('c', 4);
  return c != std::string_view::npos && all_digits(name.substr(4, c - 4));
}

bool has_entries(const fs::path& folder) {
  std::error_code ec;
  const fs::directory_iterator it(folder, ec);
  return !ec && it != fs::directory_iterator{};
}

}  // namespace

ProcFile::ProcFile(const fs::path& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

std::string_view ProcFile::read(std::vector<char>& buffer) const {
  if (!fd_) return {};
  if (buffer.size() < 8192) buffer.resize(8192);
  std::size_t size = 0;
  for (;;) {
    if (size == buffer.size()) buffer.resize(buffer.size() * 2);
    const ssize_t n =
        ::pread(fd_.get(), buffer.data() + size, buffer.size() - size, static_cast<off_t>(size));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {};
    if (n == 0) return {buffer.data(), size};
    size += static_cast<std::size_t>(n);
  }
}

ProcSampler::ProcSampler(const fs::path& root)
    : root_(root),
      stat_(root / "proc/stat"),
      meminfo_(root / "proc/meminfo"),
      diskstats_(root / "proc/diskstats"),
      net_dev_(root / "proc/net/dev"),
      clock_mhz_(kUnknown) {
  std::error_code ec;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(root / "sys/devices/system/cpu", ec)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("cpu") || !all_digits(std::string_view(name).substr(3))) continue;
    const fs::path file = entry.path() / "cpufreq/scaling_cur_freq";
    if (::access(file.c_str(), R_OK) == 0) clocks_.push_back(file);
  }
  // Each read may interrupt its core, so on large machines evenly spaced cores represent all.
  if (clocks_.size() > kMaxClocks) {
    std::sort(clocks_.begin(), clocks_.end());
    const std::size_t stride = (clocks_.size() + kMaxClocks - 1) / kMaxClocks;
    std::vector<fs::path> some;
    for (std::size_t i = 0; i < clocks_.size(); i += stride) some.push_back(clocks_[i]);
    clocks_ = std::move(some);
  }
}

Values ProcSampler::sample(std::int64_t mono_ns) {
  ++sample_;
  const double seconds = static_cast<double>(mono_ns - last_mono_ns_) / 1e9;
  const bool rates = sample_ > 1 && seconds > 0;
  const auto rate = [&](const Rates& sum, double bytes) {
    return rates && sum.known ? bytes / seconds : kUnknown;
  };
  Values out;
  out[Column::util] = read_stat();
  read_meminfo(out);
  const Rates disk = read_disks();
  out[Column::disk_read_bps] = rate(disk, disk.in * kSectorBytes);
  out[Column::disk_write_bps] = rate(disk, disk.out * kSectorBytes);
  const Rates net = read_net();
  out[Column::net_rx_bps] = rate(net, net.in);
  out[Column::net_tx_bps] = rate(net, net.out);
  out[Column::clock_mhz] = read_clock(mono_ns);
  last_mono_ns_ = mono_ns;
  return out;
}

// Busy share of the time since the CPU's previous line. Individual counters may go backwards
// (iowait does so by design), so each field is held at its largest value.
double ProcSampler::cpu_line(std::string_view fields, CpuTimes& last) const {
  const bool has_last = last.seen != 0 && last.seen + 1 == sample_;
  std::uint64_t busy = 0;
  std::uint64_t idle = 0;
  std::array<std::uint64_t, 8> current{};
  for (std::size_t i = 0; i < current.size(); ++i) {
    // Old kernels print fewer fields.
    if (!next_number(fields, current[i])) {
      if (i < 4) return kUnknown;
      current[i] = last.ticks[i];
    }
    if (has_last && current[i] > last.ticks[i])
      (i == 3 || i == 4 ? idle : busy) += current[i] - last.ticks[i];
  }
  last.ticks = current;
  last.seen = sample_;
  if (!has_last || busy + idle == 0) return kUnknown;
  return static_cast<double>(busy) / static_cast<double>(busy + idle);
}

double ProcSampler::read_stat() {
  cores_.clear();
  double util = kUnknown;
  std::string_view rest = stat_.read(buffer_);
  while (!rest.empty()) {
    std::string_view line = next_line(rest);
    if (!line.starts_with("cpu")) break;  // the CPU lines come first
    line.remove_prefix(3);
    if (line.starts_with(' ')) {
      util = cpu_line(line, total_);
      continue;
    }
    std::uint64_t cpu = 0;
    if (!next_number(line, cpu) || cpu >= kMaxCpu) continue;
    if (cpu >= per_cpu_.size()) per_cpu_.resize(cpu + 1);
    const double core = cpu_line(line, per_cpu_[cpu]);
    if (core == core) cores_.push_back({static_cast<int>(cpu), core});
  }
  return util;
}

void ProcSampler::read_meminfo(Values& out) {
  double total = kUnknown;
  double available = kUnknown;
  double reclaimable = 0;
  bool has_free = false;
  std::string_view rest = meminfo_.read(buffer_);
  while (!rest.empty()) {
    std::string_view line = next_line(rest);
    const std::string_view key = next_word(line);
    std::uint64_t kib = 0;
    if (!next_number(line, kib)) continue;
    const double bytes = static_cast<double>(kib) * 1024;
    if (key == "MemTotal:") {
      total = bytes;
    } else if (key == "MemAvailable:") {
      available = bytes;
      break;
    } else if (key == "MemFree:" || key == "Buffers:" || key == "Cached:") {
      has_free = has_free || key == "MemFree:";
      reclaimable += bytes;
    }
  }
  // Kernels before 3.14 have no MemAvailable.
  if (!(available == available) && has_free) available = reclaimable;
  out[Column::mem_total_bytes] = total;
  out[Column::mem_used_bytes] = std::max(0.0, total - available);
  if (!(total == total) || !(available == available)) out[Column::mem_used_bytes] = kUnknown;
}

ProcSampler::Counter& ProcSampler::counter(std::vector<Counter>& all, std::size_t hint,
                                           std::string_view name,
                                           bool (ProcSampler::*decide)(std::string_view)
                                               const) const {
  if (hint < all.size() && all[hint].name == name) return all[hint];
  for (Counter& known : all)
    if (known.name == name) return known;
  all.push_back({std::string(name), (this->*decide)(name), 0, 0, 0});
  return all.back();
}

void ProcSampler::add(Counter& counter, std::uint64_t in, std::uint64_t out, Rates& sum) const {
  if (counter.seen != 0 && counter.seen + 1 == sample_) {
    if (in > counter.in) sum.in += static_cast<double>(in - counter.in);
    if (out > counter.out) sum.out += static_cast<double>(out - counter.out);
  }
  counter.seen = sample_;
  counter.in = in;
  counter.out = out;
}

ProcSampler::Rates ProcSampler::read_disks() {
  Rates sum;
  std::string_view rest = diskstats_.read(buffer_);
  for (std::size_t i = 0; !rest.empty(); ++i) {
    std::string_view line = next_line(rest);
    next_word(line);
    next_word(line);
    const std::string_view name = next_word(line);
    // reads, merged, sectors read, ms, writes, merged, sectors written
    std::array<std::uint64_t, 7> field{};
    if (name.empty() || !std::all_of(field.begin(), field.end(),
                                     [&](std::uint64_t& f) { return next_number(line, f); }))
      continue;
    sum.known = true;
    Counter& disk = counter(disks_, i, name, &ProcSampler::is_whole_disk);
    if (disk.counted) add(disk, field[2], field[6], sum);
  }
  return sum;
}

ProcSampler::Rates ProcSampler::read_net() {
  Rates sum;
  std::string_view rest = net_dev_.read(buffer_);
  next_line(rest);
  next_line(rest);
  for (std::size_t i = 0; !rest.empty(); ++i) {
    std::string_view line = next_line(rest);
    // Old kernels print "eth0:123" without a space for large counters.
    const std::size_t colon = line.rfind(':');
    if (colon == std::string_view::npos) continue;
    std::string_view head = line.substr(0, colon);
    const std::string_view name = next_word(head);
    line.remove_prefix(colon + 1);
    std::array<std::uint64_t, 9> field{};
    if (name.empty() || !std::all_of(field.begin(), field.end(),
                                     [&](std::uint64_t& f) { return next_number(line, f); }))
      continue;
    sum.known = true;
    Counter& link = counter(interfaces_, i, name, &ProcSampler::is_outer_interface);
    if (link.counted) add(link, field[0], field[8], sum);
  }
  return sum;
}

double ProcSampler::read_clock(std::int64_t mono_ns) {
  if (clocks_.empty() || (sample_ > 1 && mono_ns < next_clock_ns_)) return clock_mhz_;
  next_clock_ns_ = mono_ns + kClockPeriodNs;
  double sum = 0;
  int count = 0;
  for (const fs::path& path : clocks_) {
    std::string_view text = ProcFile(path).read(buffer_);
    std::string_view line = next_line(text);
    std::uint64_t khz = 0;
    if (!next_number(line, khz) || khz == 0) continue;  // unplugged, or unknown to the driver
    sum += static_cast<double>(khz) / 1000;
    ++count;
  }
  clock_mhz_ = count > 0 ? sum / count : kUnknown;
  return clock_mhz_;
}

bool ProcSampler::is_whole_disk(std::string_view name) const {
  for (const std::string_view prefix : {"loop", "ram", "zram", "dm-", "md", "sr", "fd", "drbd"})
    if (name.starts_with(prefix)) return false;
  if (is_nvme_path(name)) return false;
  std::error_code ec;
  const fs::path block = root_ / "sys/block";
  if (!has_entries(block)) return !looks_like_partition(name);
  // sysfs replaces the '/' in names like "cciss/c0d0" with '!'. Partitions are not in sys/block,
  // and a disk with slaves consists of others that are counted.
  std::string entry(name);
  std::replace(entry.begin(), entry.end(), '/', '!');
  return fs::exists(block / entry, ec) && !has_entries(block / entry / "slaves");
}

bool ProcSampler::is_outer_interface(std::string_view name) const {
  if (name == "lo" || name.starts_with("ifb")) return false;
  std::error_code ec;
  const fs::path link = root_ / "sys/class/net" / std::string(name);
  if (!fs::exists(link, ec)) return true;
  // Bonds, bridges and VLANs carry what their lower interfaces count; a bridge's virtual port (a
  // container's veth) carries what its real port counts.
  for (const fs::directory_entry& entry : fs::directory_iterator(link, ec))
    if (entry.path().filename().string().starts_with("lower_")) return false;
  return fs::exists(link / "device", ec) || !fs::exists(link / "brport", ec);
}

}  // namespace assay::telemetry
