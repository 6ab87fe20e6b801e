#include "telemetry/source_kind.h"

#include <algorithm>

namespace assay::telemetry {

namespace {

bool numbered(std::string_view name, std::string_view prefix) noexcept {
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return false;
  name.remove_prefix(prefix.size());
  return std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

SourceKind source_kind(std::string_view source) noexcept {
  if (source == "node") return SourceKind::node;
  if (source == "job") return SourceKind::job;
  if (source == "ipmi") return SourceKind::whole_node;
  if (numbered(source, "cpu")) return SourceKind::core;
  if (numbered(source, "rapl")) return SourceKind::package;
  if (numbered(source, "dev")) return SourceKind::device;
  return SourceKind::other;
}

bool adds_up(std::string_view source, bool whole_node_known) noexcept {
  const SourceKind kind = source_kind(source);
  if (whole_node_known) return kind == SourceKind::whole_node;
  return kind == SourceKind::package || kind == SourceKind::device;
}

}  // namespace assay::telemetry
