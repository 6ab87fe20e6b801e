#include "judge/log_audit.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/text.h"
#include "core/units.h"
#include "judge/stamp.h"
#include "perflog/finished.h"
#include "stats/descriptive.h"

namespace assay::judge {

namespace {

constexpr std::size_t kMaxHashes = 1 << 22;
constexpr std::uint64_t kMaxComparisons = std::uint64_t{1} << 28;
constexpr std::size_t kMaxTrials = 1 << 17;
constexpr std::size_t kMaxTrialEvaluations = 1 << 20;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdULL;
}

std::uint64_t hash_of_values(const perflog::Event& event) {
  auto hash = static_cast<std::uint64_t>(event.step);
  for (const perflog::Field& field : event.fields)
    hash = mixed(hash, std::bit_cast<std::uint64_t>(field.number) + field.key.size());
  return hash;
}

std::uint64_t hash_of(const Stamp& at, std::uint64_t values) {
  return mixed(
      mixed(static_cast<std::uint64_t>(at.mono_us), static_cast<std::uint64_t>(at.wall_ms)),
      values);
}

// Bounds for the values of STEP_END. Whole models are known to take 1e20 operations per step.
constexpr double kMaxCounted = 1e15;
constexpr double kMaxOperations = 1e24;
constexpr std::string_view kCounts[] = {"samples", "global_samples", "tokens", "global_tokens",
                                        "num_trained_samples"};
constexpr std::string_view kSeconds[] = {"data_s", "compute_s", "comm_s", "bubble_s",
                                         "optimizer_s"};

// The largest possible value of a field in such an event; nothing if it is not bounded.
std::optional<double> most_possible(perflog::EventKind kind, std::string_view key) {
  using perflog::EventKind;
  if (kind == EventKind::evaluate || kind == EventKind::phase)
    return key == "time" ? std::optional(kMaxCounted) : std::nullopt;
  if (kind != EventKind::step_end) return std::nullopt;
  if (key == "flops") return kMaxOperations;
  if (std::ranges::find(kCounts, key) != std::end(kCounts) ||
      std::ranges::find(kSeconds, key) != std::end(kSeconds))
    return kMaxCounted;
  return std::nullopt;
}

// Half the unit to which a time was rounded for printing: 0.5 for "3", 0.05 for "2.5".
double rounding_of(double seconds) {
  for (const double unit : {1.0, 0.1, 0.01})
    if (const double units = seconds / unit; std::abs(units - std::round(units)) < 1e-6)
      return unit / 2;
  return 0;
}

std::string shown_value(const perflog::Field& field) {
  using Type = perflog::Field::Type;
  switch (field.type) {
    case Type::number:
      return std::isnan(field.number) ? "NaN" : format_number(field.number);
    case Type::boolean:
      return field.number != 0 ? "true" : "false";
    case Type::text:
      return "'" + printable(field.text.substr(0, 40)) + "'";
    case Type::null:
      break;
  }
  return "null";
}

std::optional<double> finite_number(const perflog::Event& event, std::string_view key) {
  const perflog::Field* field = event.find(key);
  if (field == nullptr || field->type != perflog::Field::Type::number ||
      !std::isfinite(field->number))
    return std::nullopt;
  return field->number;
}

}  // namespace

std::optional<double> possible_number(const perflog::Event& event, std::string_view key) {
  const auto number = finite_number(event, key);
  const auto most = most_possible(event.kind, key);
  if (!number || *number < 0 || (most && *number > *most)) return std::nullopt;
  return number;
}

LogAuditor::LogAuditor(RankLog& log, const plan::CasePlan& plan)
    : log_(log),
      audit_(log.audit),
      plan_(plan),
      one_writer_(plan.launch == plan::LaunchMode::per_rank),
      mono_batches_{&Stamp::mono_us, 1e-6, audit_.by_mono},
      wall_batches_{&Stamp::wall_ms, 1e-3, audit_.by_wall} {}

LoggedEvent LogAuditor::place(const perflog::Event& event, const Stamp& at) const {
  return {at, event.line, std::string(event.name)};
}

void LogAuditor::see(const perflog::Event& event, const Stamp& at) {
  using perflog::EventKind;
  see_arrival(event, at);
  if (at.known()) {
    see_times(event, at);
    see_order(event, at);
  }
  see_values(event, at);
  switch (event.kind) {
    case EventKind::train_start:
      ++audit_.train_starts;
      audit_.training_open = true;
      last_step_ = kNoTime;
      last_trained_ = 0;
      if (at.known()) ended_ = place(event, at);
      break;
    case EventKind::train_end:
      ++audit_.train_ends;
      audit_.training_open = false;
      break;
    case EventKind::step_end:
      ++audit_.step_ends;
      if (one_writer_) see_step(event, at);
      if (plan_.automl) see_trial(event);
      break;
    case EventKind::evaluate:
      if (plan_.automl) see_trial(event);
      break;
    default:
      break;
  }
  if (at.mono_us != kNoTime) latest_us_ = std::max(latest_us_, at.mono_us);
}

