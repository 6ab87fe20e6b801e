#pragma once

#include <string>

#include "core/error.h"
#include "core/files.h"
#include "entry/node_request.h"
#include "entry/rank_place.h"

namespace assay::entry {

/// `assay-agent --enter REQUEST`: answers on stdout and handles the request until stdin or the
/// round ends. Returns the exit code.
[[nodiscard]] int run_node_command(const std::string& request);

/// Thrown when something is in the way.
struct Obstructed {
  NodeAnswer answer{};
};

// Handlers for the kinds of requests. Each throws Obstructed before answering, if at all.

/// Connects to a service's socket, starting the service if requested.
[[nodiscard]] UniqueFd connect_to_service(const NodeRequest& request, const RankPlace& place);
/// Answers, then runs the program in the first frame.
int run_program(const NodeRequest& request, const RankPlace& place);
/// Answers with what is there, and takes curves from stdin to where a service looks for them.
int take_curves(const NodeRequest& request);
/// Answers, and speaks SSH.
int serve_ssh(const NodeRequest& request, const RankPlace& place);

/// Writes the answer to stdout.
void answer(const NodeAnswer& words);

}  // namespace assay::entry
