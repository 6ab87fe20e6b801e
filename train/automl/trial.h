#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "automl/graph.h"
#include "automl/worker_protocol.h"
#include "perflog/writer.h"
#include "train/automl/trial_group.h"
#include "train/base/torch.h"
#include "train/data/image_set.h"
#include "train/loop/settings.h"
#include "train/models/graph_weights.h"

namespace assay::train {

/// Trains trials one after another on one device, or this rank's share of them when its group is of
/// several; the numbers that callbacks get are then those of the whole group. The data are opened
/// with the first trial and stay until one asks for others. One thread.
class TrialRunner {
 public:
  /// `group` and `log` must outlive this. threads: of libtorch, 0 for this rank's share.
  TrialRunner(torch::Device device, std::int64_t threads, const workload::Place& place,
              TrialGroup& group, perflog::Writer& log);

  struct Callbacks {
    /// The parent's weights, or nothing when there are none. An Error of kind config fails the
    /// trial.
    std::function<std::optional<GraphWeights>(const automl::Parent&, const automl::Graph&)> parent;
    /// What a trial with a parent begins with; before its first batch.
    std::function<void(const automl::Inherited&)> inherited{};
    std::function<void(const automl::Epoch&)> epoch;
    /// Asked at every step; true ends the trial as failed, on all ranks of the group.
    std::function<bool()> ended;
    /// The trial is over; its memory and threads are given back after this.
    std::function<void(const automl::Done&)> over;
  };
  struct Outcome {
    automl::Done done;        ///< wait_s is left to the caller
    std::int64_t end_ns = 0;  ///< of the trial, on the monotonic clock
    GraphWeights weights;     ///< of the epoch of the best accuracy; empty when there was none
    std::optional<automl::Graph> graph;  ///< of the search; nothing when it could not be read
  };

  /// A trial that cannot be trained (graph or hyper-parameters impossible, loss not finite, out of
  /// memory, ended) is an outcome, not an error. Throws Error for what would hit every trial: of
  /// kind usage for a wrong data configuration, of kind environment for data that are missing.
  [[nodiscard]] Outcome run(const automl::Trial& trial, const Callbacks& callbacks);

  [[nodiscard]] std::int64_t epochs() const noexcept { return epochs_; }  ///< of all trials
  [[nodiscard]] double samples() const noexcept { return samples_; }      ///< trained on, of all

 private:
  class Training;
  void open_data(const automl::Trial& trial, const data::ImageSetOptions& images);

  torch::Device device_;
  std::int64_t threads_;
  workload::Place place_;
  TrialGroup& group_;
  perflog::Writer& log_;
  std::string opened_;  // the data configuration of set_
  data::ImageSet set_;
  std::int64_t epochs_ = 0;
  double samples_ = 0;
};

}  // namespace assay::train