void LogAuditor::see_times(const perflog::Event& event, const Stamp& at) {
  const auto widen = [&](LoggedEvent& first, LoggedEvent& last, std::int64_t Stamp::*clock) {
    if (at.*clock == kNoTime) return;
    if (first.line == 0 || at.*clock < first.at.*clock) first = place(event, at);
    if (last.line == 0 || at.*clock > last.at.*clock) last = place(event, at);
  };
  widen(audit_.mono_first, audit_.mono_last, &Stamp::mono_us);
  widen(audit_.wall_first, audit_.wall_last, &Stamp::wall_ms);
  if (at.mono_us == kNoTime || at.wall_ms == kNoTime) return;
  const double offset =
      static_cast<double>(at.wall_ms) * 1e-3 - static_cast<double>(at.mono_us) * 1e-6;
  if (first_offsets_.size() < kReadings) first_offsets_.push_back(offset);
  last_offsets_[readings_++ % kReadings] = offset;
}

SaidValue LogAuditor::said(const perflog::Event& event, const Stamp& at,
                           const perflog::Field& field) const {
  const bool finite = field.type == perflog::Field::Type::number && std::isfinite(field.number);
  return {place(event, at), event.step, std::string(field.key), shown_value(field),
          finite ? field.number : 0};
}

// Threads and pipes may swap lines stamped at about the same time; plausibility.cpp decides how
// much that explains.
void LogAuditor::see_order(const perflog::Event& event, const Stamp& at) {
  using perflog::EventKind;
  if (at.mono_us == kNoTime) return;
  if (one_writer_ && latest_us_ != kNoTime && at.mono_us < latest_us_) {
    const double fell = static_cast<double>(latest_us_ - at.mono_us) * 1e-6;
    // Compared with the latest time so far: a clock that was set back once is behind in all
    // following lines, which counts as one fall.
    if (at.mono_us < previous_us_)
      audit_.back_sum_s += static_cast<double>(previous_us_ - at.mono_us) * 1e-6;
    if (fell > audit_.back_s) {
      audit_.back_s = fell;
      audit_.back = place(event, at);
    }
  }
  previous_us_ = at.mono_us;
  if (event.kind == EventKind::step_end && audit_.training_open &&
      (last_trained_at_.line == 0 || at.mono_us > last_trained_at_.at.mono_us))
    last_trained_at_ = place(event, at);
  if (event.kind == EventKind::train_end) train_end_us_ = std::max(train_end_us_, at.mono_us);
}

// Counts impossible counts and times, and accuracies that are not numbers. A null says nothing.
void LogAuditor::see_values(const perflog::Event& event, const Stamp& at) {
  using perflog::EventKind;
  using Type = perflog::Field::Type;
  const bool pause = event.kind == EventKind::evaluate || event.kind == EventKind::phase;
  const bool qualities = event.kind == EventKind::evaluate || event.kind == EventKind::finished;
  if (event.kind != EventKind::step_end && !pause && !qualities) return;
  for (const perflog::Field& field : event.fields) {
    if (field.type == Type::null) continue;
    const bool finite = field.type == Type::number && std::isfinite(field.number);
    // FINISHED may hold anything: "device_map": "auto" is not an accuracy.
    const bool share = qualities && perflog::is_share(field.key) &&
                       (field.type == Type::number || event.kind == EventKind::evaluate ||
                        field.key.starts_with("final_"));
    if (share && !finite && audit_.unreadable_shares++ == 0)
      audit_.first_unreadable_share = said(event, at, field);
    const auto most = most_possible(event.kind, field.key);
    if (!most) continue;
    if (!finite || field.number < 0 || field.number > *most) {
      if (audit_.impossible_counts++ == 0) audit_.first_impossible = said(event, at, field);
      continue;
    }
    if (!pause && std::ranges::find(kSeconds, field.key) == std::end(kSeconds)) continue;
    if (field.number > audit_.longest_said.number) audit_.longest_said = said(event, at, field);
    if (pause) see_pause(event, at, field.number);
  }
  const bool ends = event.kind == EventKind::step_end || event.kind == EventKind::evaluate;
  if (ends && at.known()) ended_ = place(event, at);
}

