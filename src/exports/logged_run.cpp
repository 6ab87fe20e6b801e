#include "exports/logged_run.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "core/error.h"
#include "core/sha256.h"
#include "perflog/parser.h"

namespace assay::exports {

namespace {

constexpr std::size_t kPiece = 256U << 10;

// Where the log continues after a part that was dropped; nothing at its end.
std::optional<std::uint64_t> behind_gap(const live::GrowingLog& log, std::uint64_t offset) {
  for (std::size_t i = 0; i < log.parts(); ++i)
    if (const auto part = log.part(i); part.gone && offset >= part.begin && offset < part.end)
      return part.end;
  return std::nullopt;
}

}  // namespace

RunFiles::RunFiles(const std::filesystem::path& run) : watch_(run) {
  (void)watch_.look();
  if (watch_.rounds().empty())
    throw Error(ErrorKind::usage, "the folder holds no run that has begun", run.string(),
                "give a folder such as results/latest");
  if (ranks().empty() && watch_.telemetry().empty())
    throw Error(ErrorKind::usage, "the run has no rank's log and no telemetry", run.string());
}

std::vector<live::LogFile> RunFiles::ranks() const {
  std::vector<live::LogFile> out;
  std::ranges::copy_if(watch_.logs(), std::back_inserter(out),
                       [](const live::LogFile& log) { return log.rank >= 0; });
  std::ranges::stable_sort(
      out, {}, [](const live::LogFile& log) { return std::tuple(log.round_index, log.rank); });
  return out;
}

std::string round_id(const std::string& run_id, const std::string& case_name, int round) {
  return sha256(fmt::format("{}\n{}\n{}", run_id, case_name, round));
}

std::string curve_of_rank(int rank, live::MetricName name, live::Scope scope, int item) {
  const std::string tag = live::curve_tag_of(scope, item, name);
  return rank == 0 ? tag : fmt::format("rank{}/{}", rank, tag);
}

void read_rank_log(const live::LogFile& file, double clock_offset, const OnEvent& on_event) {
  std::optional<double> wall_of_mono;
  perflog::Parser parser([&](const perflog::Event& event) {
    if (event.time_ms == perflog::Event::kMissing) return;
    double t = static_cast<double>(event.time_ms) / 1e3;
    if (event.mono_us != perflog::Event::kMissing) {
      const double mono = static_cast<double>(event.mono_us) / 1e6;
      if (!wall_of_mono) wall_of_mono = t - mono;
      t = *wall_of_mono + mono;
    }
    on_event(event, t - clock_offset);
  });
  live::GrowingLog log(file.file);
  if (!log.look()) return;
  std::string buffer;
  for (std::uint64_t offset = 0; offset < log.size();) {
    buffer.resize(std::min<std::uint64_t>(kPiece, log.size() - offset));
    buffer.resize(log.read(offset, buffer));
    if (!buffer.empty()) {
      parser.feed(buffer);
      offset += buffer.size();
    } else if (const auto next = behind_gap(log, offset)) {
      parser.cut();
      offset = *next;
    } else {
      break;
    }
  }
  parser.finish();
}

}  // namespace assay::exports
