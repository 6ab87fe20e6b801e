#pragma once

#include <asio.hpp>

#include "emulator/streaming_server.h"

namespace assay::emulator {

/// Serves a connection until either side closes it. The socket's executor must be a strand.
[[nodiscard]] asio::awaitable<void> serve_connection(asio::ip::tcp::socket socket,
                                                     Handler& handler);

}  // namespace assay::emulator
