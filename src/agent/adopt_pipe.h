#pragma once

#include <asio/posix/stream_descriptor.hpp>
#include <fcntl.h>

#include "core/files.h"

namespace assay::agent {

/// Hands a child's pipe to a stream of the loop and makes it non-blocking.
inline void adopt(asio::posix::stream_descriptor& to, UniqueFd& from) {
  ::fcntl(from.get(), F_SETFL, O_NONBLOCK);
  to.assign(from.release());
}

}  // namespace assay::agent
