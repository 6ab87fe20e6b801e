#pragma once

#include <utility>

#include "train/base/torch.h"

// The data that a fused norm for two readers passes from forward to backward, on any device.

namespace assay::train {

inline torch::Tensor channels_last(const torch::Tensor& x) {
  return x.contiguous(torch::MemoryFormat::ChannelsLast);
}

struct KeptNorm {
  torch::Tensor x;
  torch::Tensor weight;
  torch::Tensor state;  ///< per channel, in the form of the device's kernels
  torch::Tensor y;      ///< undefined in backward if x and the state show what relu clipped
  bool relu = false;
  bool has_addend = false;
};

/// Returns y twice, once per reader.
inline torch::autograd::variable_list keep_for_backward(torch::autograd::AutogradContext* context,
                                                        const KeptNorm& kept) {
  context->set_materialize_grads(false);
  context->save_for_backward(
      {kept.x, kept.weight, kept.state, kept.relu && kept.has_addend ? kept.y : torch::Tensor()});
  context->saved_data["relu"] = kept.relu;
  context->saved_data["addend"] = kept.has_addend;
  return {kept.y, kept.y.detach()};
}

inline KeptNorm kept_for_backward(torch::autograd::AutogradContext* context) {
  const auto saved = context->get_saved_variables();
  return {saved[0],
          saved[1],
          saved[2],
          saved[3],
          context->saved_data["relu"].toBool(),
          context->saved_data["addend"].toBool()};
}

/// The two readers' gradients, defined ones first.
inline std::pair<torch::Tensor, torch::Tensor> gradients_of_readers(
    torch::autograd::variable_list gradients) {
  if (!gradients[0].defined()) std::swap(gradients[0], gradients[1]);
  for (torch::Tensor& gradient : gradients)
    if (gradient.defined()) gradient = channels_last(gradient);
  return {gradients[0], gradients[1]};
}

}  // namespace assay::train
