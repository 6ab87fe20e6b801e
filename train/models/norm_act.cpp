#include "train/models/norm_act.h"

namespace assay::train {

torch::Tensor norm_act(torch::nn::BatchNorm2dImpl& norm, const torch::Tensor& x,
                       const torch::Tensor& addend, bool relu) {
  torch::Tensor y = torch::batch_norm(x, norm.weight, norm.bias, norm.running_mean,
                                      norm.running_var, norm.is_training(),
                                      norm.options.momentum().value(), norm.options.eps(), true);
  if (addend.defined()) y = y.add_(addend);
  return relu ? y.relu_() : y;
}

}  // namespace assay::train
