#pragma once

namespace assay::train {

// What one update of the parameters computes with; for the kernels of every kind of device.

struct SgdTerms {
  float rate = 0;   ///< learning rate
  float scale = 1;  ///< multiplies the gradient first
  float decay = 0;  ///< weight decay, added to the gradient
  float momentum = 0;
  bool nesterov = false;
};

struct AdamTerms {
  float rate = 0;
  float scale = 1;
  float decay = 0;  ///< decoupled
  float beta1 = 0;
  float beta2 = 0;
  float epsilon = 0;
  float correction1 = 1;  ///< 1 - beta1^t
  float correction2 = 1;  ///< 1 - beta2^t
};

}  // namespace assay::train
