#include "live/latest_readings.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <sys/stat.h>

#include "core/error.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "live/growing_log.h"
#include "store/journal.h"
#include "store/open_rounds.h"
#include "telemetry/table_reader.h"

namespace assay::live {

namespace {

namespace fs = std::filesystem;

// Several samples of a node with hundreds of cores.
constexpr std::uint64_t kTail = 128U << 10;
constexpr std::size_t kMaxHeader = 4U << 10;

std::string read_part(const GrowingLog& log, std::uint64_t from, std::size_t most) {
  std::string out(most, '\0');
  std::size_t have = 0;
  while (have < most) {
    const std::size_t n = log.read(from + have, std::span(out).subspan(have));
    if (n == 0) break;
    have += n;
  }
  out.resize(have);
  return out;
}

// The last row of each source among the whole lines of a text.
std::map<std::string, telemetry::Values> last_rows(std::string_view header, std::string_view text) {
  telemetry::TableReader reader;
  telemetry::Row row;
  std::map<std::string, telemetry::Values> out;
  if (header.empty() || reader.read(header, row) != telemetry::TableReader::Line::header)
    return out;
  // What is behind the last end of a line is still being written.
  text = text.substr(0, text.rfind('\n') + 1);
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty() && reader.read(line, row) == telemetry::TableReader::Line::row)
      out[reader.sources()[row.source]] = row.values;
  return out;
}

NodeReadings read_node(const fs::path& file, const std::string& host) {
  NodeReadings out{.host = host};
  struct ::stat status {};
  if (::stat(file.c_str(), &status) != 0) return out;
  const std::int64_t written_ns =
      std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  out.age = Nanoseconds(std::max<std::int64_t>(0, wall_now_ns() - written_ns));
  GrowingLog log(file);
  (void)log.look();
  const std::string head = read_part(log, 0, kMaxHeader);
  const std::uint64_t from = log.size() > kTail ? log.size() - kTail : 0;
  std::string tail = read_part(log, from, kTail);
  if (from > 0) tail.erase(0, tail.find('\n') + 1);
  out.sources = last_rows(std::string_view(head).substr(0, head.find('\n')), tail);
  return out;
}

// A journal that lies names no place outside of the run.
bool is_name(const std::string& text) {
  return !text.empty() && text.front() != '.' && text.find('/') == std::string::npos;
}

}  // namespace

std::vector<NodeReadings> latest_readings(const fs::path& run) {
  std::vector<NodeReadings> out;
  try {
    const auto round = store::running_round(store::Journal::read(run / layout::kJournal));
    if (!round || !is_name(round->name.case_name)) return out;
    const fs::path place =
        fs::path(round->name.case_name) / layout::round_folder(round->name.round);
    for (std::size_t node = 0; node < round->hosts.size(); ++node) {
      if (!is_name(round->hosts[node])) continue;
      const fs::path folder =
          place / layout::node_folder(round->hosts[node], static_cast<int>(node));
      // Where the node does not write to this folder itself, what its agent has sent.
      for (const fs::path& of : {run / folder, run / layout::kLiveLogs / folder}) {
        NodeReadings read = read_node(of / layout::kTelemetry, round->hosts[node]);
        if (read.sources.empty()) continue;
        out.push_back(std::move(read));
        break;
      }
    }
  } catch (const Error&) {
    return out;
  }
  return out;
}

}  // namespace assay::live
