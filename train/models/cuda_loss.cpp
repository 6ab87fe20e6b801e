#include "train/models/cuda_loss.h"

#include "train/cuda/cross_entropy.h"
#include "train/cuda/tensors.h"

namespace assay::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

cuda::Logits logits_of(const torch::Tensor& logits, std::int64_t classes) {
  return {logits.data_ptr(), logits.size(0), classes, logits.size(1)};
}

cuda::Targets targets_of(const torch::Tensor& labels, std::int64_t ignored, double smoothing) {
  return {labels.data_ptr<std::int64_t>(), ignored, static_cast<float>(smoothing)};
}

struct CrossEntropy : torch::autograd::Function<CrossEntropy> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& logits,
                               std::int64_t classes, const torch::Tensor& labels,
                               std::int64_t ignored, double smoothing) {
    const torch::Tensor sums = cuda::floats(logits, {2, logits.size(0)});
    float* const losses = sums.data_ptr<float>();
    cuda::cross_entropy_forward(cuda::current_stream(), cuda::type_of(logits),
                                logits_of(logits, classes), targets_of(labels, ignored, smoothing),
                                losses, losses + logits.size(0));
    const torch::Tensor count = (labels != ignored).sum().to(torch::kFloat);
    context->save_for_backward({logits, labels, sums[1], count});
    context->saved_data["classes"] = classes;
    context->saved_data["ignored"] = ignored;
    context->saved_data["smoothing"] = smoothing;
    return sums[0].sum() / count;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const torch::Tensor& logits = saved[0];
    const torch::Tensor factor = (gradients[0] / saved[3]).to(torch::kFloat);
    torch::Tensor dlogits = torch::empty_like(logits);
    cuda::cross_entropy_backward(cuda::current_stream(), cuda::type_of(logits),
                                 logits_of(logits, context->saved_data["classes"].toInt()),
                                 targets_of(saved[1], context->saved_data["ignored"].toInt(),
                                            context->saved_data["smoothing"].toDouble()),
                                 saved[2].data_ptr<float>(), factor.data_ptr<float>(),
                                 dlogits.data_ptr());
    return {dlogits, torch::Tensor(), torch::Tensor(), torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

bool cuda_cross_entropy_fits(const torch::Tensor& logits) {
  return cuda::fits(logits) && logits.dim() == 2 && logits.is_contiguous() &&
         logits.size(1) % cuda::lanes(cuda::type_of(logits)) == 0;
}

torch::Tensor cuda_cross_entropy(const torch::Tensor& logits, std::int64_t classes,
                                 const torch::Tensor& labels, std::int64_t ignored,
                                 double smoothing) {
  return CrossEntropy::apply(logits, classes, labels, ignored, smoothing);
}

}  // namespace assay::train
