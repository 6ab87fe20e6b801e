#pragma once

#include "train/mesh/model_share.h"
#include "train/mesh/whole_model.h"

namespace assay::train {

/// A model of which each rank of a replica has a share; ranks with other data have the same shares.
class SharedModel final : public ModelShare {
 public:
  /// `parameters` are the model's. All must outlive this.
  SharedModel(const LlamaImpl& model, FlatParameters& parameters, MeshGroups& groups)
      : parameters_(parameters),
        groups_(groups),
        tied_(model.options().tied),
        whole_(model, parameters.entries(), groups) {}

  [[nodiscard]] Communicator& ranks_of(const FlatParameters::Entry& entry) override;
  void broadcast() override;
  void sum_gradients() override;
  [[nodiscard]] torch::Tensor gradient_norm() override;
  [[nodiscard]] const std::vector<FlatParameters::Entry>& entries() const noexcept override {
    return whole_.entries();
  }
  [[nodiscard]] torch::Tensor gather(const torch::Tensor& own) override {
    return whole_.gather(own);
  }
  void scatter(const torch::Tensor& whole, const torch::Tensor& own) override {
    whole_.scatter(whole, own);
  }

 private:
  FlatParameters& parameters_;
  MeshGroups& groups_;
  bool tied_;
  WholeModel whole_;
};

}  // namespace assay::train
