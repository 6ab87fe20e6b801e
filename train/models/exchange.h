#pragma once

#include <cstdint>
#include <vector>

#include "train/base/torch.h"

namespace assay::train {

/// Ranks that share parts of a model, in the form used by the model: their exchanges within forward
/// and backward. All of them call the same operations in the same order. Nothing here supports
/// autograd; tensors are contiguous.
class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  [[nodiscard]] virtual std::int64_t size() const = 0;
  [[nodiscard]] virtual std::int64_t rank() const = 0;
  /// All ranks' parts: [size(), …].
  [[nodiscard]] virtual torch::Tensor gather(const torch::Tensor& part) = 0;
  /// The part with this rank's number from [size(), …], summed over all ranks.
  [[nodiscard]] virtual torch::Tensor scatter_sum(const torch::Tensor& parts) = 0;
  /// Operate in place.
  virtual void sum(const torch::Tensor& tensor) = 0;
  virtual void largest(const torch::Tensor& tensor) = 0;
  /// Sends the first sent[0] rows to rank 0, the next sent[1] to rank 1, …; returns the rows
  /// received, received[i] from rank i, in order.
  [[nodiscard]] virtual torch::Tensor all_to_all(const torch::Tensor& rows,
                                                 const std::vector<std::int64_t>& sent,
                                                 const std::vector<std::int64_t>& received) = 0;
};

}  // namespace assay::train
