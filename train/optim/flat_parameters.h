#pragma once

#include <string>
#include <vector>

#include "train/base/torch.h"

namespace assay::train {

/// All trainable parameters of a module in one buffer and their gradients in another; the module's
/// own tensors become views of these. Updates, clipping, zeroing and all-reduce then work on a few
/// large ranges instead of hundreds of tensors. The order is that in which backward completes
/// gradients: reverse registration order, first the decayed ones, then norms and biases
/// (one-dimensional parameters), so that each kind is one range. Every parameter begins at a
/// multiple of 128 bytes, as fast kernels require; the padding in between is and stays 0.
class FlatParameters {
 public:
  struct Entry {
    std::string name;
    torch::Tensor parameter;  ///< the module's tensor, a view of values()
    std::int64_t offset = 0;  ///< in elements
    std::int64_t size = 0;
    bool decayed = false;
    bool overwritten = false;  ///< by expect_overwritten()
    bool added_to = false;     ///< likewise
  };

  /// With `channels_last`, four-dimensional weights are stored in that format. The buffers can be
  /// divided into `parts` of equal size, each a multiple of 128 bytes. The module must already be
  /// on its device, with only float parameters. Keeps references to the module's tensors.
  FlatParameters(torch::nn::Module& module, bool channels_last, std::int64_t parts = 1);

  /// Reorders entries from registration order to the buffers' order and sets their offsets; returns
  /// the total number of elements. Entries need names, sizes and whether they are decayed.
  static std::int64_t lay_out(std::vector<Entry>& entries);

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
  /// The number of parameters, without the padding.
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  /// The buffers' size in elements.
  [[nodiscard]] std::int64_t size() const noexcept { return values_.numel(); }
  /// The number of leading elements that are decayed.
  [[nodiscard]] std::int64_t decayed() const noexcept { return decayed_; }
  [[nodiscard]] const torch::Tensor& values() const noexcept { return values_; }
  /// All gradients in one buffer. Throws Error of kind internal after round_gradients().
  [[nodiscard]] const torch::Tensor& gradients() const;
  /// The gradients as stored: one range, or two after round_gradients().
  struct GradientRange {
    std::int64_t begin = 0;  ///< elements, as in values()
    torch::Tensor gradients;
  };
  [[nodiscard]] const std::vector<GradientRange>& gradient_ranges() const noexcept {
    return ranges_;
  }
  /// One parameter's gradient, flattened.
  [[nodiscard]] torch::Tensor gradient(const Entry& entry) const;
  /// One parameter's part of a tensor with size() elements in buffer order.
  [[nodiscard]] static torch::Tensor part(const torch::Tensor& flat, const Entry& entry) {
    return flat.narrow(0, entry.offset, entry.size);
  }
  /// Declares that this parameter's gradient is overwritten in every step: zero_gradients() then
  /// leaves it alone. With `then_added_to`, something else adds to it afterwards. Throws Error of
  /// kind internal for an unknown name.
  void expect_overwritten(const std::string& name, bool then_added_to = false);
  void zero_gradients();
  /// From now on, keeps the leading gradients whose parameters are overwritten and not added to in
  /// `type`, the rest in float. They must be written by the code that overwrites them rather than
  /// autograd, which adds in the parameter's type. For gradients that one rank computes once per
  /// step: a sum would be rounded repeatedly.
  void round_gradients(torch::ScalarType type);

  /// From now on, also keeps the values in `type`: written by an optimizer's step, and by round()
  /// after any other change of values().
  void keep_rounded(torch::ScalarType type);
  /// Like values(); undefined if none are kept.
  [[nodiscard]] const torch::Tensor& rounded() const noexcept { return rounded_; }
  /// Must be called after a change of values(); does nothing if no rounded values are kept.
  void round();
  /// Throws Error of kind internal if a gradient of the module is no longer a view of the buffers,
  /// because an update would miss it.
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
