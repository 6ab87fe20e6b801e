#include <algorithm>
#include <climits>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/text.h"
#include "launch/cloud/job_machine.h"
#include "store/journal_records.h"

namespace assay::launch {

namespace {

constexpr std::uint64_t kPiece = 8 << 20;  // of a log, at once
constexpr std::uint64_t kCompared = 64 << 10;
// What the clocks of the machine that asked for a job and of the one that goes on with it may
// differ by.
constexpr Nanoseconds kOtherClock = std::chrono::minutes(1);

}  // namespace

JobMachine::Actions JobMachine::log_sizes(Now now, std::map<int, std::uint64_t> sizes) {
  log_sizes_ = std::move(sizes);
  reading_ = 0;
  grown_ = false;
  return next_log(now);
}

JobMachine::Actions JobMachine::next_log(Now now) {
  for (; reading_ < setup_.nodes; ++reading_) {
    const auto size = log_sizes_.find(reading_);
    std::uint64_t& have = state_.mirrored[reading_];
    if (size == log_sizes_.end()) continue;
    // A service may answer with what was so before; of such a log the end is where it is here.
    if (size->second < have || doubtful_.contains(reading_)) {
      const std::uint64_t both = std::min(size->second, have);
      if (both == 0) {
        log_began_again();
        continue;
      }
      const std::uint64_t piece = std::min(both, kCompared);
      todo_.piece = {reading_, both - piece, piece};
      return then(Do::compare);
    }
    if (size->second == have) continue;
    todo_.piece = {reading_, have, std::min(kPiece, size->second - have)};
    return then(Do::read_log);
  }
  return logs_are_read(now);
}

JobMachine::Actions JobMachine::compared(Now now, bool same) {
  std::uint64_t& size = log_sizes_[reading_];
  const std::uint64_t have = state_.mirrored[reading_];
  if (!same) {
    log_began_again();
  } else if (size < have) {
    doubtful_.insert(reading_);
    size = have;
    ++reading_;
  } else {
    doubtful_.erase(reading_);
  }
  return next_log(now);
}

// An instance that was started again has a new log.
void JobMachine::log_began_again() {
  journal(store::JournalEvent::gap,
          {{"node", reading_},
           {"source", "logs"},
           {"seconds", 0},
           {"reason", "the log of " + worker_name(reading_) + " began again"}});
  state_.earlier[reading_] += std::exchange(state_.mirrored[reading_], 0);
  followed_.erase(reading_);
  doubtful_.erase(reading_);
  todo_.save = true;  // else the next process would go on in the middle of the new one
}

JobMachine::Actions JobMachine::read(Now now, std::uint64_t bytes, std::string_view piece) {
  Followed& log = followed_[reading_];
  const std::uint64_t events = log.progress.events();
  log.progress.feed(piece);
  if (bytes > 0) log.wrote_ns = now.mono_ns;
  if (log.progress.events() != events) log.moved_ns = now.mono_ns;
  std::uint64_t& have = state_.mirrored[reading_];
  have += bytes;
  grown_ = grown_ || bytes > 0;
  if (bytes == 0 || have >= log_sizes_[reading_]) ++reading_;
  return next_log(now);
}

RoundProgress JobMachine::progress(Now now) const {
  RoundProgress out;
  out.state = named() + ": " + seen_.phase_text;
  out.ranks = setup_.nodes;
  out.started = running_ns_ != 0 ? setup_.nodes : 0;
  for (int node = 0; node < setup_.nodes; ++node) {
    out.hosts.push_back(worker_name(node));
    const auto log = followed_.find(node);
    agent::Heartbeat& beat = out.heartbeats[node];
    beat.ranks = 1;
    beat.running = running_ns_ != 0 ? 1 : 0;
    beat.at = {now.mono_ns, now.wall_ns};
    if (log == followed_.end()) continue;
    const perflog::ProgressScanner& read = log->second.progress;
    beat.idle_s = static_cast<double>(now.mono_ns - log->second.wrote_ns) * 1e-9;
    beat.step_min = beat.step_max = read.last_step();
    if (const auto loss = read.last_loss(); loss && std::isfinite(*loss)) beat.loss = loss;
  }
  return out;
}

std::optional<int> JobMachine::steps_no_more(std::int64_t now_ns) const {
  // Before its second step an instance may still load its data, or wait for the others.
  constexpr std::uint64_t kSteps = 2;
  std::optional<int> found;
  for (const auto& [node, log] : followed_) {
    const std::int64_t since = std::max(log.moved_ns, running_ns_);
    if (log.progress.steps() < kSteps || now_ns - since <= setup_.limits.stall.count()) continue;
    if (!found || log.progress.steps() < followed_.at(*found).progress.steps()) found = node;
  }
  return found;
}

std::vector<std::string> JobMachine::silent_instances() const {
  std::vector<std::string> out;
  // Of some services a job may have no logs at all, but not of a part of its instances.
  if (log_sizes_.empty() && !setup_.tells_every_log) return out;
  for (int node = 0; node < setup_.nodes; ++node)
    if (!log_sizes_.contains(node)) out.push_back(worker_name(node));
  return out;
}

bool JobMachine::has_all_logs() const {
  return silent_instances().empty() && std::ranges::all_of(state_.mirrored, [&](const auto& entry) {
           const auto size = log_sizes_.find(entry.first);
           return size == log_sizes_.end() || entry.second >= size->second;
         });
}

JobMachine::Actions JobMachine::fetched(std::size_t files, std::size_t objects,
                                        const std::vector<std::string>& impossible) {
  if (!impossible.empty())
    outcome_ = {
        RoundStatus::unrecorded,
        fmt::format("not all results of {} can be kept: {}", named(), join(impossible, "; ")),
        "let the job give its results names that files of one folder can have"};
  journal(store::JournalEvent::fetched, {{"files", files}, {"of", objects}});
  return then(Do::measure);
}

JobMachine::Actions JobMachine::measured(std::optional<double> utilization) {
  // What the judge cannot ask the service for any more.
  Json fields{{"job", state_.name},
              {"id", state_.id},
              {"upload_start_ns", state_.sync_start_ns},
              {"created_ns", state_.created_ns},
              {"service_created_ms", seen_.created_ms},
              {"started_ms", seen_.started_ms},
              {"duration_ms", seen_.duration_ms}};
  if (utilization) fields["device_util_percent"] = *utilization;
  journal(store::JournalEvent::job_ended, std::move(fields));
  const auto silent = silent_instances();
  if (outcome_.status == RoundStatus::completed && !silent.empty())
    outcome_ = {
        RoundStatus::unrecorded,
        fmt::format("the service says nothing of a log of {} of {}", join(silent, ", "), named()),
        "what these instances did is not known; run the round again (--resume --failed)"};
  if (outcome_.status == RoundStatus::completed && seen_.started_ms == 0)
    outcome_ = {
        RoundStatus::unrecorded,
        fmt::format("the service does not say when {} ({}) ran: there is no {} in what {} tells of "
                    "it",
                    named(), seen_.id, setup_.started_field, setup_.service.endpoint),
        "a service has to tell it of every job that ran: ask whoever runs this one"};
  if (outcome_.status != RoundStatus::completed) give_up();  // its results stay as they are
  return end(outcome_);
}

void JobMachine::journal_starts(double late_s) {
  if (std::exchange(state_.running, true)) return;
  todo_.save = true;
  for (int node = 0; node < setup_.nodes; ++node) {
    store::RankStart start{.rank = node * setup_.procs, .late_s = late_s};
    if (seen_.started_ms > 0) start.service_ms = seen_.started_ms;
    journal(store::JournalEvent::rank_start, fields_to_json(start), node);
  }
}

void JobMachine::journal_ends(Now now, EndedBy how) {
  // Where the service does not say that it ran, its end and its logs do.
  const bool ran =
      seen_.phase == cloud::JobPhase::completed ||
      std::ranges::any_of(state_.mirrored, [](const auto& log) { return log.second > 0; });
  if (ran) journal_starts(within_s(now));
  if (!state_.running) return;
  const bool ended = cloud::has_ended(seen_.phase);
  for (int node = 0; node < setup_.nodes; ++node) {
    const auto told = seen_.exit_codes.find(node);
    const std::int64_t code = told == seen_.exit_codes.end() ? 0 : told->second;
    store::RankExit exit{.rank = node * setup_.procs, .ended_by = how, .late_s = late_s(now)};
    exit.within_s = within_s(now);
    // Logs are final when the job is: what the service has not handed out is missing.
    if (const auto size = log_sizes_.find(node); size != log_sizes_.end() && ended) {
      const auto earlier = state_.earlier.find(node);
      exit.log_bytes = size->second + (earlier == state_.earlier.end() ? 0 : earlier->second);
    }
    if (ended && seen_.started_ms > 0 && seen_.duration_ms > 0)
      exit.service_ms = seen_.started_ms + seen_.duration_ms;
    if (how == EndedBy::itself && (code != 0 || seen_.phase == cloud::JobPhase::completed))
      exit.code = static_cast<int>(std::clamp<std::int64_t>(code, INT_MIN, INT_MAX));
    else if (how == EndedBy::itself)
      exit.ended_by = EndedBy::stop;
    journal(store::JournalEvent::rank_exit, fields_to_json(exit), node);
  }
}

double JobMachine::late_s(Now now) const {
  const std::int64_t since = looked_ns_ != 0          ? now.mono_ns - looked_ns_
                             : state_.created_ns != 0 ? now.wall_ns - state_.created_ns
                                                      : 0;
  return std::max(0.0, static_cast<double>(since) / 1e9);
}

double JobMachine::within_s(Now now) const {
  if (asked_for_ns_ != 0) return seconds(Nanoseconds(now.boot_ns - asked_for_ns_));
  return seconds(std::max(Nanoseconds(now.wall_ns - state_.sync_start_ns), Nanoseconds{}) +
                 kOtherClock);
}

}  // namespace assay::launch