// A pause ends with its event and began after the rank's previous end of something.
void LogAuditor::see_pause(const perflog::Event& event, const Stamp& at, double seconds) {
  constexpr double kSlewShare = 1e-3;  // NTP slews by up to 500 ppm
  if (!one_writer_ || !at.known()) return;
  LoggedEvent since = ended_;
  if (event.kind == perflog::EventKind::phase) {
    const perflog::Field* name = event.find("name");
    if (name == nullptr || name->type != perflog::Field::Type::text || name->text != "checkpoint")
      return;
    // An evaluation may contain a checkpoint, but a checkpoint contains nothing.
    if (saved_.line > since.line) since = saved_;
    saved_ = place(event, at);
  }
  if (since.line == 0) return;
  double room = 0;
  if (at.mono_us != kNoTime && since.at.mono_us != kNoTime)
    room = static_cast<double>(at.mono_us - since.at.mono_us) * 1e-6;
  else if (at.wall_ms != kNoTime && since.at.wall_ms != kNoTime)
    room = static_cast<double>(at.wall_ms - since.at.wall_ms) * 1e-3;
  else
    return;
  const double excess = seconds - std::max(room, 0.0);
  const double allowed = kStampResolution_s + kSlewShare * seconds + rounding_of(seconds);
  if (excess <= allowed || excess <= audit_.pause_excess_s) return;
  audit_.pause_excess_s = excess;
  audit_.pause_room_s = room;
  audit_.pause_since = since;
  audit_.long_pause = {place(event, at), event.step, "time", format_number(seconds), seconds};
}

