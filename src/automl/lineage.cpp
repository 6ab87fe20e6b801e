#include "automl/lineage.h"

#include <algorithm>

#include "automl/experiment_settings.h"
#include "automl/morphism.h"
#include "automl/trained_graph.h"
#include "automl/worker_protocol.h"
#include "core/error.h"

namespace assay::automl {

std::vector<std::int64_t> lineage_of(const ExperimentRecord& record, std::int64_t trial) {
  std::vector<std::int64_t> line;
  const auto known = static_cast<std::int64_t>(record.trials.size());
  for (std::int64_t id = trial; id >= 0 && id < known;) {
    line.push_back(id);
    const std::int64_t parent = record.trials[static_cast<std::size_t>(id)].parent;
    id = parent < id ? parent : -1;
  }
  std::ranges::reverse(line);
  return line;
}

Graph architecture_of(const ExperimentRecord& record, std::int64_t trial) {
  const std::string where = "the experiment's journal";
  const std::vector<std::int64_t> line = lineage_of(record, trial);
  if (line.empty()) throw Error(ErrorKind::config, "there is no such trial", where);
  Graph graph = settings_from_json(record.settings, where).start_graph(where);
  for (const std::int64_t id : line) {
    const Json& operations = record.trials[static_cast<std::size_t>(id)].operations;
    if (!operations.is_array())
      throw Error(ErrorKind::config, "a trial's operations are not a list", where);
    for (const Json& operation : operations)
      graph = apply(graph, operation_from_json(operation, where));
  }
  const Hyper hyper = hyper_from_json(record.trials[static_cast<std::size_t>(trial)].hyper, where);
  return trained_graph(graph, hyper.kernel_size, hyper.dropout, where);
}

}  // namespace assay::automl
