#pragma once

#include <deque>
#include <string>
#include <vector>

#include "train/mesh/mesh_groups.h"
#include "train/models/llama.h"
#include "train/models/unit_store.h"

namespace assay::train {

/// The parameters of a model of which each of the ranks with other data keeps a part only (ZeRO 2
/// and 3). Each unit's parameters lie in a few buffers, cut into as many parts as there are ranks.
/// Before a unit is used its parts are gathered, the next unit's while this one computes; its
/// gradients are summed by a reduce-scatter as soon as its backward is over, while the next one's
/// runs. With `keep` the gathered values stay until the next update (ZeRO 2), without they go when
/// the unit is released (ZeRO 3).
class ZeroUnits final : public UnitStore {
 public:
  /// Parameters of a unit that are treated alike, one after another.
  struct Piece {
    struct Entry {
      ParameterCut cut;
      torch::Tensor parameter;
      std::int64_t offset = 0;
    };
    std::size_t unit = 0;
    std::vector<Entry> entries;
    bool decayed = false;
    bool replicated = false;  ///< the ranks that share matrices have all of it
    bool counts = true;
    Communicator* ranks = nullptr;  ///< those that have parts of it
    torch::Tensor shard;            ///< this rank's part, a parameter of shards()
    torch::Tensor full;
    torch::Tensor gradient;  ///< undefined: not being computed
    bool present = false;    ///< `full` has the values
    Pending gathering;
  };

  /// Takes the values of the model. Both must outlive this.
  ZeroUnits(LlamaImpl& model, MeshGroups& groups, bool keep);

  /// A module whose parameters are this rank's parts: what is updated. Matrices have two
  /// dimensions there as well.
  [[nodiscard]] torch::nn::Module& shards() noexcept { return shards_; }
  [[nodiscard]] const std::vector<Piece>& pieces() const noexcept { return pieces_; }

  void fetch(std::size_t unit) override;
  void use(std::size_t unit) override;
  void release(std::size_t unit) override;
  void begin_gradients(std::size_t unit) override;
  void end_gradients(std::size_t unit) override;

  /// Waits until the gradients of all units are summed, in those of shards().
  void finish_gradients();
  /// The parts have new values: what was gathered is out of date.
  void outdate();

 private:
  struct Sum {
    Piece* piece;
    torch::Tensor sent;
    torch::Tensor parts;  // of all ranks, of this rank's part
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
