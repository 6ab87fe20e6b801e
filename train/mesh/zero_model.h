#pragma once

#include "train/mesh/model_share.h"
#include "train/mesh/whole_model.h"
#include "train/mesh/zero_units.h"

namespace assay::train {

/// A model whose parameters are in ZeroUnits: the ranks' buffers contain its parts.
class ZeroModel final : public ModelShare {
 public:
  /// `shards` are the flat parameters of units.shards(). All must outlive this.
  ZeroModel(const LlamaImpl& model, ZeroUnits& units, FlatParameters& shards, MeshGroups& groups);

  [[nodiscard]] bool sums_itself() const override { return true; }
  [[nodiscard]] Communicator& ranks_of(const FlatParameters::Entry& entry) override;
  void broadcast() override {}  // every rank has drawn the same
  void sum_gradients() override;
  [[nodiscard]] torch::Tensor gradient_norm() override;
  void updated() override { units_.outdate(); }
  [[nodiscard]] const std::vector<FlatParameters::Entry>& entries() const noexcept override {
    return whole_.entries();
  }
  [[nodiscard]] torch::Tensor gather(const torch::Tensor& own) override;
  void scatter(const torch::Tensor& whole, const torch::Tensor& own) override;

 private:
  [[nodiscard]] const FlatParameters::Entry& entry_of(const ZeroUnits::Piece& piece) const;

  ZeroUnits& units_;
  FlatParameters& shards_;
  MeshGroups& groups_;
  bool tied_;
  std::vector<FlatParameters::Entry> local_;  // this rank's share before division into parts
  std::int64_t local_size_;
  WholeModel whole_;
};

}  // namespace assay::train
