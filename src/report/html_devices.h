#pragma once

#include "core/json.h"
#include "page/markup.h"

namespace assay::report::html {

/// The settings and the health of the devices of all nodes, before the first round and after the
/// last, from system.json (`device_state`, `device_state_after`): a row for each device, with
/// changes marked. Empty if no node reports them. All contents of the JSON are made safe to show.
[[nodiscard]] page::Html device_states(const Json& system);

/// system.json without the parts that device_states() shows.
[[nodiscard]] Json without_device_states(Json system);

}  // namespace assay::report::html
