#pragma once

#include "core/json.h"
#include "page/markup.h"

namespace assay::report::html {

/// The setup and health of all nodes' devices before the first round and after the last, from
/// system.json (`device_state`, `device_state_after`): one row per device, changes marked. Empty if
/// no node reports them. Everything in the JSON is made safe to show.
[[nodiscard]] page::Html device_states(const Json& system);

/// system.json without the part that device_states() shows.
[[nodiscard]] Json without_device_states(Json system);

}  // namespace assay::report::html
