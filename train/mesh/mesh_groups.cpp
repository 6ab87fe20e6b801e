#include "train/mesh/mesh_groups.h"

#include <algorithm>

namespace assay::train {

// A group of ranks in the form used by a model.
class MeshGroups::Group final : public Exchange {
 public:
  explicit Group(std::shared_ptr<Communicator> ranks) : ranks_(std::move(ranks)) {}

  std::int64_t size() const override { return ranks_->world_size(); }
  std::int64_t rank() const override { return ranks_->rank(); }

  torch::Tensor gather(const torch::Tensor& part) override {
    torch::Tensor all = torch::empty(with_first(size(), part.sizes()), part.options());
    ranks_->wait(ranks_->all_gather(all, part));
    return all;
  }
  torch::Tensor scatter_sum(const torch::Tensor& parts) override {
    torch::Tensor own = torch::empty(parts.sizes().slice(1), parts.options());
    ranks_->reduce_scatter(own, parts);
    return own;
  }
  void sum(const torch::Tensor& tensor) override { ranks_->wait(ranks_->all_reduce(tensor)); }
  void largest(const torch::Tensor& tensor) override { ranks_->largest(tensor); }
  torch::Tensor all_to_all(const torch::Tensor& rows, const std::vector<std::int64_t>& sent,
                           const std::vector<std::int64_t>& received) override {
    std::int64_t count = 0;
    for (const std::int64_t each : received) count += each;
    torch::Tensor into = torch::empty(with_first(count, rows.sizes().slice(1)), rows.options());
    ranks_->all_to_all(into, rows, sent, received);
    return into;
  }

 private:
  static std::vector<std::int64_t> with_first(std::int64_t first, torch::IntArrayRef rest) {
    std::vector<std::int64_t> shape{first};
    shape.insert(shape.end(), rest.begin(), rest.end());
    return shape;
  }

  std::shared_ptr<Communicator> ranks_;
};

// A group of all ranks is `all_` itself, unless it must be separate.
template <typename Same>
MeshGroups::Ranks MeshGroups::group(const std::string& name, const Same& same, bool own) {
  std::vector<int> ranks;
  for (std::int64_t rank = 0; rank < mesh_.devices(); ++rank)
    if (same(place_in(mesh_, rank))) ranks.push_back(static_cast<int>(rank));
  if (!own && ranks.size() == static_cast<std::size_t>(all_.world_size()))
    return {&all_, [](Communicator*) {}};
  return all_.among(ranks, name + "." + std::to_string(ranks.front()));
}

MeshGroups::MeshGroups(Communicator& all, const Mesh& mesh)
    : all_(all), mesh_(mesh), place_(place_in(mesh, all.rank())) {
  const MeshPlace own = place_;
  const std::int64_t expert = mesh.expert;
  const auto stages = [&](const MeshPlace& p) {
    return p.data == own.data && p.tensor == own.tensor;
  };
  const auto same_share = [&](const MeshPlace& p) {
    return p.tensor == own.tensor && p.pipeline == own.pipeline;
  };
  data_ = group("data", same_share);
  expert_data_ = group("expert-data", [&](const MeshPlace& p) {
    return same_share(p) && p.data % expert == own.data % expert;
  });
  replica_ = group("replica", [&](const MeshPlace& p) { return p.data == own.data; });
  whole_ = group("whole", [&](const MeshPlace& p) { return p.data / expert == own.data / expert; });
  const bool end = first_stage() || last_stage();
  ends_ = group("ends", [&](const MeshPlace& p) {
    if (!end) return p == own;
    return stages(p) && (p.pipeline == 0 || p.pipeline + 1 == mesh.pipeline);
  });
  down_ = group("down", stages, true);
  up_ = group("up", stages, true);
  // Gradients are summed while backward runs, at times that each rank chooses, so backward's own
  // exchanges must not share an order with them.
  if (mesh.tensor > 1) {
    const auto same = [&](const MeshPlace& p) {
      return p.data == own.data && p.pipeline == own.pipeline;
    };
    tensor_ = std::make_unique<Group>(group("tensor", same, true));
  }
  if (expert > 1) {
    const auto same = [&](const MeshPlace& p) {
      return same_share(p) && p.data / expert == own.data / expert;
    };
    expert_ = std::make_unique<Group>(group("expert", same, true));
  }
}

MeshGroups::~MeshGroups() = default;

Exchange* MeshGroups::tensor() noexcept {
  return tensor_.get();
}

Exchange* MeshGroups::expert() noexcept {
  return expert_.get();
}

}  // namespace assay::train
