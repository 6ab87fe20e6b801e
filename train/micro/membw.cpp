#include <fmt/format.h>

#include "core/error.h"
#include "train/micro/session.h"

namespace assay::train {

namespace {

struct MembwSettings {
  double megabytes;
  SessionSettings session;

  explicit MembwSettings(workload::Options& options)
      : megabytes(options.number("megabytes", 256, 1, 1 << 20, "of each array")), session(options) {
    options.reject_unknown();
  }
};

int run_membw(const MembwSettings& settings, const workload::Place& place, perflog::Writer& log) {
  const double megabytes = settings.megabytes;
  Session session(settings.session, place, log);
  session.require_memory(3 * megabytes * 1e6);
  const auto count = static_cast<std::int64_t>(megabytes * 1e6 / sizeof(float));
  const auto kind = torch::TensorOptions(torch::kFloat).device(session.device());
  const torch::Tensor a = torch::full({count}, 1.0F, kind);
  const torch::Tensor b = torch::full({count}, 2.0F, kind);
  torch::Tensor c = torch::zeros({count}, kind);
  torch::NoGradGuard no_grad;
  session.start();
  const double array = static_cast<double>(count) * sizeof(float);
  const double share = session.budget() / 3;
  double best = 0;
  // Bytes read and written by the program, as in STREAM: a cache that reads a line before it is
  // overwritten moves more.
  const auto run = [&](const char* name, double arrays, const std::function<void()>& operation,
                       float expected) {
    Session::Work work;
    work.bytes = arrays * array;
    work.name = name;
    const Session::Rate rate = session.measure(work, share, operation);
    if (const float got = c[count / 2].item<float>(); got != expected)
      throw Error(ErrorKind::environment,
                  fmt::format("{} gave {} instead of {}", name, got, expected), {},
                  "this device's memory is faulty; test it");
    session.bandwidth(name, work.bytes, rate);
    best = std::max(best, rate.best * work.bytes);
  };
  run(
      "copy", 2, [&] { c.copy_(a); }, 1.0F);
  run(
      "scale", 2, [&] { torch::mul_out(c, a, torch::scalar_tensor(3.0F)); }, 3.0F);
  run(
      "triad", 3, [&] { torch::add_out(c, a, b, 3.0F); }, 7.0F);
  session.result("best_bytes_per_s", best);
  session.result("megabytes", megabytes);
  return session.finish();
}

}  // namespace

workload::Workload membw_workload() {
  return workload::single_workload("membw", run_membw);
}

}  // namespace assay::train
