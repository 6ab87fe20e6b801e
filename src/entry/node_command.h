#pragma once

#include <string>

#include "core/error.h"
#include "core/files.h"
#include "entry/node_request.h"
#include "entry/rank_place.h"

namespace assay::entry {

/// `assay-agent --enter REQUEST`: answers on stdout, and does what is wanted until stdin ends or
/// the round does. Gives the exit code.
[[nodiscard]] int run_node_command(const std::string& request);

/// Something is in the way.
struct Obstructed {
  NodeAnswer answer{};
};

// The kinds of what is wanted. Each throws Obstructed before it has answered.

/// A service's socket, started where it is wanted.
[[nodiscard]] UniqueFd connect_to_service(const NodeRequest& request, const RankPlace& place);
/// Answers, and runs the program of the first frame.
int run_program(const NodeRequest& request, const RankPlace& place);
/// Answers with what is there, and takes curves from stdin to where a service looks for them.
int take_curves(const NodeRequest& request);
/// Answers, and speaks SSH.
int serve_ssh(const NodeRequest& request, const RankPlace& place);

/// Writes the answer to stdout.
void answer(const NodeAnswer& words);

}  // namespace assay::entry
