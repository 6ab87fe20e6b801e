#pragma once

#include "core/json.h"
#include "page/markup.h"

namespace assay::report::html {

/// How the devices of all nodes were set up and how well they were, before the first round and
/// after the last, as system.json has it (`device_state`, `device_state_after`): a row a device,
/// what changed marked. Empty where no node tells. Whatever the JSON holds is made safe to show.
[[nodiscard]] page::Html device_states(const Json& system);

/// system.json without what device_states() shows.
[[nodiscard]] Json without_device_states(Json system);

}  // namespace assay::report::html
