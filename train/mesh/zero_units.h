#pragma once

#include <deque>
#include <string>
#include <vector>

#include "train/mesh/mesh_groups.h"
#include "train/models/llama.h"
#include "train/models/unit_store.h"

namespace assay::train {

/// The parameters of a model of which each rank with other data keeps only a part (ZeRO 2 and 3).
/// Each unit's parameters are in a few buffers, divided into as many parts as there are ranks. A
/// unit's parts are gathered before it is used, the next unit's while this one computes; its
/// gradients are summed by a reduce-scatter right after its backward, while the next one's runs.
/// With `keep`, gathered values stay until the next update (ZeRO 2); otherwise they are dropped
/// when the unit is released (ZeRO 3).
class ZeroUnits final : public UnitStore {
 public:
  /// Consecutive parameters of a unit that are treated alike.
  struct Piece {
    struct Entry {
      ParameterCut cut;
      torch::Tensor parameter;
      std::int64_t offset = 0;
    };
    std::size_t unit = 0;
    std::vector<Entry> entries;
    bool decayed = false;
    bool replicated = false;  ///< fully present on all ranks that share matrices
    bool counts = true;
    Communicator* ranks = nullptr;  ///< the ranks with parts of it
    torch::Tensor shard;            ///< this rank's part, a parameter of shards()
    torch::Tensor full;
    torch::Tensor gradient;  ///< undefined unless being computed
    bool present = false;    ///< `full` contains the values
    Pending gathering;
  };

  /// Takes the model's values. Both must outlive this.
  ZeroUnits(LlamaImpl& model, MeshGroups& groups, bool keep);

  /// A module whose parameters are this rank's parts, which get updated. Matrices have two
  /// dimensions there as well.
  [[nodiscard]] torch::nn::Module& shards() noexcept { return shards_; }
  [[nodiscard]] const std::vector<Piece>& pieces() const noexcept { return pieces_; }

  void fetch(std::size_t unit) override;
  void use(std::size_t unit) override;
  void release(std::size_t unit) override;
  void begin_gradients(std::size_t unit) override;
  void end_gradients(std::size_t unit) override;

  /// Waits until all units' gradients are summed into those of shards().
  void finish_gradients();
  /// Called when the parts have new values, which makes gathered ones outdated.
  void outdate();

 private:
  struct Sum {
    Piece* piece;
    torch::Tensor sent;
    torch::Tensor parts;  // of all ranks, for this rank's part
    Pending pending;
  };
  template <typename F>
  void each_of(std::size_t unit, const F& f);
  void allocate(Piece& piece) const;
  void finish_one();

  bool keep_;
  torch::nn::Module shards_;
  std::vector<Piece> pieces_;
  std::deque<Sum> sums_;
};

}  // namespace assay::train
