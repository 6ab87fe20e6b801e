#include "telemetry/recorder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <fmt/compile.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "core/units.h"
#include "telemetry/device_sampler.h"
#include "telemetry/ipmi.h"
#include "telemetry/job_memory.h"
#include "telemetry/log_file.h"
#include "telemetry/monitor_logs.h"
#include "telemetry/procfs.h"
#include "telemetry/rapl.h"
#include "telemetry/source_kind.h"
#include "telemetry/table_writer.h"
#include "telemetry/values.h"

namespace assay::telemetry {

namespace {

// Thins a large machine's per-core rows to one per second.
constexpr std::size_t kManyCores = 64;

Values row_of(double power_w, double energy_j) {
  Values values;
  values[Column::power_w] = power_w;
  values[Column::energy_j] = energy_j;
  return values;
}

// The last readings of one device.
struct Device {
  Values values;
  std::int64_t mono_ns = 0;
};

}  // namespace

class Recorder::Impl {
 public:
  Impl(asio::io_context& loop, RecorderConfig config, std::function<void(const Gap&)> on_gap)
      : loop_(loop), config_(std::move(config)), on_gap_(std::move(on_gap)), timer_(loop) {}

  void start();
  void stop(std::function<void()> done);
  [[nodiscard]] Snapshot latest() const;
  void visit_rows(const Visit& visit) const;
  [[nodiscard]] std::optional<evidence::FileRecord> table() const {
    if (!table_) return std::nullopt;
    return table_->record();
  }
  [[nodiscard]] std::vector<int> sampler_pids() const;

 private:
  void gap(const Gap& gap) {
    if (on_gap_) on_gap_(gap);
  }
  void schedule();
  void on_deadline();
  void sample();
  void node_rows(const Instant& when);
  void job_row(const Instant& when);
  void rapl_rows(const Instant& when);
  void on_device(const DeviceReading& reading, const Instant& when);
  void on_ipmi(double watts, const Instant& when);
  void flush();
  void write_failed(const LogFile& file, int error);
  void write_recovered(std::int64_t mono_ns);
  void await_end(std::function<void()> done, std::int64_t deadline_ns, bool forced);
  void each_row(std::int64_t mono_ns, const Visit& visit) const;
  [[nodiscard]] double power_w(std::int64_t mono_ns) const;
  [[nodiscard]] bool ipmi_holds(std::int64_t mono_ns) const {
    return ipmi_ns_ != 0 && mono_ns - ipmi_ns_ < 3 * ipmi_->period_ns();
  }
  [[nodiscard]] std::int64_t device_age_limit() const;

  asio::io_context& loop_;
  RecorderConfig config_;
  std::function<void(const Gap&)> on_gap_;
  asio::steady_timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool running_ = false;

  std::optional<ProcSampler> proc_;
  std::optional<Rapl> rapl_;
  std::optional<Ipmi> ipmi_;
  std::optional<DeviceSampler> devices_;
  std::optional<LogFile> table_;
  std::optional<MonitorLogs> logs_;

