#include "unit/judge/build_evidence.h"

#include <algorithm>
#include <cmath>

namespace assay::judge::testing {

Instant moment(double t_s) {
  const auto ns = static_cast<std::int64_t>(std::llround(t_s * 1e9));
  return {kMono0_ns + ns, kWall0_ns + ns};
}

Stamp stamp(double t_s) {
  const Instant at = moment(t_s);
  return {at.mono_ns / 1'000, at.wall_ns / 1'000'000};
}

Stamp wall_stamp(double t_s) {
  return {kNoTime, stamp(t_s).wall_ms};
}

RankEvidence constant_rank(int rank, const ConstantRate& how) {
  const auto at = [&](double t) { return how.monotonic ? stamp(t) : wall_stamp(t); };
  const double end = how.train_start + how.steps * how.step_s;
  RankEvidence out;
  out.rank = rank;
  out.local_rank = rank;
  out.host = "node0";
  out.start = moment(0);
  out.end = moment(how.exit_s.value_or(end + 1));
  out.exit = ExitStatus{0, std::nullopt};
  out.ended_by = EndedBy::itself;
  out.log_path = "case/round1/node0_noderank0/rank" + std::to_string(rank) + ".out.log";
  RankLog& log = out.log;
  log.found = true;
  log.events = static_cast<std::uint64_t>(how.steps) + 2;
  log.has_mono = how.monotonic;
  log.first_event = log.train_start = at(how.train_start);
  log.last_event = log.train_end = at(end);
  StepTrack track;
  for (int i = 1; i <= how.steps; ++i) {
    Step step;
    step.at = at(how.train_start + i * how.step_s);
    step.samples = how.samples;
    step.number = i;
    step.loss = static_cast<float>(2.0 / i);
    track.steps.push_back(step);
    log.samples.add(how.samples);
    if (how.data_s) log.data_s.add(*how.data_s);
    if (how.flops) log.flops.add(*how.flops);
    track.steps.back().flops = static_cast<float>(how.flops.value_or(0));
  }
  track.first_number = 1;
  track.last_number = how.steps;
  track.stride = 1;
  track.logged = static_cast<std::uint64_t>(how.steps);
  log.tracks.push_back(std::move(track));
  audit(log);
  return out;
}

void audit(RankLog& log) {
  LogAudit& out = log.audit;
  out = {};
  if (!log.tracks.empty()) out.step_ends = log.tracks[0].logged;
  std::uint64_t line = 0;
  const auto see = [&](const Stamp& at, const char* name) {
    if (!at.known()) return;
    const LoggedEvent event{at, ++line, name};
    if (at.mono_us != kNoTime) {
      if (out.mono_first.line == 0 || at.mono_us < out.mono_first.at.mono_us)
        out.mono_first = event;
      if (out.mono_last.line == 0 || at.mono_us > out.mono_last.at.mono_us) out.mono_last = event;
    }
    if (out.wall_first.line == 0 || at.wall_ms < out.wall_first.at.wall_ms) out.wall_first = event;
    if (out.wall_last.line == 0 || at.wall_ms > out.wall_last.at.wall_ms) out.wall_last = event;
  };
  see(log.train_start, "TRAIN_START");
  for (const Step& step : log.tracks.at(0).steps) see(step.at, "STEP_END");
  see(log.train_end, "TRAIN_END");
  out.train_starts = log.train_start.known() ? 1 : 0;
  out.train_ends = log.train_end.known() ? 1 : 0;
  out.training_open = out.train_starts > out.train_ends;
}

void move_times(RankLog& log, double from_s, double by_s) {
  const auto move = [&](Stamp& at) {
    if (at.wall_ms < stamp(from_s).wall_ms) return;
    if (at.mono_us != kNoTime) at.mono_us += std::llround(by_s * 1e6);
    at.wall_ms += std::llround(by_s * 1e3);
  };
  for (Stamp* at : {&log.train_start, &log.train_end, &log.first_event, &log.last_event}) move(*at);
  for (Step& step : log.tracks.at(0).steps) move(step.at);
  audit(log);
}

plan::CasePlan case_plan(int nodes, int procs, int repeats) {
  plan::CasePlan plan;
  plan.name = "case";
  plan.nodes = nodes;
  plan.procs = procs;
  plan.repeats = repeats;
  return plan;
}

RoundEvidence round_of(std::vector<RankEvidence> ranks) {
  RoundEvidence round;
  round.status = RoundStatus::completed;
  round.start = moment(-0.25);
  round.end = moment(100);
  round.telemetry_enabled = false;
  round.nodes.push_back({0, "node0", {}, std::nullopt, 0});
  round.ranks = std::move(ranks);
  round.integrity.recorded.listed = true;
  round.integrity.files = round.ranks.size();
  return round;
}

void add_row(NodeEvidence& node, double t_s, const std::string& source,
             std::vector<std::pair<telemetry::Column, double>> values) {
  auto& sources = node.telemetry.sources;
  auto at = std::ranges::find(sources, source);
  if (at == sources.end()) at = sources.insert(sources.end(), source);
  telemetry::Row row;
  row.mono_ns = moment(t_s).mono_ns;
  row.wall_ns = moment(t_s).wall_ns;
  row.source = static_cast<std::uint32_t>(at - sources.begin());
  for (const auto& [column, value] : values) row.values[column] = value;
  node.telemetry.rows.push_back(row);
}

std::optional<double> metric(const RoundResult& round, const std::string& name) {
  for (const Metric& m : round.metrics)
    if (m.info.name == name) return m.value;
  return std::nullopt;
}

std::string origin(const RoundResult& round, const std::string& name) {
  for (const Metric& m : round.metrics)
    if (m.info.name == name) return std::string(to_text(m.origin));
  return "absent";
}

const Finding* finding(const std::vector<Finding>& findings, const std::string& rule) {
  for (const Finding& f : findings)
    if (f.rule == rule) return &f;
  return nullptr;
}

catalog::Rule rule(const std::string& id, const std::string& fact, std::optional<double> min,
                   std::optional<double> max) {
  catalog::Rule out;
  out.id = id;
  out.fact = fact;
  out.min = min;
  out.max = max;
  out.reason = fact + " {value} ({detail})";
  out.advice = "advice";
  out.origin = "rules.yaml:1";
  return out;
}

}  // namespace assay::judge::testing
