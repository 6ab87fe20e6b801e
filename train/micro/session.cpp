#include "train/micro/session.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/text.h"
#include "core/units.h"
#include "workload/runtime.h"

namespace assay::train {

SessionSettings::SessionSettings(workload::Options& options)
    : device(options.choice("device", "auto", {"auto", "cpu", "cuda"},
                            workload::per_rank("auto takes CUDA device `LOCAL_RANK` when there is "
                                               "one"))),
      threads(options.integer("threads", 0, 0, 4096,
                              workload::per_rank("of a rank on the CPU; 0 is its share of the "
                                                 "machine"))),
      seconds(options.number("seconds", 5, 0.01, 1e6, "how long it measures")),
      step_ms(options.number("step_ms", 20, 0.1, 1e5, "of one measurement")) {}

Session::Session(const SessionSettings& settings, const workload::Place& place,
                 perflog::Writer& log, Collectives collectives)
    : place_(place),
      log_(log),
      phases_(log),
      device_(choose_device(settings.device, place, collectives)),
      threads_(prepare_device(device_, Precision::fp32, settings.threads, place)),
      seconds_(settings.seconds),
      step_seconds_(settings.step_ms / 1000),
      begin_ns_(mono_now_ns()) {
  phases_.end("device");
  log_.init_start();
}

void Session::start() {
  log_.init_end();
  log_.train_start();
  start_ns_ = mono_now_ns();
}

void Session::require_memory(double bytes) const {
  const double machine =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (device_.is_cpu() && bytes > 0.9 * machine)
    throw Error(ErrorKind::environment,
                fmt::format("this needs {} of memory, the machine has {}", format_bytes(bytes),
                            format_bytes(machine)),
                {}, "use a smaller size");
}

void Session::wait() const {
  if (device_.is_cuda()) torch::cuda::synchronize(device_.index());
}

std::int64_t Session::calibrate(const std::function<void()>& operation) {
  operation();  // warms up allocations, code generation, clocks
  double once = 1e9;
  for (int i = 0; i < 3; ++i) {
    wait();
    const std::int64_t begin = mono_now_ns();
    operation();
    wait();
    once = std::min(once, std::max(1e-7, seconds(Nanoseconds(mono_now_ns() - begin))));
  }
  return static_cast<std::int64_t>(std::clamp(std::round(step_seconds_ / once), 1.0, 1e6));
}

Session::Rate Session::measure(const Work& work, double budget,
                               const std::function<void()>& operation, std::int64_t repeats,
                               std::int64_t steps) {
  if (repeats == 0) repeats = calibrate(operation);
  const auto calls = static_cast<double>(repeats);
  Rate rate;
  std::vector<double> rates;
  double total = 0;
  std::int64_t done = 0;
  while (workload::stop_signal() == 0 && (steps > 0 ? done < steps : done == 0 || total < budget)) {
    wait();
    const std::int64_t begin = mono_now_ns();
    for (std::int64_t i = 0; i < repeats; ++i) operation();
    wait();
    const double taken = std::max(1e-9, seconds(Nanoseconds(mono_now_ns() - begin)));
    total += taken;
    ++done;
    rate.best = std::max(rate.best, calls / taken);
    perflog::Step step;
    step.samples = calls;
    step.compute_s = taken;
    if (work.flops > 0) step.flops = work.flops * calls;
    rates.push_back(calls / taken);
    if (work.bytes > 0)
      log_.step_end(++step_, step,
                    {{"bytes", work.bytes * calls}, {"op", std::string_view(work.name)}});
    else
      log_.step_end(++step_, step);
  }
  if (!rates.empty()) {
    const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
    std::nth_element(rates.begin(), middle, rates.end());
    rate.median = *middle;
    if (rates.size() % 2 == 0)
      rate.median = (rate.median + *std::max_element(rates.begin(), middle)) / 2;
  }
  rate.mean = total > 0 ? calls * static_cast<double>(done) / total : 0;
  return rate;
}

int Session::finish() {
  const std::int64_t end = mono_now_ns();
  log_.train_end();
  if (workload::stop_signal() != 0) return workload::exit_code(log_);
  const std::string device = device_.str();
  std::vector<perflog::Value> values{{"e2e_time", seconds(Nanoseconds(end - begin_ns_))},
                                     {"train_time", seconds(Nanoseconds(end - start_ns_))},
                                     {"device", std::string_view(device)},
                                     {"threads", threads_},
                                     {"world_size", place_.world_size}};
  for (const auto& [name, value] : results_) values.emplace_back(name, value);
  log_.finished(values);
  return workload::exit_code(log_);
}

std::vector<workload::Workload> micro_workloads() {
  std::vector<workload::Workload> all{gemm_workload(), membw_workload(), transfer_workload(),
                                      attention_workload()};
  for (workload::Workload& collective : collective_workloads())
    all.push_back(std::move(collective));
  return all;
}

}  // namespace assay::train
