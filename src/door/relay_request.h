#pragma once

// For the files of Relays.

#include "door/relay_line.h"

namespace assay::door {

/// One request of a browser to an application, and its answer; then the line is cut, unless it has
/// become a WebSocket.
Task<> serve_request(asio::io_context& loop, Held line, Relays::Request request);

}  // namespace assay::door