  std::string buffer_;
  std::string name_;
  std::int64_t deadline_ns_ = 0;
  std::int64_t cores_due_ns_ = 0;
  Values node_;
  std::vector<RaplSample> packages_;
  double ipmi_w_ = kUnknown;
  std::int64_t ipmi_ns_ = 0;
  bool ipmi_new_ = false;
  std::vector<std::optional<Device>> seen_;
  bool device_news_ = false;
  std::vector<std::optional<Values>> block_;
  std::int64_t write_failing_since_ns_ = 0;
  bool table_failed_ = false;
};

void Recorder::Impl::start() {
  const Nanoseconds interval = config_.interval;
  if (interval < kMinInterval || interval > kMaxInterval)
    throw Error(ErrorKind::config,
                fmt::format("the telemetry interval {} is out of range", duration_text(interval)),
                {}, "use 0.1 s to 60 s");
  make_directories(config_.directory);
  table_.emplace(config_.directory / layout::kTelemetry, table_header() + "\n",
                 LogFile::Hashed::yes);
  std::string device_log;
  for (const DeviceSource& source : config_.sources) {
    if (source.mode == DeviceSource::Mode::none || !device_log.empty()) continue;
    device_log = source.monitor_log.empty() ? source.vendor + "_monitor.log" : source.monitor_log;
  }
  logs_.emplace(config_.directory, device_log,
                [this](const LogFile& file, int error) { write_failed(file, error); });
  proc_.emplace(config_.root);
  rapl_.emplace(config_.root);
  if (rapl_->problem()) gap({now(), "rapl", 0, *rapl_->problem()});
  const auto on_gap = [this](const Gap& g) { gap(g); };
  ipmi_.emplace(
      loop_, config_,
      Ipmi::Hooks{[this](double watts, const Instant& when) { on_ipmi(watts, when); }, on_gap});
  devices_.emplace(loop_, config_,
                   DeviceSampler::Hooks{[this](const DeviceReading& reading, const Instant& when) {
                                          on_device(reading, when);
                                        },
                                        on_gap, [this] { seen_.clear(); }});
  running_ = true;
  deadline_ns_ = mono_now_ns();
  devices_->start();
  ipmi_->tick(deadline_ns_);
  sample();
  schedule();
}

void Recorder::Impl::schedule() {
  deadline_ns_ += config_.interval.count();
  timer_.expires_at(asio::steady_timer::time_point(Nanoseconds(deadline_ns_)));
  timer_.async_wait([this, alive = std::weak_ptr<bool>(alive_)](asio::error_code ec) {
    if (!ec && !alive.expired() && running_) on_deadline();
  });
}

void Recorder::Impl::on_deadline() {
  const Instant when = now();
  const std::int64_t interval = config_.interval.count();
  const std::int64_t missed = (when.mono_ns - deadline_ns_) / interval;
  if (missed > 0) {
    deadline_ns_ += missed * interval;
    const double lost = static_cast<double>(missed * interval) / 1e9;
    gap({when, "node", lost,
         counted(missed, "sample") + " missed: this machine did not run the sampler in time"});
  }
  sample();
  devices_->tick();
  ipmi_->tick(when.mono_ns);
  schedule();
}

void Recorder::Impl::sample() {
  const Instant when = config_.clock();
  node_rows(when);
  job_row(when);
  rapl_rows(when);
  flush();
  // A log contains one kind of power: with IPMI, only its readings, every ten seconds.
  const double power = std::exchange(ipmi_new_, false) ? ipmi_w_
                       : ipmi_->available()            ? kUnknown
                                                       : power_w(when.mono_ns);
  logs_->system(when, node_[Column::util],
                node_[Column::mem_used_bytes] / node_[Column::mem_total_bytes], power);
  if (!std::exchange(device_news_, false)) return;
  block_.assign(seen_.size(), std::nullopt);
  for (std::size_t i = 0; i < seen_.size(); ++i)
    if (seen_[i]) block_[i] = seen_[i]->values;
  logs_->devices(when, block_);
}

void Recorder::Impl::node_rows(const Instant& when) {
  node_ = proc_->sample(when.mono_ns);
  append_row(buffer_, when, "node", node_);

  const std::vector<CoreSample>& cores = proc_->cores();
  if (cores.size() > kManyCores) {
    if (when.mono_ns < cores_due_ns_) return;
    cores_due_ns_ = when.mono_ns + kSecond - config_.interval.count() / 2;
  }
  Values values;
  for (const CoreSample& core : cores) {
    name_.clear();
    fmt::format_to(std::back_inserter(name_), FMT_COMPILE("cpu{}"), core.cpu);
    values[Column::util] = core.util;
    append_row(buffer_, when, name_, values);
  }
}

void Recorder::Impl::job_row(const Instant& when) {
  if (!config_.job_processes) return;
  std::vector<int> processes = config_.job_processes();
  const std::vector<int> samplers = sampler_pids();
  std::erase_if(processes,
                [&](int pid) { return std::ranges::find(samplers, pid) != samplers.end(); });
  Values values;
  values[Column::mem_used_bytes] = memory_of(processes, config_.root);
  if (std::isfinite(values[Column::mem_used_bytes])) append_row(buffer_, when, "job", values);
}

void Recorder::Impl::rapl_rows(const Instant& when) {
  packages_ = rapl_->sample(when.mono_ns);
  for (const RaplSample& sample : packages_)
    append_row(buffer_, when, sample.source, row_of(sample.power_w, sample.energy_j));
}

void Recorder::Impl::on_device(const DeviceReading& reading, const Instant& when) {
  const auto index = static_cast<std::size_t>(reading.index);
  if (index >= seen_.size()) seen_.resize(index + 1);
  // The table contains what the sampler said, as evidence; only possible values are displayed.
  seen_[index] = Device{reading.values, when.mono_ns};
  drop_impossible(seen_[index]->values, [](const ColumnInfo& /*column*/, double /*value*/) {});
  device_news_ = true;
  if (!reading.pids.empty() && config_.on_device_processes)
    config_.on_device_processes(reading.index, reading.pids);
  name_.clear();
  fmt::format_to(std::back_inserter(name_), FMT_COMPILE("dev{}"), index);
  append_row(buffer_, when, name_, reading.values);
  // Rows wait briefly for the next sample's write.
  if (config_.interval.count() > kSecond) flush();
}

void Recorder::Impl::on_ipmi(double watts, const Instant& when) {
  ipmi_w_ = info(Column::power_w).holds(watts) ? watts : kUnknown;
  ipmi_ns_ = when.mono_ns;
  ipmi_new_ = true;
  append_row(buffer_, when, "ipmi", row_of(watts, kUnknown));
}

void Recorder::Impl::flush() {
  if (buffer_.empty()) return;
  const int error = table_->append(buffer_);
  buffer_.clear();
  if (error != 0) {
    table_failed_ = true;
    write_failed(*table_, error);
  } else if (std::exchange(table_failed_, false)) {
    write_recovered(mono_now_ns());
  }
}

// Reports each outage once, whichever file fails first.
void Recorder::Impl::write_failed(const LogFile& file, int error) {
  if (write_failing_since_ns_ != 0) return;
  const Instant when = now();
  write_failing_since_ns_ = when.mono_ns;
  gap({when, "node", 0, fmt::format("cannot write {}: {}", file.name(), std::strerror(error))});
}

void Recorder::Impl::write_recovered(std::int64_t mono_ns) {
  const std::int64_t since = std::exchange(write_failing_since_ns_, 0);
  if (since == 0) return;
  gap({now(), "node", static_cast<double>(mono_ns - since) / 1e9,
       "telemetry.csv could not be written; it is written again"});
}

std::int64_t Recorder::Impl::device_age_limit() const {
  return std::max<std::int64_t>(3 * config_.interval.count(), 15 * kSecond);
}

double Recorder::Impl::power_w(std::int64_t mono_ns) const {
  double sum = kUnknown;
  each_row(mono_ns, [&, whole = ipmi_holds(mono_ns)](std::string_view source, const Values& row) {
    const double watts = row[Column::power_w];
    if (adds_up(source, whole) && std::isfinite(watts)) sum = std::isnan(sum) ? watts : sum + watts;
  });
  return sum;
}

Snapshot Recorder::Impl::latest() const {
  const auto optional = [](double value) {
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  };
  Snapshot out;
  out.cpu_util = optional(node_[Column::util]);
  out.mem_used_bytes = optional(node_[Column::mem_used_bytes]);
  if (!ipmi_) return out;
  const std::int64_t mono_ns = mono_now_ns();
  out.power_w = optional(power_w(mono_ns));
  double sum = 0;
  int count = 0;
  for (const auto& device : seen_) {
    if (!device || mono_ns - device->mono_ns >= device_age_limit()) continue;
    ++out.devices;
    const double util = device->values[Column::util];
    if (!std::isfinite(util)) continue;
    sum += util;
    ++count;
  }
  if (count > 0) out.device_util = sum / count;
  return out;
}

void Recorder::Impl::visit_rows(const Visit& visit) const {
  if (running_) each_row(mono_now_ns(), visit);
}

// Visits the newest row of every source that still holds, except single cores.
void Recorder::Impl::each_row(std::int64_t mono_ns, const Visit& visit) const {
  visit("node", node_);
  for (const RaplSample& sample : packages_)
    visit(sample.source, row_of(sample.power_w, sample.energy_j));
  if (ipmi_holds(mono_ns)) visit("ipmi", row_of(ipmi_w_, kUnknown));
  for (std::size_t i = 0; i < seen_.size(); ++i)
    if (seen_[i] && mono_ns - seen_[i]->mono_ns < device_age_limit())
      visit(fmt::format("dev{}", i), seen_[i]->values);
}

std::vector<int> Recorder::Impl::sampler_pids() const {
  std::vector<int> out;
  if (devices_) out = devices_->pids();
  if (ipmi_)
    for (const int pid : ipmi_->pids()) out.push_back(pid);
  return out;
}

void Recorder::Impl::stop(std::function<void()> done) {
  if (!running_) {
    asio::post(loop_, std::move(done));
    return;
  }
  running_ = false;
  sample();
  devices_->terminate();
  ipmi_->terminate();
  if (write_failing_since_ns_ != 0 && table_failed_)
    gap({now(), "node", static_cast<double>(mono_now_ns() - write_failing_since_ns_) / 1e9,
         "telemetry.csv could not be written until the end", table_->name()});
  table_->close();
  logs_.reset();
  await_end(std::move(done), mono_now_ns() + kSecond, false);
}

// One second for SIGTERM, half a second for SIGKILL; a process still running cannot be killed.
void Recorder::Impl::await_end(std::function<void()> done, std::int64_t deadline_ns, bool forced) {
  const bool late = mono_now_ns() >= deadline_ns;
  if (sampler_pids().empty() || (late && forced)) {
    devices_->abandon();
    ipmi_->abandon();
    asio::post(loop_, std::move(done));
    return;
  }
  if (late) {
    devices_->kill();
    ipmi_->kill();
    deadline_ns = mono_now_ns() + kSecond / 2;
    forced = true;
  }
  timer_.expires_after(std::chrono::milliseconds(5));
  timer_.async_wait([this, alive = std::weak_ptr<bool>(alive_), done = std::move(done), deadline_ns,
                     forced](asio::error_code) mutable {
    if (!alive.expired()) await_end(std::move(done), deadline_ns, forced);
  });
}

Recorder::Recorder(asio::io_context& loop, RecorderConfig config,
                   std::function<void(const Gap&)> on_gap)
    : impl_(std::make_unique<Impl>(loop, std::move(config), std::move(on_gap))) {}
Recorder::~Recorder() = default;
void Recorder::start() {
  impl_->start();
}
void Recorder::stop(std::function<void()> done) {
  impl_->stop(std::move(done));
}
Snapshot Recorder::latest() const {
  return impl_->latest();
}
void Recorder::visit_rows(const Visit& visit) const {
  impl_->visit_rows(visit);
}
std::optional<evidence::FileRecord> Recorder::table() const {
  return impl_->table();
}
std::vector<int> Recorder::sampler_pids() const {
  return impl_->sampler_pids();
}

}  // namespace assay::telemetry
