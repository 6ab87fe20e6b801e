#include "store/journal_records.h"

namespace assay::store {

namespace {

struct Stamps {
  std::int64_t mono_ns = -1;
  std::int64_t wall_ns = -1;

  static void fields(auto& self, auto&& field) {
    field("mono_ns", self.mono_ns);
    field("wall_ns", self.wall_ns);
  }
};

}  // namespace

RoundName round_of(const Json& line) {
  return fields_from_any<RoundName>(line);
}

NodeName node_of(const Json& line) {
  return fields_from_any<NodeName>(line);
}

std::optional<Instant> instant_of(const Json& line) {
  // Exceeds any real clock; the difference of two such times fits into 64 bits.
  constexpr std::int64_t kMaxTime = std::int64_t{1} << 62;
  const auto [mono, wall] = fields_from_any<Stamps>(line);
  if (mono < 0 || wall < 0 || mono > kMaxTime || wall > kMaxTime) return std::nullopt;
  return Instant{mono, wall};
}

}  // namespace assay::store
