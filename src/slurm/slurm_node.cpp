#include "slurm/slurm_node.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/parse_number.h"
#include "core/text.h"
#include "slurm/fields.h"

namespace assay::slurm {

namespace {

constexpr auto kNodeFields =
    std::to_array<std::string_view>({"%N", "%T", "%c", "%G", "%u", "%R", "%E"});

// States in which no job begins until an administrator intervenes.
constexpr auto kUnusable = std::to_array<std::string_view>(
    {"down", "drain", "fail", "error", "unknown", "maint", "inval", "blocked"});

/// Reads the first resource of "gpu:h200:8(S:0-1),shard:4".
void read_devices(std::string_view resources, Node& node) {
  const std::string_view first = resources.substr(0, resources.find_first_of("(,"));
  const auto parts = split(first, ':');
  if (parts.size() < 2) return;
  const auto count = parse_number<int>(parts.back());
  if (!count || *count <= 0) return;
  node.device_kind = parts.front();
  node.devices = *count;
  if (parts.size() > 2) node.device_type = parts[1];
}

}  // namespace

bool Node::usable() const noexcept {
  return answers && std::ranges::none_of(kUnusable, [&](std::string_view unusable) {
           return state.starts_with(unusable);
         });
}

std::string node_format() {
  return format_of(kNodeFields);
}

std::vector<Node> parse_nodes(std::string_view output) {
  std::vector<Node> nodes;
  for (const std::string_view line : split(output, '\n')) {
    const auto fields = split(line, kFieldSeparator);
    if (fields.size() != kNodeFields.size() || fields[0].empty()) continue;
    const auto known = std::ranges::find(nodes, fields[0], &Node::name);
    if (known != nodes.end()) {
      known->partitions.emplace_back(fields[5]);
      continue;
    }
    Node node;
    node.name = fields[0];
    // A mark may follow: "idle*" does not answer, "idle~" is switched off to save power.
    std::string_view state = fields[1];
    while (!state.empty() && std::isalpha(static_cast<unsigned char>(state.back())) == 0) {
      if (state.back() == '*') node.answers = false;
      state.remove_suffix(1);
    }
    node.state = state;
    node.processors = parse_number<int>(fields[2]).value_or(0);
    read_devices(fields[3], node);
    node.partitions.emplace_back(fields[5]);
    if (fields[6] != "none") {
      node.reason = fields[6];
      node.reason_by = fields[4];
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace assay::slurm
