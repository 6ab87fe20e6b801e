#pragma once

#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "core/time.h"

namespace assay::agent {

// Whether nodes reach each other over TCP, which is what ranks will do.

/// A socket that takes connections on every address of this machine, as long as it exists.
struct Listening {
  UniqueFd socket;
  int port = 0;
  std::string problem;  ///< why there is none: "Address already in use"
};
/// `port` 0: one that is free. Does not throw.
[[nodiscard]] Listening listen_on(int port);

struct Peer {
  int node = 0;
  std::string address;  ///< numeric
  int port = 0;
};

struct Reached {
  int node = 0;
  std::string problem;  ///< "refused", "timed out", the system's words; empty: connected
};

/// Connects to all peers at once and closes again; takes at most `limit`. Blocks. In the order of
/// `peers`.
[[nodiscard]] std::vector<Reached> connect_to(const std::vector<Peer>& peers, Nanoseconds limit);

[[nodiscard]] Json to_json(const std::vector<Peer>& peers);
/// Tolerant: what is not a peer is left out.
[[nodiscard]] std::vector<Peer> peers_from_json(const Json& json);
[[nodiscard]] Json to_json(const std::vector<Reached>& results);
[[nodiscard]] std::vector<Reached> reached_from_json(const Json& json);

}  // namespace assay::agent
