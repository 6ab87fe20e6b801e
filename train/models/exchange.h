#pragma once

#include <cstdint>
#include <vector>

#include "train/base/torch.h"

namespace assay::train {

/// Ranks that share parts of a model, as the model sees them: what they exchange within forward and
/// backward. All of them call the same operations in the same order. Nothing here takes part in
/// autograd; tensors are contiguous.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  [[nodiscard]] virtual std::int64_t size() const = 0;
  [[nodiscard]] virtual std::int64_t rank() const = 0;
  /// What each rank gives, [size(), …] of it.
  [[nodiscard]] virtual torch::Tensor gather(const torch::Tensor& part) = 0;
  /// Of [size(), …] the part of this rank's number, summed over all ranks.
  [[nodiscard]] virtual torch::Tensor scatter_sum(const torch::Tensor& parts) = 0;
  /// In place.
  virtual void sum(const torch::Tensor& tensor) = 0;
  virtual void largest(const torch::Tensor& tensor) = 0;
  /// Sends the first sent[0] rows to rank 0, the next sent[1] to rank 1, …; gives the rows that
  /// they sent, received[i] of rank i, in their order.
  [[nodiscard]] virtual torch::Tensor all_to_all(const torch::Tensor& rows,
                                                 const std::vector<std::int64_t>& sent,
                                                 const std::vector<std::int64_t>& received) = 0;
};

}  // namespace assay::train
