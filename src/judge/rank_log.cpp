#include "judge/rank_log.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "core/text.h"
#include "judge/log_audit.h"
#include "judge/output_reader.h"
#include "judge/timeline.h"

namespace assay::judge {

namespace {

using perflog::Event;
using perflog::EventKind;
using perflog::Field;

constexpr std::size_t kMaxEvaluations = 1 << 16;
constexpr std::size_t kMaxTracks = 1024;
constexpr std::size_t kMaxPhasesOfLog = 1 << 16;

/// The part of a round's time for a name in PHASE.
std::optional<TimePart> logged_part(std::string_view name) {
  using enum TimePart;
  const auto part = parse_enum<TimePart>(name);
  const auto logged = {device, join, data, model, checkpoint};
  if (!part || std::ranges::find(logged, *part) == logged.end()) return std::nullopt;
  return part;
}

// Ignores times that would not fit into 64 bits of nanoseconds.
constexpr std::int64_t kMaxMono_us = std::int64_t{1} << 52;
constexpr std::int64_t kMaxWall_ms = std::int64_t{1} << 42;
std::int64_t sane(std::int64_t value, std::int64_t limit) {
  return value >= 0 && value < limit ? value : kNoTime;
}

bool is_counter(std::string_view key) {
  static constexpr std::string_view kNames[] = {
      "time",        "step",  "steps", "global_steps",
      "global_step", "epoch", "rank",  "num_trained_samples"};
  return std::ranges::find(kNames, key) != std::end(kNames);
}

std::vector<std::pair<std::string, double>> scalars(const Event& event, bool keep_counters) {
  std::vector<std::pair<std::string, double>> out;
  for (const Field& field : event.fields) {
    const bool scalar = field.type == Field::Type::number || field.type == Field::Type::boolean;
    if (!scalar || !std::isfinite(field.number)) continue;
    if (!keep_counters && is_counter(field.key)) continue;
    out.emplace_back(field.key, field.number);
  }
  return out;
}

// Whether a loss is not a finite number: NaN, infinity, null, or one of these as text.
bool nonfinite_loss(const Field& field) {
  switch (field.type) {
    case Field::Type::number:
      return !std::isfinite(field.number);
    case Field::Type::null:
      return true;
    case Field::Type::text: {
      const std::string text = to_lower(field.text);
      return text == "nan" || text == "-nan" || text.ends_with("inf") || text.ends_with("infinity");
    }
    case Field::Type::boolean:
      break;
  }
  return false;
}

}  // namespace

struct RankLogReader::Impl {
  // Adds steps to a track and merges neighbors once it is full.
  struct Writer {
    Step pending;
    std::uint32_t held = 0;
  };

  const plan::CasePlan& plan;
  RankLog& log;
  std::size_t step_limit;
  OutputReader outputs;
  std::vector<Writer> writers;
  int train_starts = 0;
  int train_ends = 0;
  bool steps_since_start = false;
  bool break_next = false;
  Stamp previous;
  bool any_stamp = false;
  ClockWatch clocks;
  LogAuditor auditor;
  bool foreign_clocks;  // the log may contain other machines' events

  Impl(const plan::CasePlan& p, RankLog& l, std::size_t limit)
      : plan(p),
        log(l),
        step_limit(std::max<std::size_t>(limit, 16)),
        outputs(p.metrics, l.outputs),
        auditor(l, p),
        foreign_clocks(p.launch == plan::LaunchMode::head && p.nodes > 1) {}

  void stamp(const Stamp& at) {
    if (!at.known()) return;
    if (!any_stamp) log.first_event = at;
    log.last_event = at;
    log.has_mono = (any_stamp ? log.has_mono : true) && at.mono_us != kNoTime;
    watch_clock(at);
    any_stamp = true;
    previous = at;
    outputs.passed(at);
  }

  void watch_clock(const Stamp& at) {
    if (at.wall_ms == kNoTime) return;
    if (at.mono_us != kNoTime) {
      clocks.see(static_cast<double>(at.mono_us) / 1e6, static_cast<double>(at.wall_ms) / 1e3);
      log.clock_jump_s = std::max(log.clock_jump_s, clocks.largest_jump());
    } else if (previous.wall_ms != kNoTime) {
      // Without a second clock, only a backward step differs from the passage of time.
      const double back = static_cast<double>(previous.wall_ms - at.wall_ms) / 1e3;
      log.clock_jump_s = std::max(log.clock_jump_s, back);
    }
  }

