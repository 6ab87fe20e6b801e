#include "automl/worker_timeline.h"

#include <algorithm>
#include <map>

#include "automl/experiment_events.h"

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
  using journal::Event;
  std::map<int, Line> lines;
  const auto line_of = [&lines](int rank, const std::string& host) -> Line* {
    if (rank < 0) return nullptr;
    Line& line = lines[rank];
    line.out.rank = rank;
    if (!host.empty()) line.out.host = host;
    return &line;
  };
  double now = 0;
  bool over = false;
  for (const Json& event : events) {
    if (!event.is_object()) continue;
    now = std::max(now, journal::read<journal::Stamps>(event).at_s);
    const auto kind = journal::event_of(event);
    over = kind == Event::end || (over && kind != Event::resume);
    if (kind == Event::resume) {
      for (auto& [rank, line] : lines) line.leave(now, TrialStatus::lost);
    } else if (kind == Event::worker) {
      const auto worker = journal::read<journal::Worker>(event);
      const bool joins = worker.what == journal::Worker::Change::joined;
      Line* line = line_of(worker.rank, worker.host);
      if (line == nullptr) continue;
      if (!joins && line->present && !over) line->out.departures.push_back(now);
      line->leave(now, TrialStatus::lost);
      if (!joins) continue;
      line->present = true;
      line->began = false;
      line->free_from = std::max(line->free_from, now);
    } else if (kind == Event::started) {
      const auto started = journal::read<journal::Started>(event);
      if (Line* line = line_of(started.worker, started.host); line != nullptr && line->present)
        line->open.push_back({SpanKind::train, now, now, started.trial});
    } else if (kind == Event::ended) {
      const auto ended = journal::read<journal::Ended>(event);
      Line* line = line_of(ended.worker.value_or(-1), ended.host.value_or(""));
      if (line == nullptr || !line->present) continue;
      const auto found = std::ranges::find(line->open, ended.trial, &WorkerSpan::trial);
      if (found != line->open.end())
        line->close(static_cast<std::size_t>(found - line->open.begin()), now, ended.status);
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
