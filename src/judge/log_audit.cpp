#include "judge/log_audit.h"

#include <algorithm>
#include <bit>
#include <cmath>

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

std::uint64_t hash_of(const perflog::Event& event, const Stamp& at) {
  auto hash = mixed(static_cast<std::uint64_t>(at.mono_us), static_cast<std::uint64_t>(at.wall_ms));
  hash = mixed(hash, static_cast<std::uint64_t>(event.step));
  for (const perflog::Field& field : event.fields)
    hash = mixed(hash, std::bit_cast<std::uint64_t>(field.number) + field.key.size());
  return hash;
}

std::optional<double> finite_number(const perflog::Event& event, std::string_view key) {
  const perflog::Field* field = event.find(key);
  if (field == nullptr || field->type != perflog::Field::Type::number ||
      !std::isfinite(field->number))
    return std::nullopt;
  return field->number;
}

}  // namespace

LogAuditor::LogAuditor(RankLog& log, const plan::CasePlan& plan)
    : log_(log),
      audit_(log.audit),
      plan_(plan),
      one_writer_(plan.launch == plan::LaunchMode::per_rank) {}

LoggedEvent LogAuditor::place(const perflog::Event& event, const Stamp& at) const {
  return {at, event.line, std::string(event.name)};
}

void LogAuditor::see(const perflog::Event& event, const Stamp& at) {
  using perflog::EventKind;
  if (at.known()) {
    see_times(event, at);
    see_arrival(event, at);
  }
  switch (event.kind) {
    case EventKind::train_start:
      ++audit_.train_starts;
      audit_.training_open = true;
      last_step_ = kNoTime;
      last_trained_ = 0;
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

void LogAuditor::see_arrival(const perflog::Event& event, const Stamp& at) {
  if (arrivals_ == nullptr) return;
  const Arrivals::Seen* seen = arrivals_->line(event.line);
  if (seen == nullptr) return;
  const auto worse = [&](double ahead, double& largest, LoggedEvent& worst) {
    if (ahead <= largest) return;
    largest = ahead;
    worst = place(event, at);
  };
  if (at.mono_us != kNoTime)
    worse(static_cast<double>(at.mono_us * 1'000 - seen->at.mono_ns) * 1e-9, audit_.mono_ahead_s,
          audit_.mono_ahead);
  if (at.wall_ms != kNoTime)
    worse(static_cast<double>(at.wall_ms * 1'000'000 - seen->at.wall_ns) * 1e-9,
          audit_.wall_ahead_s, audit_.wall_ahead);
}

void LogAuditor::see_step(const perflog::Event& event, const Stamp& at) {
  const auto note = [&](bool back) {
    if (!back) return;
    if (audit_.counters_back++ == 0) audit_.first_back = place(event, at);
  };
  if (event.step != kNoTime) {
    note(last_step_ != kNoTime && event.step < last_step_);
    last_step_ = event.step;
  }
  if (const auto trained = finite_number(event, "num_trained_samples")) {
    note(*trained < last_trained_);
    last_trained_ = *trained;
  }
  if (at.mono_us != kNoTime) find_repeated(event, at);
}

// A clock of microseconds that only one process reads goes on from line to line: a line is looked
// for among those before it only when its time does not.
void LogAuditor::find_repeated(const perflog::Event& event, const Stamp& at) {
  const std::uint64_t hash = hash_of(event, at);
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
  if (readings_ < 2) return;
  const std::size_t kept = std::min<std::size_t>(readings_, kReadings);
  // A process that is not scheduled between its two readings gives a single odd pair.
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
