#pragma once

// Internal to Relays.

#include "door/relay_line.h"

namespace assay::door {

/// Relays one request from a browser to an application, and its answer; then cuts the line, unless
/// it has become a WebSocket.
Task<> serve_request(asio::io_context& loop, Held line, Relays::Request request);

}  // namespace assay::door
