#pragma once

#include <string_view>

namespace assay::serve {

/// The server's log: a line on stderr with the time (UTC) and the level. What comes from a peer is
/// made printable. From any thread.
void log_error(std::string_view text);

}  // namespace assay::serve
