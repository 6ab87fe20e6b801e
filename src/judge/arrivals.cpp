#include "judge/arrivals.h"

#include <algorithm>

#include "core/json.h"
#include "core/json_access.h"
#include "core/parse_number.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"

namespace assay::judge {

namespace {

// The time of a link that is not about the log, read without parsing the link.
std::optional<std::int64_t> begins_at(std::string_view link) {
  constexpr std::string_view kStart = "{\"mono_ns\":";
  if (!link.starts_with(kStart)) return std::nullopt;
  link.remove_prefix(kStart.size());
  return parse_number<std::int64_t>(link.substr(0, link.find(',')));
}

}  // namespace

const Arrivals::Seen* Arrivals::line(std::uint64_t line) const noexcept {
  const auto at = std::ranges::lower_bound(seen_, line, {}, &Seen::lines);
  return at == seen_.end() ? nullptr : &*at;
}

Arrivals read_arrivals(const std::filesystem::path& node_dir, const std::string& name) {
  std::vector<Arrivals::Seen> seen;
  std::optional<std::int64_t> before;  // of the previous link
  const std::string text = read_regular_file_or_empty(node_dir / layout::kEvidence);
  for (const std::string_view line : split(text, '\n')) {
    if (line.find(name) == std::string_view::npos) {
      if (const auto at = begins_at(line)) before = at;
      continue;
    }
    const Json link = parse_json_or_null(line);
    const auto mono = integer_at(link, "mono_ns");
    const auto wall = integer_at(link, "wall_ns");
    if (!mono || !wall) continue;
    for (const Json& file : list_at(link, "files")) {
      const auto lines = integer_at(file, "lines");
      if (text_at(file, "name") != name || !lines || *lines < 0) continue;
      const auto count = static_cast<std::uint64_t>(*lines);
      if (seen.empty() || count > seen.back().lines)
        seen.push_back({{*mono, *wall}, count, before});
    }
    before = mono;
  }
  return Arrivals(std::move(seen));
}

}  // namespace assay::judge
