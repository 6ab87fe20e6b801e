#include <cmath>
#include <cstdint>
#include <random>

#include "core/time.h"
#include "micro/workloads.h"
#include "perflog/writer.h"
#include "workload/runtime.h"

namespace assay::micro {
namespace {

struct NullSettings {
  std::int64_t steps;
  double step_ms;
  std::int64_t samples;
  double loss_start;
  std::int64_t eval_every;
  double jitter;
  std::int64_t seed;

  explicit NullSettings(workload::Options& options)
      : steps(options.integer("steps", 100, 1, 1'000'000'000, "how many")),
        step_ms(options.number("step_ms", 10, 0, 3'600'000, "of a step; 0 is as fast as possible")),
        samples(options.integer("samples", 32, 0, 1'000'000'000, "per step and rank")),
        loss_start(
            options.number("loss_start", 2.5, 0, 1e9, "the loss falls from it to about a quarter")),
        eval_every(options.integer("eval_every", 0, 0, 1'000'000'000,
                                   "an `EVALUATE` every so many steps; 0 is never")),
        jitter(options.number(
            "jitter", 0, 0, 1,
            "deadlines are spread evenly over this fraction of a step around their place")),
        seed(options.integer("seed", 1, 0, 9'007'199'254'740'992, "of losses and jitter")) {
    options.reject_unknown();
  }
};

int run_null(const NullSettings& settings, const workload::Place& place, perflog::Writer& log) {
  const std::int64_t begin = mono_now_ns();
  log.init_start();
  std::mt19937_64 random(static_cast<std::uint64_t>(settings.seed) +
                         static_cast<std::uint64_t>(place.rank));
  std::uniform_real_distribution<double> offset(-0.5, 0.5);
  log.init_end();

  log.train_start();
  const std::int64_t start = mono_now_ns();
  const double step_ns = settings.step_ms * 1e6;
  double loss = settings.loss_start;
  std::int64_t done = 0;
  while (done < settings.steps && workload::stop_signal() == 0) {
    // Uses absolute deadlines, so that lateness and jitter do not add up.
    const double position = static_cast<double>(done + 1) + settings.jitter * offset(random);
    if (step_ns > 0) workload::sleep_until(start + static_cast<std::int64_t>(position * step_ns));
    if (workload::stop_signal() != 0) break;
    ++done;
    const double progress = static_cast<double>(done) / static_cast<double>(settings.steps);
    loss =
        settings.loss_start * (0.2 + 0.8 * std::exp(-3 * progress)) * (1 + 0.02 * offset(random));
    perflog::Step step;
    step.loss = loss;
    step.samples = static_cast<double>(settings.samples);
    log.step_end(done, step);
    if (settings.eval_every > 0 && done % settings.eval_every == 0)
      log.evaluate({{"eval_loss", loss}}, 0, done);
  }
  const std::int64_t end = mono_now_ns();
  log.train_end();
  if (workload::stop_signal() == 0)
    log.finished({{"e2e_time", seconds(Nanoseconds(end - begin))},
                  {"train_time", seconds(Nanoseconds(end - start))},
                  {"final_loss", loss},
                  {"world_size", place.world_size}});
  return workload::exit_code(log);
}

}  // namespace

workload::Workload null_workload() {
  return workload::single_workload("null", run_null);
}

}  // namespace assay::micro
