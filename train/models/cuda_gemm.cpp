#include "train/models/cuda_gemm.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <dlfcn.h>

#include "core/error.h"

namespace assay::train {
namespace {

// libtorch contains its own cuBLAS; linking another could load the wrong one.
struct BlasLt {
  template <typename F>
  static F* find(const char* name) {
    return reinterpret_cast<F*>(::dlsym(RTLD_DEFAULT, name));
  }
#define ASSAY_BLAS(name) decltype(::name)* name = find<decltype(::name)>(#name)
  ASSAY_BLAS(cublasLtMatmul);
  ASSAY_BLAS(cublasLtMatmulAlgoGetHeuristic);
  ASSAY_BLAS(cublasLtMatmulDescCreate);
  ASSAY_BLAS(cublasLtMatmulDescDestroy);
  ASSAY_BLAS(cublasLtMatmulDescSetAttribute);
  ASSAY_BLAS(cublasLtMatmulPreferenceCreate);
  ASSAY_BLAS(cublasLtMatmulPreferenceDestroy);
  ASSAY_BLAS(cublasLtMatmulPreferenceSetAttribute);
  ASSAY_BLAS(cublasLtMatrixLayoutCreate);
  ASSAY_BLAS(cublasLtMatrixLayoutDestroy);
#undef ASSAY_BLAS

  [[nodiscard]] bool complete() const noexcept {
    return cublasLtMatmul != nullptr && cublasLtMatmulAlgoGetHeuristic != nullptr &&
           cublasLtMatmulDescCreate != nullptr && cublasLtMatmulDescDestroy != nullptr &&
           cublasLtMatmulDescSetAttribute != nullptr && cublasLtMatmulPreferenceCreate != nullptr &&
           cublasLtMatmulPreferenceDestroy != nullptr &&
           cublasLtMatmulPreferenceSetAttribute != nullptr &&
           cublasLtMatrixLayoutCreate != nullptr && cublasLtMatrixLayoutDestroy != nullptr;
  }
};

const BlasLt& blas() {
  static const BlasLt functions;
  return functions;
}

void check_blas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw Error(ErrorKind::internal,
                std::string(what) + " of cuBLAS gave " + std::to_string(static_cast<int>(status)));
}

constexpr std::int64_t kWorkspaceBytes = 64 << 20;
constexpr int kAlgorithms = 8;

// A product in cuBLAS's view, with contiguous columns: outᵀ = op(b)ᵀ · op(a)ᵀ.
class Plan {
 public:
  Plan(Transposed which, const torch::Tensor& a, const torch::Tensor& b, const torch::Tensor& out) {
    const bool first = which == Transposed::first;
    const bool second = which == Transposed::second;
    const std::int64_t m = out.size(1);
    const std::int64_t n = out.size(0);
    const std::int64_t k = first ? a.size(0) : a.size(1);
    flops_ = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    check_blas(blas().cublasLtMatmulDescCreate(&product_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
               "a product");
    const cublasOperation_t left = second ? CUBLAS_OP_T : CUBLAS_OP_N;  // for b
    const cublasOperation_t right = first ? CUBLAS_OP_T : CUBLAS_OP_N;  // for a
    set(CUBLASLT_MATMUL_DESC_TRANSA, left);
    set(CUBLASLT_MATMUL_DESC_TRANSB, right);
    layout(b_, b);
    layout(a_, a);
    layout(out_, out);
    cublasLtMatmulPreference_t preference = nullptr;
    check_blas(blas().cublasLtMatmulPreferenceCreate(&preference), "a preference");
    const auto bytes = static_cast<std::uint64_t>(kWorkspaceBytes);
    blas().cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
    std::array<cublasLtMatmulHeuristicResult_t, kAlgorithms> found{};
    int count = 0;
    const cublasStatus_t status = blas().cublasLtMatmulAlgoGetHeuristic(
        at::cuda::getCurrentCUDABlasLtHandle(), product_, b_, a_, out_, out_, preference,
        kAlgorithms, found.data(), &count);
    blas().cublasLtMatmulPreferenceDestroy(preference);
    check_blas(count > 0 ? status : CUBLAS_STATUS_NOT_SUPPORTED, "the choice of an algorithm");
    for (int i = 0; i < count; ++i) algorithms_.push_back(found[static_cast<std::size_t>(i)].algo);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    if (product_ != nullptr) blas().cublasLtMatmulDescDestroy(product_);
    for (cublasLtMatrixLayout_t each : {a_, b_, out_})
      if (each != nullptr) blas().cublasLtMatrixLayoutDestroy(each);
  }

  void run(const torch::Tensor& a, const torch::Tensor& b, torch::Tensor& out,
           const torch::Tensor& workspace) const {
    check_blas(run_with(algorithms_[best_], a, b, out, workspace), "a product");
  }

  // A device at its power limit adapts its clock to the computation, but not at once: each
  // algorithm is timed alone, for long enough to reach the clock that its own power allows.
  // Algorithms that take short turns would share a clock, and the one that needs less power would
  // not win.
  void choose(const torch::Tensor& a, const torch::Tensor& b, torch::Tensor& out,
              const torch::Tensor& workspace) {
    constexpr double kBusyFirst = 0.1;  // seconds: an idle device's clock cannot be sustained
    constexpr double kSettle = 0.025;
    constexpr double kTimed = 0.06;
    constexpr std::size_t kLeft = 3;  // number of algorithms to time again
    constexpr int kAgain = 2;
    const auto repeat = [&](std::size_t algorithm, double seconds) {
      return seconds_of(algorithms_[algorithm], seconds, a, b, out, workspace);
    };
    const auto taken = [&](std::size_t algorithm) {
      static_cast<void>(repeat(algorithm, kSettle));
      return repeat(algorithm, kTimed);
    };
    static_cast<void>(repeat(0, kBusyFirst));
    std::vector<Trial> trials;
    for (std::size_t i = 0; i < algorithms_.size(); ++i) trials.push_back({i, taken(i)});
    std::ranges::sort(trials, {}, &Trial::seconds);
    trials.resize(std::min(trials.size(), kLeft));
    for (int round = 0; round < kAgain; ++round)
      for (Trial& each : trials) each.seconds += taken(each.algorithm);
    best_ = std::ranges::min_element(trials, {}, &Trial::seconds)->algorithm;
  }

 private:
  struct Trial {
    std::size_t algorithm;
    double seconds;
  };

  // The time of one product, repeated for about `seconds`; very long if the algorithm fails.
  [[nodiscard]] double seconds_of(const cublasLtMatmulAlgo_t& algorithm, double seconds,
                                  const torch::Tensor& a, const torch::Tensor& b,
                                  torch::Tensor& out, const torch::Tensor& workspace) const {
    constexpr double kGuessed = 650e12;  // FLOP/s
    constexpr double kFailed = 1e9;
    const int times = std::clamp(static_cast<int>(seconds / (flops_ / kGuessed)), 2, 1000);
    at::cuda::CUDAEvent begin(cudaEventDefault);
    at::cuda::CUDAEvent end(cudaEventDefault);
    for (int t = -1; t < times; ++t) {
      if (t == 0) begin.record();
      if (run_with(algorithm, a, b, out, workspace) != CUBLAS_STATUS_SUCCESS) return kFailed;
    }
    end.record();
    end.synchronize();
    return static_cast<double>(begin.elapsed_time(end)) / 1000 / times;
  }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t what, T value) {
    check_blas(blas().cublasLtMatmulDescSetAttribute(product_, what, &value, sizeof value),
               "a product");
  }
  static void layout(cublasLtMatrixLayout_t& to, const torch::Tensor& x) {
    const cudaDataType_t type = x.scalar_type() == torch::kFloat  ? CUDA_R_32F
                                : x.scalar_type() == torch::kHalf ? CUDA_R_16F
                                                                  : CUDA_R_16BF;
    check_blas(blas().cublasLtMatrixLayoutCreate(&to, type, static_cast<std::uint64_t>(x.size(1)),
                                                 static_cast<std::uint64_t>(x.size(0)), x.size(1)),
               "a layout");
  }
  [[nodiscard]] cublasStatus_t run_with(const cublasLtMatmulAlgo_t& algorithm,
                                        const torch::Tensor& a, const torch::Tensor& b,
                                        torch::Tensor& out, const torch::Tensor& workspace) const {
    const float one = 1;
    const float zero = 0;
    return blas().cublasLtMatmul(
        at::cuda::getCurrentCUDABlasLtHandle(), product_, &one, b.data_ptr(), b_, a.data_ptr(), a_,
        &zero, out.data_ptr(), out_, out.data_ptr(), out_, &algorithm, workspace.data_ptr(),
        static_cast<std::size_t>(kWorkspaceBytes), at::cuda::getCurrentCUDAStream().stream());
  }

  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t out_ = nullptr;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;
  std::size_t best_ = 0;
  double flops_ = 0;
};

// A product's sizes: a model has products with results of the same shape and sums of different
// length.
using PlanKey = std::tuple<int, int, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

struct Gemms {
  bool wanted = false;
  torch::Tensor workspace;
  std::map<PlanKey, std::unique_ptr<Plan>> plans;
};

// For one device and one stream: a rank has no more.
Gemms& gemms() {
  static Gemms all;
  return all;
}

bool is_capturing() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(at::cuda::getCurrentCUDAStream().stream(), &status) != cudaSuccess ||
         status != cudaStreamCaptureStatusNone;
}

}  // namespace

