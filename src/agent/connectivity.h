#pragma once

#include <string>
#include <vector>

#include "core/files.h"
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

/// Connects to all peers at once and closes again; takes at most `limit`. Blocks. In the order of
/// `peers`.
[[nodiscard]] std::vector<Reached> connect_to(const std::vector<Peer>& peers, Nanoseconds limit);

/// One connection, or why there is none, as in Reached.
struct Connection {
  UniqueFd socket;
  std::string problem;
};
/// `address` is numeric. Blocks for `limit` at most.
[[nodiscard]] Connection connect_one(const std::string& address, int port, Nanoseconds limit);

}  // namespace assay::agent