void LogAuditor::see_arrival(const perflog::Event& event, const Stamp& at) {
  if (arrivals_ == nullptr) return;
  const Arrivals::Seen* seen = arrivals_->line(event.line);
  if (seen == nullptr) return;
  const auto worse = [&](double ahead, double& largest, LoggedEvent& worst) {
    if (ahead <= largest) return;
    largest = ahead;
    worst = place(event, at);
  };
  if (at.mono_us != kNoTime) {
    worse(static_cast<double>(at.mono_us * 1'000 - seen->at.mono_ns) * 1e-9, audit_.mono_ahead_s,
          audit_.mono_ahead);
  }
  if (at.wall_ms != kNoTime)
    worse(static_cast<double>(at.wall_ms * 1'000'000 - seen->at.wall_ns) * 1e-9,
          audit_.wall_ahead_s, audit_.wall_ahead);
  if (!one_writer_) return;
  see_batch(mono_batches_, event, at, *seen);
  see_batch(wall_batches_, event, at, *seen);
}

// Lines come in batches, each between two links of the agent's chain. However the output is
// buffered, the latest line of a batch was written shortly before it came. Events without a time
// only show that lines came.
void LogAuditor::see_batch(Batches& batches, const perflog::Event& event, const Stamp& at,
                           const Arrivals::Seen& seen) const {
  const std::int64_t time = at.*batches.clock;
  if (batches.count == 0 && time == kNoTime) return;
  if (&seen != batches.newest) {
    end_batch(batches);
    if (batches.count++ == 0) batches.first_end_ns = seen.at.mono_ns;
    batches.newest = &seen;
    batches.last.reset();
  }
  if (time == kNoTime) return;
  if (batches.count == 1 && (batches.first == kNoTime || time < batches.first))
    batches.first = time;
  if (!batches.last || time >= batches.last->at.*batches.clock) batches.last = place(event, at);
}

void LogAuditor::end_batch(Batches& batches) {
  // Fewer could be two buffers in a row that let lines through at once.
  constexpr std::int64_t kMinBatches = 10;
  if (batches.count < kMinBatches || !batches.last || !batches.newest->after_mono_ns) return;
  const double seen_s =
      static_cast<double>(*batches.newest->after_mono_ns - batches.first_end_ns) * 1e-9;
  const double said_s =
      static_cast<double>(batches.last->at.*batches.clock - batches.first) * batches.to_s;
  SeenSpan& span = batches.span;
  if (span.came_in_s > 0 && seen_s - said_s <= span.came_in_s - span.said_in_s) return;
  span = {seen_s, said_s, *batches.last};
}

// Counts steps that took exactly as long as the previous one, by a clock of microseconds.
void LogAuditor::see_length(const Stamp& at) {
  constexpr std::int64_t kWorthComparing_us = 1'000;
  if (at.mono_us % 1'000 != 0) ++fine_stamps_;
  const std::int64_t length = last_end_us_ == kNoTime ? kNoTime : at.mono_us - last_end_us_;
  last_end_us_ = at.mono_us;
  if (length != kNoTime && last_length_us_ != kNoTime) {
    ++audit_.lengths;
    if (length == last_length_us_ && length >= kWorthComparing_us) ++audit_.lengths_alike;
  }
  last_length_us_ = length;
}

void LogAuditor::see_step(const perflog::Event& event, const Stamp& at) {
  const auto note = [&](bool back) {
    if (!back) return;
    if (audit_.counters_back++ == 0) audit_.first_back = place(event, at);
  };
  const std::uint64_t values = hash_of_values(event);
  if (event.step != kNoTime) {
    // If a step repeats with all its values, a later stamp comes from another path to the log.
    const bool again = event.step == last_step_ && values == last_values_;
    const bool stamped_alike = at.mono_us != kNoTime && at.mono_us == last_end_us_;
    if (again && !stamped_alike && audit_.repeated++ == 0) audit_.first_repeated = place(event, at);
    note(last_step_ != kNoTime &&
         (event.step < last_step_ || (event.step == last_step_ && !again)));
    last_step_ = event.step;
    last_values_ = values;
  }
  if (const auto trained = finite_number(event, "num_trained_samples")) {
    note(*trained < last_trained_);
    last_trained_ = *trained;
  }
  if (at.mono_us == kNoTime) return;
  find_repeated(event, at, hash_of(at, values));
  see_length(at);
}

// A microsecond clock that only one process reads advances from line to line, so an equal earlier
// line is searched for only when the time does not advance.
void LogAuditor::find_repeated(const perflog::Event& event, const Stamp& at, std::uint64_t hash) {
  if (latest_us_ != kNoTime && at.mono_us <= latest_us_ && comparisons_ < kMaxComparisons) {
    const auto found = std::find(hashes_.rbegin(), hashes_.rend(), hash);
    comparisons_ += static_cast<std::uint64_t>(found - hashes_.rbegin());
    if (found != hashes_.rend() && audit_.repeated++ == 0) audit_.first_repeated = place(event, at);
  }
  if (hashes_.size() < kMaxHashes) hashes_.push_back(hash);
}

void LogAuditor::see_trial(const perflog::Event& event) {
  if (event.kind == perflog::EventKind::step_end) {
    const auto trial = finite_number(event, "trial");
    if (!trial || *trial < 0 || *trial > 1e15) return;
    const auto id = static_cast<std::int64_t>(*trial);
    if (log_.trials.empty() || log_.trials.back().trial != id) {
      if (log_.trials.size() >= kMaxTrials) return;
      log_.trials.push_back({id, 0, {}});
    }
    log_.trials.back().samples += finite_number(event, "samples").value_or(0);
    return;
  }
  if (log_.trials.empty() || log_.trials.back().accuracy.size() >= kMaxTrialEvaluations) return;
  for (const perflog::Field& field : event.fields)
    if (field.type == perflog::Field::Type::number && field.key.find("acc") != field.key.npos) {
      log_.trials.back().accuracy.push_back(field.number);
      return;
    }
}

void LogAuditor::on_end() {
  end_batch(mono_batches_);
  end_batch(wall_batches_);
  // A millisecond clock makes many steps look alike.
  if (2 * fine_stamps_ < audit_.step_ends) audit_.lengths_alike = 0;
  if (!audit_.training_open && train_end_us_ != kNoTime && last_trained_at_.line > 0) {
    const double late = static_cast<double>(last_trained_at_.at.mono_us - train_end_us_) * 1e-6;
    if (late > audit_.back_s) {
      audit_.back_s = late;
      audit_.back = last_trained_at_;
    }
  }
  if (readings_ < 2) return;
  const std::size_t kept = std::min<std::size_t>(readings_, kReadings);
  // A process that is descheduled between its two readings yields a single odd pair.
  const std::vector<double> last(last_offsets_.begin(),
                                 last_offsets_.begin() + static_cast<std::ptrdiff_t>(kept));
  const auto begin = stats::median(first_offsets_);
  const auto end = stats::median(last);
  if (!begin || !end) return;
  const double span =
      static_cast<double>(audit_.mono_last.at.mono_us - audit_.mono_first.at.mono_us) * 1e-6;
  audit_.clocks_apart_s = std::abs(*end - *begin);
  // NTP slews by up to 500 ppm.
  audit_.clocks_allowed_s = (readings_ >= 2 * kReadings ? 0.02 : 0.5) + 1e-3 * span;
}

}  // namespace assay::judge