void time_gemm_algorithms(bool wanted) noexcept {
  gemms().wanted = wanted;
}

bool has_gemm(const torch::Tensor& a, const torch::Tensor& b) {
  const auto fits = [&](const torch::Tensor& x) {
    return x.is_cuda() && x.dim() == 2 && x.is_contiguous() && x.numel() > 0 &&
           x.scalar_type() == a.scalar_type();
  };
  return gemms().wanted && fits(a) && fits(b) &&
         (a.scalar_type() == torch::kBFloat16 || a.scalar_type() == torch::kHalf) &&
         blas().complete();
}

void gemm(Transposed which, const torch::Tensor& a, const torch::Tensor& b, torch::Tensor& out) {
  Gemms& all = gemms();
  if (!all.workspace.defined() || all.workspace.device() != a.device())
    all.workspace = torch::empty({kWorkspaceBytes}, a.options().dtype(torch::kByte));
  const PlanKey key{static_cast<int>(which),
                    2 * static_cast<int>(a.scalar_type()) + (out.scalar_type() == torch::kFloat),
                    out.size(0),
                    out.size(1),
                    a.size(0),
                    a.size(1)};
  std::unique_ptr<Plan>& plan = all.plans[key];
  if (!plan) {
    plan = std::make_unique<Plan>(which, a, b, out);
    if (!is_capturing()) plan->choose(a, b, out, all.workspace);
  }
  plan->run(a, b, out, all.workspace);
}

}  // namespace assay::train