  // Assigns the k-th process that logs a step number to the k-th track: events do not reliably tell
  // their rank, and a per-node command writes those of all its ranks.
  std::size_t track_for(std::int64_t number) {
    if (plan.launch != plan::LaunchMode::per_rank && number != kNoTime) {
      for (std::size_t i = 0; i < log.tracks.size(); ++i)
        if (log.tracks[i].last_number == kNoTime || log.tracks[i].last_number < number) return i;
      if (log.tracks.size() < kMaxTracks) {
        log.tracks.emplace_back();
        writers.emplace_back();
      }
      return log.tracks.size() - 1;
    }
    if (log.tracks.empty()) {
      log.tracks.emplace_back();
      writers.emplace_back();
    }
    return 0;
  }

  static Step joined(const Step& earlier, const Step& later) {
    Step both = later;
    both.samples += earlier.samples;
    both.tokens += earlier.tokens;
    both.flops += earlier.flops;
    both.comm_s += earlier.comm_s;
    both.bubble_s += earlier.bubble_s;
    both.count += earlier.count;
    both.after_break = earlier.after_break || later.after_break;
    return both;
  }

  void push(std::size_t index, const Step& step) {
    StepTrack& track = log.tracks[index];
    Writer& writer = writers[index];
    if (track.merged == 1) {
      track.steps.push_back(step);
    } else {
      writer.pending = writer.held == 0 ? step : joined(writer.pending, step);
      if (++writer.held < track.merged) return;
      writer.pending.count = track.merged;
      track.steps.push_back(writer.pending);
      writer.held = 0;
    }
    if (track.steps.size() < step_limit) return;
    // The first step stays unmerged, as the anchor of the first interval.
    std::vector<Step> kept{track.steps.front()};
    for (std::size_t i = 1; i + 1 < track.steps.size(); i += 2)
      kept.push_back(joined(track.steps[i], track.steps[i + 1]));
    const bool odd_left = track.steps.size() % 2 == 0;
    const Step last = track.steps.back();
    track.steps = std::move(kept);
    track.merged *= 2;
    writer.held = 0;
    if (odd_left) {
      writer.pending = last;
      writer.held = last.count;
    }
  }

  void step_end(const Event& event, const Stamp& at) {
    outputs.passed_step(event.step);
    if (train_ends > 0 && train_ends >= train_starts) return;
    const std::size_t index = track_for(event.step);
    StepTrack& track = log.tracks[index];
    Step step;
    step.at = at;
    if (event.step != kNoTime && std::abs(event.step) < std::numeric_limits<std::int32_t>::max())
      step.number = static_cast<std::int32_t>(event.step);
    step.after_break = break_next;
    break_next = false;
    if (event.step != kNoTime) {
      if (track.first_number == kNoTime) track.first_number = event.step;
      if (track.last_number != kNoTime && event.step > track.last_number)
        track.stride = std::max(track.stride, event.step - track.last_number);
      // A number that falls is an unannounced restart.
      if (track.last_number != kNoTime && event.step <= track.last_number) step.after_break = true;
      track.last_number = event.step;
    }
    ++track.logged;
    steps_since_start = true;

    // An impossible value has its own finding (LogAudit::impossible_counts) and is not added.
    if (const auto v = possible_number(event, "samples")) {
      log.samples.add(*v);
      step.samples = *v;
    }
    if (const auto v = possible_number(event, "global_samples"); v && index == 0) {
      log.global_samples.add(*v);
      if (!log.samples.known) step.samples = *v;
    }
    if (const auto v = possible_number(event, "tokens")) {
      log.tokens.add(*v);
      step.tokens = static_cast<float>(*v);
    }
    if (const auto v = possible_number(event, "global_tokens"); v && index == 0) {
      log.global_tokens.add(*v);
      if (!log.tokens.known) step.tokens = static_cast<float>(*v);
    }
    if (const auto v = possible_number(event, "flops")) {
      log.flops.add(*v);
      step.flops = static_cast<float>(*v);
      if (const auto taken = possible_number(event, "compute_s"); taken && *taken > 0)
        log.best_flops = std::max(log.best_flops.value_or(0), *v / *taken);
    }
    if (const auto v = possible_number(event, "data_s")) log.data_s.add(*v);
    if (const auto v = possible_number(event, "compute_s")) log.compute_s.add(*v);
    if (const auto v = possible_number(event, "comm_s")) {
      log.comm_s.add(*v);
      step.comm_s = static_cast<float>(*v);
    }
    if (const auto v = possible_number(event, "bubble_s")) {
      log.bubble_s.add(*v);
      step.bubble_s = static_cast<float>(*v);
    }
    if (const auto v = possible_number(event, "optimizer_s")) log.optimizer_s.add(*v);
    if (const auto v = possible_number(event, "num_trained_samples")) {
      if (!log.trained_first) log.trained_first = *v;
      if (log.trained_last && *v > *log.trained_last) {
        log.trained_stride = std::max(log.trained_stride, *v - *log.trained_last);
        if (!log.samples.known && !log.global_samples.known) step.samples = *v - *log.trained_last;
      }
      log.trained_last = std::max(*v, log.trained_last.value_or(0));
    }
    if (const Field* loss = event.find("loss")) {
      if (nonfinite_loss(*loss)) {
        ++log.nonfinite_losses;
        if (log.first_nonfinite_step == kNoTime) log.first_nonfinite_step = event.step;
      } else if (loss->type == Field::Type::number) {
        step.loss = static_cast<float>(loss->number);
      }
    }
    push(index, step);
  }

