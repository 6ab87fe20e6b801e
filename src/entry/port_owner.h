#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "entry/rank_place.h"

namespace assay::entry {

/// The inodes of the sockets that listen on `port` of a loopback address or of every address, in a
/// table of /proc/net (`tcp` or `tcp6`). Pure.
[[nodiscard]] std::set<std::uint64_t> listening_inodes(std::string_view table, int port);

/// Whether everything that listens on this port of the loopback address belongs to the round: to a
/// process that it started, or that somebody started beside it, however it has detached itself.
/// A process that cannot be examined does not belong to it. Other jobs share the node's network,
/// so a number alone does not say whose program answers.
[[nodiscard]] bool port_belongs_to(const std::string& round, const RankPlace& place, int port);

}  // namespace assay::entry
