#pragma once

#include <functional>

#include "agent/shared_file.h"

namespace assay::agent {

/// Fetches a file that another agent offers (agent/file_offer.h). Blocks; bounded by the request's
/// limit, and by kPieceLimit for each piece. A piece is written only once its hash is right, so a
/// failed attempt leaves only correct data, from which the next one resumes. Calls `progress` about
/// once a second with the number of bytes present. Does not throw.
[[nodiscard]] FileFetched fetch_file(const FetchFileRequest& request,
                                     const std::function<void(std::uint64_t)>& progress);

inline constexpr Nanoseconds kFetchConnectLimit = std::chrono::seconds(3);
/// A 1 MiB piece that comes slower than 70 KB/s, for example, is better sent by the controller.
inline constexpr Nanoseconds kPieceLimit = std::chrono::seconds(15);

}  // namespace assay::agent
