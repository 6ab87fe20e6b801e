#include "slurm/allocation.h"

#include "core/parse_number.h"
#include "core/text.h"

namespace assay::slurm {

namespace {

constexpr int kMaxIndex = 4096;

/// The value of "key=value" in a line of words; empty if it is missing.
std::string_view value_of(std::string_view line, std::string_view key) {
  for (const std::string_view word : split(line, ' '))
    if (word.starts_with(key) && word.size() > key.size() && word[key.size()] == '=')
      return word.substr(key.size() + 1);
  return {};
}

/// The indices in "gpu:h200:2(IDX:0-1)".
std::string_view indices_of(std::string_view resources) {
  constexpr std::string_view kMark = "(IDX:";
  const std::size_t at = resources.find(kMark);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = resources.substr(at + kMark.size());
  return rest.substr(0, rest.find(')'));
}

}  // namespace

std::vector<int> parse_indices(std::string_view text) {
  std::vector<int> out;
  if (text.empty()) return out;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_number<int>(part.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : parse_number<int>(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last > kMaxIndex) return {};
    for (int index = *first; index <= *last; ++index) out.push_back(index);
  }
  return out;
}

std::vector<NodeAllocation> parse_allocation(
    std::string_view details,
    const std::function<std::vector<std::string>(const std::string&)>& expand) {
  std::vector<NodeAllocation> out;
  for (const std::string_view line : split(details, '\n')) {
    // Nodes with equal shares have one line: "Nodes=n[1-2] CPU_IDs=0-1 Mem=0 GRES=".
    const std::string_view nodes = value_of(line, "Nodes");
    if (nodes.empty() || value_of(line, "CPU_IDs").empty()) continue;
    std::vector<int> devices = parse_indices(indices_of(value_of(line, "GRES")));
    if (devices.empty()) devices = parse_indices(value_of(line, "CPU_IDs"));
    for (std::string& name : expand(std::string(nodes))) out.push_back({std::move(name), devices});
  }
  return out;
}

}  // namespace assay::slurm
