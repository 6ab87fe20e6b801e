#pragma once

#include <functional>
#include <string>
#include <vector>

#include "train/loop/settings.h"
#include "workload/workload.h"

namespace assay::train {

/// A model of a kind of task, as a workload.
struct ModelEntry {
  std::string workload;  ///< "resnet50"
  std::string defaults;  ///< YAML mapping that overrides the defaults of the kind's options
};

/// A kind of task: what is learned, from which data, by one of its models.
struct TaskKind {
  std::string name;  ///< "image"
  std::vector<ModelEntry> models;
  /// Reads the kind's own options, and those common settings that not every kind has. Throws Error
  /// of kind config.
  std::function<MakeTask(const std::string& workload, Settings&, workload::Options&)> read;
  bool shares_model = false;  ///< ranks may have parts of the model, see Settings::mesh
  bool fp8 = false;           ///< its models can multiply in fp8
};

/// All kinds. A new one needs a file that declares it, and one word in task_kinds.cpp.
[[nodiscard]] const std::vector<TaskKind>& task_kinds();

/// The settings of one of the kind's workloads; `options` contain its defaults. Throws Error of
/// kind config.
[[nodiscard]] Settings read_settings(const TaskKind& kind, const std::string& workload,
                                     workload::Options& options);

/// All workloads that train a model.
[[nodiscard]] std::vector<workload::Workload> training_workloads();

}  // namespace assay::train
