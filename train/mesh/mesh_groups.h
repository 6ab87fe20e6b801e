#pragma once

#include <memory>
#include <string>

#include "train/models/exchange.h"
#include "train/models/mesh.h"
#include "train/parallel/communicator.h"

namespace assay::train {

/// The ranks of a mesh that this rank works with, along each axis. Created by all ranks together.
class MeshGroups {
 public:
  /// The mesh must have as many devices as `all` has ranks. `all` must outlive this.
  MeshGroups(Communicator& all, const Mesh& mesh);
  ~MeshGroups();
  MeshGroups(const MeshGroups&) = delete;
  MeshGroups& operator=(const MeshGroups&) = delete;

  [[nodiscard]] const Mesh& mesh() const noexcept { return mesh_; }
  [[nodiscard]] const MeshPlace& place() const noexcept { return place_; }
  [[nodiscard]] bool first_stage() const noexcept { return place_.pipeline == 0; }
  [[nodiscard]] bool last_stage() const noexcept { return place_.pipeline + 1 == mesh_.pipeline; }

  [[nodiscard]] Communicator& all() noexcept { return all_; }
  /// Ranks with the same part of the model and other data.
  [[nodiscard]] Communicator& data() noexcept { return *data_; }
  /// The same, and also with the same experts.
  [[nodiscard]] Communicator& expert_data() noexcept { return *expert_data_; }
  /// Ranks with the same data: together they have the model, but not other ranks' experts.
  [[nodiscard]] Communicator& replica() noexcept { return *replica_; }
  /// Ranks that together have the entire model, including all experts.
  [[nodiscard]] Communicator& whole() noexcept { return *whole_; }
  /// The first and the last stage, which both have a tied matrix; each other stage is alone in it.
  [[nodiscard]] Communicator& ends() noexcept { return *ends_; }
  /// The consecutive stages, with one communicator per direction, so that transfers in one
  /// direction never wait for the other.
  [[nodiscard]] Communicator& down() noexcept { return *down_; }
  [[nodiscard]] Communicator& up() noexcept { return *up_; }
  /// For ranks that share matrices, or experts; nullptr if this rank is alone.
  [[nodiscard]] Exchange* tensor() noexcept;
  [[nodiscard]] Exchange* expert() noexcept;

 private:
  class Group;
  using Ranks = std::shared_ptr<Communicator>;
  template <typename Same>
  [[nodiscard]] Ranks group(const std::string& name, const Same& same, bool own = false);

  Communicator& all_;
  Mesh mesh_;
  MeshPlace place_;
  Ranks data_;
  Ranks expert_data_;
  Ranks replica_;
  Ranks whole_;
  Ranks ends_;
  Ranks down_;
  Ranks up_;
  std::unique_ptr<Group> tensor_;
  std::unique_ptr<Group> expert_;
};

}  // namespace assay::train
