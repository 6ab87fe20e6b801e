#pragma once

#include <string>

#include "serve/http_server.h"

namespace assay::door {

/// The path under which Jupyter finds what its pages' requests mean. To it,
/// `/api/contents/…/checkpoints` asks for a notebook's checkpoints, so that a folder of that name
/// looks empty; a request for a folder or file says so in its query, and the name is then spelled
/// differently.
[[nodiscard]] std::string jupyter_path(const serve::HttpRequest& request);

}  // namespace assay::door
