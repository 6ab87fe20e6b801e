#pragma once

#include <functional>

#include "agent/shared_file.h"

namespace assay::agent {

/// Fetches a file that another agent offers (agent/file_offer.h). Blocks; bounded by the request's
/// limit, and by kPieceLimit for each piece. A piece is written when its hash is right, so what a
/// failed attempt leaves is right, and the next one goes on from there. Calls `progress` with the
/// bytes that are there, about once a second. Does not throw.
[[nodiscard]] FileFetched fetch_file(const FetchFileRequest& request,
                                     const std::function<void(std::uint64_t)>& progress);

inline constexpr Nanoseconds kFetchConnectLimit = std::chrono::seconds(3);
/// Pieces of 1 MiB, say, that come slower than 70 KB/s come better from the controller.
inline constexpr Nanoseconds kPieceLimit = std::chrono::seconds(15);

}  // namespace assay::agent
