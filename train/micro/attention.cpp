#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "train/loop/usable_devices.h"
#include "train/micro/session.h"
#include "train/models/llama_ops.h"

namespace assay::train {
namespace {

struct AttentionSettings {
  std::string dtype;
  std::int64_t batch;
  std::int64_t sequence;
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t head;
  std::string kernels;
  SessionSettings session;

  explicit AttentionSettings(workload::Options& options)
      : dtype(options.choice("dtype", "fp32", {"fp32", "bf16", "fp16"},
                             "of queries, keys and values")),
        batch(options.integer("batch", 1, 1, 1 << 16, "sequences")),
        sequence(options.integer("sequence", 512, 8, 1 << 20, "tokens of one")),
        heads(options.integer("heads", 8, 1, 1024, "of queries")),
        kv_heads(options.integer("kv_heads", 2, 1, 1024, "of keys and values; divides `heads`")),
        head(options.integer("head", 64, 8, 256, "width of one, even")),
        kernels(options.choice("attention", "auto", attention_kernels(),
                               "on CUDA: whose kernels; auto is libtorch's choice")),
        session(options) {
    if (heads % kv_heads != 0)
      options.fail("kv_heads", fmt::format("{} heads of queries for {} of keys and values: each of "
                                           "these serves the same number of those",
                                           heads, kv_heads));
    if (head % 2 != 0) options.fail("head", "the width of a head is even");
    options.reject_unknown();
  }
};

torch::ScalarType type_of(const std::string& dtype) {
  if (dtype == "bf16") return torch::kBFloat16;
  return dtype == "fp16" ? torch::kHalf : torch::kFloat;
}

// Compares the last token of the first head, which sees the whole sequence, with double precision.
void check_attention(const LlamaHeads& heads, const torch::Tensor& out, double tolerance) {
  torch::NoGradGuard no_grad;
  const auto wide = [](const torch::Tensor& t) { return t.cpu().to(torch::kDouble); };
  const std::int64_t last = heads.q.size(1) - 1;
  const std::int64_t width = heads.q.size(3);
  const torch::Tensor q = wide(heads.q[0][last][0]);
  const torch::Tensor k = wide(heads.k.select(0, 0).select(1, 0));
  const torch::Tensor v = wide(heads.v.select(0, 0).select(1, 0));
  const torch::Tensor p = torch::softmax(k.mv(q) / std::sqrt(static_cast<double>(width)), 0);
  const torch::Tensor expected = v.t().mv(p);
  const torch::Tensor got = wide(out[0][last].narrow(0, 0, width));
  const double error = ((got - expected).norm() / expected.norm()).item<double>();
  if (!(error <= tolerance))
    throw Error(
        ErrorKind::environment,
        fmt::format("attention is wrong: relative error {:.3g}, at most {:.3g}", error, tolerance),
        {}, "this device computes wrongly; test it and its memory");
}

int run_attention(const AttentionSettings& settings, const workload::Place& place,
                  perflog::Writer& log) {
  Session session(settings.session, place, log);
  const torch::Device device = session.device();
  const std::vector<std::string> precisions = matrix_precisions(device);
  if (std::ranges::find(precisions, settings.dtype) == precisions.end())
    throw Error(ErrorKind::config, why_no_precision(device, settings.dtype), "dtype",
                "use one of: " + join(precisions, ", "));
  choose_attention(settings.kernels, device);
  const auto count = static_cast<double>(settings.batch * settings.heads);
  const auto length = static_cast<double>(settings.sequence);
  const auto width = static_cast<double>(settings.head);
  // The CPU stores the scores.
  if (device.is_cpu()) session.require_memory(4 * count * length * (2 * length + 8 * width));
  torch::manual_seed(1);
  const auto options = torch::TensorOptions(type_of(settings.dtype)).device(device);
  const auto leaf = [&](std::int64_t heads) {
    return torch::randn({settings.batch, settings.sequence, heads, settings.head}, options)
        .set_requires_grad(true);
  };
  const LlamaHeads heads{leaf(settings.heads), leaf(settings.kv_heads), leaf(settings.kv_heads)};
  torch::Tensor out;
  const auto forward = [&] { out = causal_attention(heads, {}); };
  forward();
  check_attention(heads, out, settings.dtype == "fp32" ? 1e-4 : 0.03);
  const torch::Tensor up = torch::randn_like(out);
  const auto both = [&] {
    forward();
    out.backward(up);
    for (torch::Tensor tensor : {heads.q, heads.k, heads.v}) tensor.mutable_grad().reset();
  };
  session.start();
  // Two products over the half left by the mask; backward has twice as many.
  Session::Work work;
  work.flops = 2 * count * length * length * width;
  const Session::Rate of_forward = session.measure(work, session.budget() / 2, [&] {
    torch::NoGradGuard no_grad;
    forward();
  });
  const double forward_flops = work.flops;
  work.flops *= 3;
  const Session::Rate of_both = session.measure(work, session.budget() / 2, both);
  const double backward_s = 1 / of_both.median - 1 / of_forward.median;
  session.result("forward_flops", of_forward.median * forward_flops);
  session.result("training_flops", of_both.median * work.flops);
  if (backward_s > 0) session.result("backward_flops", 2 * forward_flops / backward_s);
  session.result("peak_flops",
                 std::max(of_forward.best * forward_flops, of_both.best * work.flops));
  session.result("sequence", length);
  return session.finish();
}

}  // namespace

workload::Workload attention_workload() {
  return workload::single_workload("attention", run_attention);
}

}  // namespace assay::train
