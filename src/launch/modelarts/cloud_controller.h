#pragma once

#include <string>

#include "launch/controller.h"
#include "store/run_dir.h"

namespace assay::launch {

/// Executes the rounds of a run as jobs of ModelArts, one after the other: what Controller does
/// with agents. The run directory, its journal and its results have the same form.
class CloudController {
 public:
  CloudController(store::RunDir run, Observer& observer);

  /// As Controller::execute. What the service refuses is thrown; a job that was created is followed
  /// again by the next call.
  std::string execute();

 private:
  store::RunDir run_;
  Observer& observer_;
};

}  // namespace assay::launch
