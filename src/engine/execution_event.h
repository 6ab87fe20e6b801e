#pragma once

#include <string>
#include <utility>

#include "engine/engine.h"

namespace assay::engine {

[[nodiscard]] inline jobs::Event event_of(const Execution& execution, jobs::EventKind kind,
                                          std::string detail = {}) {
  jobs::Event event;
  event.kind = kind;
  event.attempt = execution.attempt;
  event.detail = std::move(detail);
  return event;
}

/// The end of an execution that was stopped and has no result of its own.
[[nodiscard]] inline jobs::Event interrupted(const Execution& execution) {
  jobs::Event event = event_of(execution, jobs::EventKind::exited);
  event.exit.ending = jobs::Ending::interrupted;
  return event;
}

}  // namespace assay::engine
