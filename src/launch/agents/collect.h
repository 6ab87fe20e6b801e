#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>

#include "core/json.h"
#include "launch/agents/launcher.h"
#include "transfer/stream.h"

namespace assay::launch {

/// What one node's agent wrote in a round, and where it belongs.
struct NodeFolder {
  int node = 0;
  int part = 1;  ///< as NodePlace::part
  std::string host;
  agent::Hello hello;
  std::filesystem::path remote;
  std::filesystem::path local;
  std::uint64_t most = 0;  ///< bytes of what is no evidence that are fetched
  int tries = 3;           ///< how often it is attempted
};

struct Collected {
  int node = 0;
  int part = 1;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::string problem;           ///< empty: everything is here, and checked
  bool unwritten = false;        ///< the problem is this machine's: it could not be written
  transfer::LeftOut left_out{};  ///< what did not fit into NodeFolder::most, and stays on its node
};

/// Fetches all folders at once. A broken connection is taken up again where it stopped, as
/// often as the folder allows; what could not be fetched stays on its node, with a `problem`.
/// Never throws for a node's sake. `done` is called for every folder that is here completely, with
/// nothing left out: nothing on the node needs it any more.
[[nodiscard]] asio::awaitable<std::vector<Collected>> collect(
    const Launcher& launcher, std::vector<NodeFolder> folders,
    std::function<void(const NodeFolder&)> done);

}  // namespace assay::launch
