#pragma once

#include <asio/posix/stream_descriptor.hpp>
#include <fcntl.h>

#include "core/files.h"

namespace assay::agent {

/// The loop's stream takes over a child's pipe, which no longer blocks.
inline void adopt(asio::posix::stream_descriptor& to, UniqueFd& from) {
  ::fcntl(from.get(), F_SETFL, O_NONBLOCK);
  to.assign(from.release());
}

}  // namespace assay::agent
