#include "automl/worker_timeline.h"

#include <algorithm>
#include <map>

#include "core/json_access.h"

namespace assay::automl {

namespace {

using SpanKind = WorkerSpan::Kind;

// One rank while the journal is read.
struct Line {
  WorkerLine out;
  bool present = false;
  bool began = false;              // a trial, since it joined
  double free_from = 0;            // the end of its last span
  std::vector<WorkerSpan> open{};  // handed out, in order

  void fill(SpanKind kind, double until) {
    if (until > free_from) out.spans.push_back({kind, free_from, until});
    free_from = std::max(free_from, until);
  }

  void close(std::size_t at, double now, std::optional<TrialStatus> status) {
    WorkerSpan span = open[at];
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    fill(began ? SpanKind::wait : SpanKind::idle, span.from_s);
    began = true;
    span.kind = status == TrialStatus::lost ? SpanKind::lost : SpanKind::train;
    span.from_s = std::max(span.from_s, free_from);
    span.to_s = std::max(now, span.from_s);
    span.status = status;
    free_from = span.to_s;
    out.spans.push_back(span);
  }

  void leave(double now, std::optional<TrialStatus> status) {
    if (!present) return;
    while (!open.empty()) close(0, now, status);
    fill(SpanKind::idle, now);
    present = false;
  }
};

}  // namespace

double WorkerLine::seconds(WorkerSpan::Kind kind) const noexcept {
  double sum = 0;
  for (const WorkerSpan& span : spans)
    if (span.kind == kind) sum += span.to_s - span.from_s;
  return sum;
}

std::vector<WorkerLine> timeline_of(const std::vector<Json>& events) {
  std::map<int, Line> lines;
  double now = 0;
  bool over = false;
  for (const Json& event : events) {
    if (!event.is_object()) continue;
    now = std::max(now, number_at(event, "at_s", 0));
    const std::string kind = text_at(event, "event");
    over = kind == "end" || (over && kind != "resume");
    if (kind == "resume")
      for (auto& [rank, line] : lines) line.leave(now, TrialStatus::lost);
    if (kind != "worker" && kind != "started" && kind != "ended") continue;
    const int rank = static_cast<int>(integer_at(event, kind == "worker" ? "rank" : "worker", -1));
    if (rank < 0) continue;
    Line& line = lines[rank];
    line.out.rank = rank;
    if (const std::string host = text_at(event, "host"); !host.empty()) line.out.host = host;
    if (kind == "worker") {
      const bool joins = text_at(event, "what") == "joined";
      if (!joins && line.present && !over) line.out.departures.push_back(now);
      line.leave(now, TrialStatus::lost);
      if (!joins) continue;
      line.present = true;
      line.began = false;
      line.free_from = std::max(line.free_from, now);
    } else if (line.present && kind == "started") {
      line.open.push_back({SpanKind::train, now, now, integer_at(event, "trial", -1)});
    } else if (line.present) {
      const std::int64_t trial = integer_at(event, "trial", -1);
      const auto found = std::ranges::find(line.open, trial, &WorkerSpan::trial);
      if (found != line.open.end())
        line.close(static_cast<std::size_t>(found - line.open.begin()), now,
                   parse_enum<TrialStatus>(text_at(event, "status")));
    }
  }
  std::vector<WorkerLine> out;
  for (auto& [rank, line] : lines) {
    line.leave(now, std::nullopt);
    out.push_back(std::move(line.out));
  }
  return out;
}

}  // namespace assay::automl