  void train_start(const Stamp& at) {
    ++train_starts;
    if (!log.train_start.known()) {
      log.train_start = at;
      // Steps before the training began (a warm-up) do not count.
      forget_steps();
    } else if (steps_since_start && plan.launch == plan::LaunchMode::per_rank) {
      ++log.restarts;
      break_next = true;
      for (StepTrack& track : log.tracks) track.last_number = kNoTime;
    }
    steps_since_start = false;
  }

  void forget_steps() {
    log.tracks.clear();
    writers.clear();
    for (Total* total :
         {&log.samples, &log.global_samples, &log.tokens, &log.global_tokens, &log.flops,
          &log.data_s, &log.compute_s, &log.comm_s, &log.bubble_s, &log.optimizer_s})
      *total = {};
    log.trained_first.reset();
    log.trained_last.reset();
    log.trained_stride = 0;
    log.best_flops.reset();
    log.evaluations.clear();
  }

  void evaluate(const Event& event, const Stamp& at) {
    if (log.evaluations.size() >= kMaxEvaluations) return;
    Evaluation evaluation;
    evaluation.at = at;
    evaluation.seconds = possible_number(event, "time");
    evaluation.values = scalars(event, /*keep_counters=*/false);
    if (const Field* loss = event.find("eval_loss"); loss != nullptr && nonfinite_loss(*loss))
      ++log.nonfinite_losses;
    log.evaluations.push_back(std::move(evaluation));
  }

  void phase(const Event& event, const Stamp& at) {
    const Field* name = event.find("name");
    const auto seconds = possible_number(event, "time");
    if (name == nullptr || name->type != Field::Type::text || !seconds) return;
    const auto part = logged_part(name->text);
    if (part && log.phases.size() < kMaxPhasesOfLog) log.phases.push_back({*part, at, *seconds});
  }
};

RankLogReader::RankLogReader(const plan::CasePlan& plan, RankLog& log, std::size_t step_limit)
    : impl_(std::make_unique<Impl>(plan, log, step_limit)) {}

RankLogReader::~RankLogReader() = default;

bool RankLogReader::wants_text() const noexcept {
  return impl_->outputs.wanted();
}

void RankLogReader::on_hole() {
  impl_->break_next = true;
  impl_->outputs.hole();
}

void RankLogReader::use(const Arrivals* arrivals) {
  impl_->auditor.use(arrivals);
}

void RankLogReader::on_end() {
  impl_->auditor.on_end();
}

void RankLogReader::on_event(const Event& event) {
  Impl& self = *impl_;
  const Stamp at{self.foreign_clocks ? kNoTime : sane(event.mono_us, kMaxMono_us),
                 sane(event.time_ms, kMaxWall_ms)};
  ++self.log.events;
  self.stamp(at);
  self.auditor.see(event, at);
  switch (event.kind) {
    case EventKind::init_start:
      if (!self.log.init_start.known()) self.log.init_start = at;
      break;
    case EventKind::init_end:
      self.log.init_end = at;
      break;
    case EventKind::train_start:
      self.train_start(at);
      break;
    case EventKind::train_end:
      ++self.train_ends;
      if (at.known()) self.log.train_end = at;
      break;
    case EventKind::step_end:
      self.step_end(event, at);
      break;
    case EventKind::evaluate:
      self.evaluate(event, at);
      break;
    case EventKind::phase:
      self.phase(event, at);
      break;
    case EventKind::finished:
      if (!self.log.finished) {
        self.log.finished = perflog::summarize_finished(event);
        self.log.finished_values = scalars(event, /*keep_counters=*/true);
        for (const Field& field : event.fields)
          if (field.key.ends_with("loss") && nonfinite_loss(field)) ++self.log.nonfinite_losses;
      }
      break;
    default:
      break;
  }
}

void RankLogReader::on_text(std::string_view text, std::uint64_t line, bool ends) {
  impl_->outputs.read(text, line, ends);
}

std::string rank_list(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (ranks.empty()) return "no rank";
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1] == ranks[j] + 1) ++j;
    if (i != 0) out += ", ";
    out += std::to_string(ranks[i]);
    if (j == i + 1) out += ", " + std::to_string(ranks[j]);
    if (j > i + 1) out += "–" + std::to_string(ranks[j]);
    i = j + 1;
  }
  return out;
}

}  // namespace assay::judge
