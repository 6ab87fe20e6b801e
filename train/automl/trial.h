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

/// Trains trials one after another on one device, or this rank's share of them in a group of
/// several, in which case callbacks get the numbers of the whole group. The data is opened with the
/// first trial and kept until a trial needs other data. Single-threaded.
class TrialRunner {
 public:
  /// `group` and `log` must outlive this. `threads` is for libtorch; 0 means this rank's share.
  TrialRunner(torch::Device device, std::int64_t threads, const workload::Place& place,
              TrialGroup& group, perflog::Writer& log);

  struct Callbacks {
    /// The parent's weights, or nothing. An Error of kind config fails the trial.
    std::function<std::optional<GraphWeights>(const automl::Parent&, const automl::Graph&)> parent;
    /// The initial state of a trial with a parent; called before its first batch.
    std::function<void(const automl::Inherited&)> inherited{};
    std::function<void(const automl::Epoch&)> epoch;
    /// Checked at every step; true ends the trial as failed, on all ranks of the group.
    std::function<bool()> ended;
    /// The trial is over; its memory and threads are released afterwards.
    std::function<void(const automl::Done&)> over;
  };
  struct Outcome {
    automl::Done done;                   ///< wait_s is set by the caller
    std::int64_t end_ns = 0;             ///< of the trial, on the monotonic clock
    GraphWeights weights;                ///< of the most accurate epoch; empty if there was none
    std::optional<automl::Graph> graph;  ///< of the search; nothing if unreadable
  };

  /// A trial that cannot be trained (impossible graph or hyper-parameters, loss not finite, out of
  /// memory, ended) is an outcome, not an error. Throws Error for what would affect every trial: of
  /// kind usage for a wrong data configuration, of kind environment for missing data.
  [[nodiscard]] Outcome run(const automl::Trial& trial, const Callbacks& callbacks);

  [[nodiscard]] std::int64_t epochs() const noexcept { return epochs_; }  ///< of all trials
  [[nodiscard]] double samples() const noexcept { return samples_; }      ///< trained on, in all

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
