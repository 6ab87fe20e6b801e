#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "train/loop/usable_devices.h"
#include "train/micro/session.h"
#include "train/models/dense.h"

namespace assay::train {
namespace {

// How a product in one precision is computed, and its allowed deviation from the exact one,
// relative to the sum of the absolute products.
struct Kind {
  torch::ScalarType entries = torch::kFloat;
  std::int64_t bytes = 4;  // per entry
  double tolerance = 0.02;
};

Kind kind_of(const std::string& name) {
  if (name == "fp64") return {torch::kDouble, 8, 1e-12};
  if (name == "bf16") return {torch::kBFloat16, 2};
  if (name == "fp16") return {torch::kHalf, 2};
  if (name == "fp8") return {torch::kHalf, 1};  // the type in which entries are drawn
  return {torch::kFloat, 4, name == "fp32" ? 1e-5 : 0.02};
}

// Compares a row of the product, at columns spread over it, with dot products in double precision:
// a wrong result must not yield a figure.
void check(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& c,
           double tolerance) {
  constexpr std::int64_t kColumns = 512;
  const std::int64_t size = a.size(0);
  const std::int64_t row = size / 2;
  const std::int64_t stride = std::max<std::int64_t>(1, size / kColumns);
  const auto some = [&](const torch::Tensor& matrix) {
    return matrix.slice(1, 0, size, stride).cpu().to(torch::kDouble);
  };
  const torch::Tensor x = a.slice(0, row, row + 1).cpu().to(torch::kDouble).t();
  const torch::Tensor y = some(b);
  const torch::Tensor expected = (x * y).sum(0);
  const torch::Tensor scale = (x * y).abs().sum(0);
  const torch::Tensor got = some(c.slice(0, row, row + 1)).squeeze(0);
  const double error = ((got - expected).abs() / scale).max().item<double>();
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
      : dtype(options.choice("dtype", "fp32", {"fp32", "tf32", "bf16", "fp16", "fp64", "fp8"},
                             "type of the entries; fp8 is e4m3, the product bf16")),
        size(options.integer("size", 1024, 8, 65536, "rows and columns; of fp8 a multiple of 16")),
        seed(options.integer("seed", 1, 0, 1'000'000'000, "of the matrices")),
        session(options) {
    if (dtype == "fp8" && size % 16 != 0)
      options.fail("size", "the size of products in fp8 must be a multiple of 16");
    options.reject_unknown();
  }
};

// c = a · b in fp8 with scales of 1, summed as in a training's forward pass.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 5)
torch::Tensor to_fp8(const torch::Tensor& matrix) {
  return matrix.to(at::ScalarType::Float8_e4m3fn);
}

void multiply_fp8(const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& one,
                  torch::Tensor& c) {
  c = at::_scaled_mm(a, b, one, one, {}, {}, torch::kBFloat16, /*use_fast_accum=*/true);
}
#else
torch::Tensor to_fp8(const torch::Tensor& matrix) {
  return matrix;  // unreachable: matrix_precisions() has no fp8
}

void multiply_fp8(const torch::Tensor&, const torch::Tensor&, const torch::Tensor&,
                  torch::Tensor&) {}
#endif

int run_gemm(const GemmSettings& settings, const workload::Place& place, perflog::Writer& log) {
  const auto& [dtype, size, seed, shared] = settings;
  Session session(shared, place, log);
  const torch::Device device = session.device();
  const std::vector<std::string> precisions = matrix_precisions(device);
  if (std::ranges::find(precisions, dtype) == precisions.end())
    throw Error(ErrorKind::config, why_no_precision(device, dtype), "dtype",
                "use one of: " + join(precisions, ", "));
  const double n = static_cast<double>(size);
  const Kind kind = kind_of(dtype);
  const bool fp8 = dtype == "fp8";
  session.require_memory(n * n * (3.0 * static_cast<double>(kind.bytes)));
  at::globalContext().setAllowTF32CuBLAS(dtype == "tf32");
  torch::manual_seed(static_cast<std::uint64_t>(seed));
  const auto options = torch::TensorOptions(kind.entries).device(device);
  torch::Tensor a = torch::rand({size, size}, options);
  torch::Tensor b = torch::rand({size, size}, options);
  // fp8 sums keep about 14 bits: thousands of positive products lose a tenth on the way.
  if (fp8) {
    a.sub_(0.5);
    b.sub_(0.5);
  }
  torch::Tensor c;
  torch::Tensor one;
  torch::NoGradGuard no_grad;
  if (fp8) {
    a = to_fp8(a);
    b = to_fp8(b.t().contiguous()).t();  // makes columns contiguous
    one = torch::ones({}, options.dtype(torch::kFloat));
  } else {
    c = torch::empty({size, size}, options);
  }
  const bool own = device.is_cpu() && dtype == "fp32" && has_fast_gemm();
  const auto multiply = [&] {
    if (own)
      fast_gemm(false, false, size, size, size, 1, a.data_ptr<float>(), size, b.data_ptr<float>(),
                size, 0, c.data_ptr<float>(), size);
    else if (fp8)
      multiply_fp8(a, b, one, c);
    else
      torch::mm_out(c, a, b);
  };
  multiply();
  check(a, b, c, kind.tolerance);
  session.start();
  Session::Work work;
  work.flops = 2 * n * n * n;
  const Session::Rate rate = session.measure(work, session.budget(), multiply);
  check(a, b, c, kind.tolerance);
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
