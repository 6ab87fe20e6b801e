#pragma once

#include <string>

#include "serve/http_server.h"

namespace assay::door {

/// The path at which Jupyter finds what a request of its pages means. `/api/contents/…/checkpoints`
/// is its question for the checkpoints of a notebook, so that a folder of that name looks empty; a
/// question for a folder or file says so in its query, and then the name is written in another way.
[[nodiscard]] std::string jupyter_path(const serve::HttpRequest& request);

}  // namespace assay::door
