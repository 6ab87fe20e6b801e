
#include <fmt/format.h>

#include "core/error.h"
#include "train/micro/session.h"
#include "train/models/dense.h"

namespace assay::train {
namespace {

torch::ScalarType scalar_type(const std::string& name) {
  if (name == "bf16") return torch::kBFloat16;
  if (name == "fp16") return torch::kHalf;
  if (name == "fp64") return torch::kDouble;
  return torch::kFloat;
}

// One row of the product against a dot product in double precision: a wrong result must not give
// a number. `tolerance` is relative to the sum of the absolute products.
void check(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& c,
           double tolerance) {
  const std::int64_t row = a.size(0) / 2;
  const torch::Tensor x = a[row].cpu().to(torch::kDouble).unsqueeze(1);
  const torch::Tensor y = b.cpu().to(torch::kDouble);
  const torch::Tensor expected = (x * y).sum(0);
  const torch::Tensor scale = (x * y).abs().sum(0);
  const double error =
      ((c[row].cpu().to(torch::kDouble) - expected).abs() / scale).max().item<double>();
  if (!(error <= tolerance))
    throw Error(ErrorKind::environment,
                fmt::format("the matrix product is wrong: relative error {:.3g}, at most {:.3g}",
                            error, tolerance),
                {}, "this device computes wrongly; test it and its memory");
}

struct GemmSettings {
  std::string dtype;
  std::int64_t size;
  std::int64_t seed;
  SessionSettings session;

  explicit GemmSettings(workload::Options& options)
      : dtype(options.choice("dtype", "fp32", {"fp32", "tf32", "bf16", "fp16", "fp64"},
                             "type of the entries")),
        size(options.integer("size", 1024, 8, 65536, "rows and columns")),
        seed(options.integer("seed", 1, 0, 1'000'000'000, "of the matrices")),
        session(options) {
    options.reject_unknown();
  }
};

int run_gemm(const GemmSettings& settings, const workload::Place& place, perflog::Writer& log) {
  const auto& [dtype, size, seed, shared] = settings;
  Session session(shared, place, log);
  const torch::Device device = session.device();
  if (device.is_cpu() && (dtype == "tf32" || dtype == "fp16"))
    throw Error(ErrorKind::config, "the CPU has no matrix products in " + dtype, "dtype",
                "use fp32, bf16 or fp64");
  const double n = static_cast<double>(size);
  // The three matrices, and what the check of one row takes in double precision.
  session.require_memory(n * n * (3 * (dtype == "fp64" ? 8 : dtype == "bf16" ? 2 : 4) + 3 * 8));
  at::globalContext().setAllowTF32CuBLAS(dtype == "tf32");
  torch::manual_seed(static_cast<std::uint64_t>(seed));
  const auto kind = torch::TensorOptions(scalar_type(dtype)).device(device);
  const torch::Tensor a = torch::rand({size, size}, kind);
  const torch::Tensor b = torch::rand({size, size}, kind);
  torch::Tensor c = torch::empty({size, size}, kind);
  torch::NoGradGuard no_grad;
  const bool own = device.is_cpu() && dtype == "fp32" && has_fast_gemm();
  const auto multiply = [&] {
    if (own)
      fast_gemm(false, false, size, size, size, 1, a.data_ptr<float>(), size, b.data_ptr<float>(),
                size, 0, c.data_ptr<float>(), size);
    else
      torch::mm_out(c, a, b);
  };
  multiply();
  // All entries are positive, so errors are those of the inputs' and the output's formats.
  check(a, b, c, dtype == "fp64" ? 1e-12 : dtype == "fp32" ? 1e-5 : 0.02);
  session.start();
  Session::Work work;
  work.flops = 2 * n * n * n;
  const Session::Rate rate = session.measure(work, session.budget(), multiply);
  check(a, b, c, dtype == "fp64" ? 1e-12 : dtype == "fp32" ? 1e-5 : 0.02);
  session.result("peak_flops", rate.best * work.flops);
  session.result("mean_flops", rate.mean * work.flops);
  session.result("size", n);
  return session.finish();
}

}  // namespace

workload::Workload gemm_workload() {
  return workload::single_workload("gemm", run_gemm);
}

}  // namespace assay::train
