#pragma once

#include <string>
#include <vector>

#include "core/files.h"
#include "core/time.h"

namespace assay::agent {

// Checks whether nodes reach each other over TCP, as ranks will have to.

/// A socket that accepts connections on every address of this machine while it exists.
struct Listening {
  UniqueFd socket;
  int port = 0;
  std::string problem;  ///< why there is no socket: "Address already in use"
};
/// `port` 0 picks a free one. Does not throw.
[[nodiscard]] Listening listen_on(int port);

struct Peer {
  int node = 0;
  std::string address;  ///< numeric
  int port = 0;

  static void fields(auto& self, auto&& field) {
    field("node", self.node);
    field("address", self.address);
    field("port", self.port);
  }
};

struct Reached {
  int node = 0;
  std::string problem;  ///< "refused", "timed out", the system's message; empty: connected

  static void fields(auto& self, auto&& field) {
    field("node", self.node);
    field("problem", self.problem);
  }
};

/// Connects to all peers at once and closes the connections again, within `limit`. Blocks. Results
/// are in the order of `peers`.
[[nodiscard]] std::vector<Reached> connect_to(const std::vector<Peer>& peers, Nanoseconds limit);

/// A connection, or the reason why there is none, as in Reached.
struct Connection {
  UniqueFd socket;
  std::string problem;
};
/// `address` is numeric. Blocks for at most `limit`.
[[nodiscard]] Connection connect_one(const std::string& address, int port, Nanoseconds limit);

}  // namespace assay::agent
