#pragma once

#include <string>
#include <vector>

#include "train/base/torch.h"

namespace assay::train {

/// All trainable parameters of a module in one buffer and their gradients in another; the module's
/// own tensors become views of them. Updates, clipping, zeroing and all-reduce then work on a few
/// large ranges instead of hundreds of tensors. The order is that in which backward finishes
/// gradients: reverse registration order, first those that are decayed, then norms and biases
/// (parameters of one dimension), so that each kind is one range. Every parameter begins at a
/// multiple of 128 bytes, which fast kernels want; the padding between them is 0 and stays 0.
class FlatParameters {
 public:
  struct Entry {
    std::string name;
    torch::Tensor parameter;  ///< the module's tensor, a view of values()
    std::int64_t offset = 0;  ///< elements
    std::int64_t size = 0;
    bool decayed = false;
    bool overwritten = false;  ///< expect_overwritten()
    bool added_to = false;     ///< likewise
  };

  /// With `channels_last`, weights of four dimensions are stored in that format. The buffers can be
  /// cut into `parts` of the same size, each of whole multiples of 128 bytes. The module must
  /// already be on its device, all parameters of it float. Keeps references to the module's
  /// tensors.
  FlatParameters(torch::nn::Module& module, bool channels_last, std::int64_t parts = 1);

  /// Orders entries in the order of registration and gives each its offset, as they are in the
  /// buffers; gives the elements of all. Entries need names, sizes and whether they are decayed.
  static std::int64_t lay_out(std::vector<Entry>& entries);

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// The number of parameters, without the padding.
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  /// Elements of the buffers.
  [[nodiscard]] std::int64_t size() const noexcept { return values_.numel(); }
  /// Elements from the beginning that are decayed.
  [[nodiscard]] std::int64_t decayed() const noexcept { return decayed_; }
  [[nodiscard]] const torch::Tensor& values() const noexcept { return values_; }
  /// All gradients in one buffer. Throws Error of kind internal after round_gradients().
  [[nodiscard]] const torch::Tensor& gradients() const;
  /// The gradients as they lie in memory: one range, or after round_gradients() two.
  struct GradientRange {
    std::int64_t begin = 0;  ///< elements, as in values()
    torch::Tensor gradients;
  };
  [[nodiscard]] const std::vector<GradientRange>& gradient_ranges() const noexcept {
    return ranges_;
  }
  /// One parameter's gradient, without its shape.
  [[nodiscard]] torch::Tensor gradient(const Entry& entry) const;
  /// One parameter's part of a tensor of size() elements, in the order of the buffer.
  [[nodiscard]] static torch::Tensor part(const torch::Tensor& flat, const Entry& entry) {
    return flat.narrow(0, entry.offset, entry.size);
  }
  /// Whoever computes this parameter's gradient overwrites it in every step: zero_gradients()
  /// leaves it alone. With `then_added_to`, somebody else adds to it afterwards. Throws Error of
  /// kind internal for a name that there is not.
  void expect_overwritten(const std::string& name, bool then_added_to = false);
  void zero_gradients();
  /// Keeps the gradients at the beginning of the buffer in `type` from now on, as far as their
  /// parameters are overwritten and not added to; the rest in float. They must be written by
  /// whoever overwrites them, not by autograd, which adds in the parameter's type. For gradients
  /// that one rank computes once a step: a sum would be rounded each time.
  void round_gradients(torch::ScalarType type);

  /// Keeps the values in `type` too, from now on: what an optimizer's step writes in passing, and
  /// round() for everyone else who changes values().
  void keep_rounded(torch::ScalarType type);
  /// As values(); undefined when none are kept.
  [[nodiscard]] const torch::Tensor& rounded() const noexcept { return rounded_; }
  /// After a change of values(); nothing when no rounded ones are kept.
  void round();
  /// Throws Error of kind internal when a gradient of the module is no longer a view of the
  /// buffers: an update would miss it.
  void check_views() const;

 private:
  std::vector<Entry> entries_;
  bool channels_last_;
  std::int64_t count_ = 0;
  std::int64_t decayed_ = 0;
  torch::Tensor values_;
  std::vector<GradientRange> ranges_;
  torch::Tensor rounded_;
};

}  // namespace assay::train
