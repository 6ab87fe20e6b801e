#include "live/run_watch.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/parse_number.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "store/journal_records.h"
#include "store/run_dir.h"

namespace assay::live {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxJournalLine = 16U << 20;

bool is_plain_folder(const fs::path& path) {
  std::error_code ec;
  return fs::symlink_status(path, ec).type() == fs::file_type::directory;
}

// A name from the journal becomes a path only where it is one folder.
bool is_folder_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
         name.find('\0') == std::string::npos;
}

std::int64_t ms_of(const Json& event) {
  return integer_at(event, "wall_ns", 0) / 1'000'000;
}

std::optional<int> number_behind(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  return parse_number<int>(text, 0);
}

// The rank of "rank3.out.log" and its rotated parts.
std::optional<int> rank_of_log(std::string_view name) {
  for (const std::string_view suffix : {".head", ".1"})
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  constexpr std::string_view kEnd = ".out.log";
  if (!name.ends_with(kEnd)) return std::nullopt;
  name.remove_suffix(kEnd.size());
  return number_behind(name, "rank");
}

}  // namespace

RunWatch::RunWatch(fs::path run) : run_(std::move(run)), journal_(run_ / layout::kJournal) {}

double RunWatch::clock_offset(int node) const {
  const auto found = offsets_.find(node);
  return found == offsets_.end() ? 0 : found->second;
}

bool RunWatch::look() {
  const bool same = journal_.look();
  if (!same) {
    *this = RunWatch(run_);
    (void)journal_.look();
  }
  read_plan();
  // Before the files: what was written before a run ended is read in the same look.
  ended_ = !store::RunLock::held(run_);
  (void)journal_.look();
  std::string text;
  while (read_ < journal_.size()) {
    text.resize(std::min<std::uint64_t>(1U << 20, journal_.size() - read_));
    for (std::size_t have = 0;;) {
      const std::size_t n = journal_.read(read_ + have, std::span(text).subspan(have));
      have += n;
      if (have < text.size() && n > 0) continue;
      text.resize(have);
      break;
    }
    std::size_t last = text.rfind('\n');
    while (last == std::string::npos && !text.empty() && text.size() < kMaxJournalLine &&
           read_ + text.size() < journal_.size()) {  // a long line
      const std::size_t have = text.size();
      text.resize(std::min<std::uint64_t>(2 * have, journal_.size() - read_));
      text.resize(have + journal_.read(read_ + have, std::span(text).subspan(have)));
      if (text.size() == have) break;
      last = text.rfind('\n');
    }
    if (last == std::string::npos) {
      if (text.size() >= kMaxJournalLine) {
        read_ += text.size();  // no journal of ours has such a line
        continue;
      }
      break;  // not whole yet
    }
    for (const std::string_view line : split(std::string_view(text).substr(0, last), '\n'))
      if (const Json event = parse_json_or_null(line); event.is_object()) take(event);
    read_ += last + 1;
  }
  // The evidence of a node has come: it is read instead of what was sent before.
  for (const auto& [sent, evidence] : sent_)
    begun_again_ = begun_again_ || !is_plain_folder(sent) || is_plain_folder(evidence);
  if (begun_again_) {  // what was read of a round is not what lies there now
    *this = RunWatch(run_);
    (void)look();
    return false;
  }
  for (std::size_t i = 0; i < rounds_.size(); ++i) {
    if (rounds_[i].listed) continue;
    const bool over = rounds_[i].ended || ended_;
    list(i);
    if (!over) list_sent(i);
    rounds_[i].listed = over;
  }
  if (const fs::path log = run_ / layout::kControllerLog; !known_.contains(log)) {
    std::error_code ec;
    if (fs::exists(fs::symlink_status(log, ec)))
      add_log({.file = log, .start_ms = rounds_.empty() ? 0 : rounds_.front().start_ms});
  }
  return same;
}

void RunWatch::read_plan() {
  if (plan_read_) return;
  const Json plan = parse_json_or_null(read_regular_file_or_empty(run_ / layout::kPlan));
  if (!plan.is_object()) return;
  plan_read_ = true;
  const Json& cluster = object_at(plan, "cluster");
  // An old plan does not say it.
  // What a service hands out of its jobs' logs is there at once.
  const Json& traits = object_at(cluster, "traits");
  if (member_at(traits, "shares_files") == Json(false) &&
      member_at(traits, "starts_agents") != Json(false))
    late_ =
        fmt::format("with the launcher '{}' logs and telemetry come here at the end of each round",
                    printable(text_at(cluster, "launcher")));
}

void RunWatch::mark(std::int64_t at_ms, std::string kind, std::string_view text) {
  if (marks_.size() < kMaxMarks)
    marks_.push_back({at_ms, 0, std::move(kind), printable(ellipsize(text, 300))});
}

void RunWatch::take(const Json& event) {
  const auto kind = store::event_of(event);
  const store::RoundName name = store::round_of(event);
  const std::string& case_name = name.case_name;
  const int number = name.round;
  // The newest of that name: a resumed run begins a round again.
  const auto round = std::find_if(rounds_.rbegin(), rounds_.rend(), [&](const WatchedRound& known) {
    return known.case_name == case_name && known.round == number;
  });
  const std::string place = fmt::format("{}, round {}", case_name, number);
  if (kind == store::JournalEvent::round_start) {
    if (!is_folder_name(case_name) || number < 1 || rounds_.size() >= kMaxLogs) return;
    mark(ms_of(event), "round", place);
    if (round != rounds_.rend()) {
      begun_again_ = begun_again_ || round->listed;
      round->ended = round->listed = false;
      ++round->begun;
    } else {
      rounds_.push_back({case_name, number, ms_of(event)});
    }
  } else if (kind == store::JournalEvent::round_end) {
    if (round != rounds_.rend()) round->ended = true;
    const auto end = fields_from_any<store::RoundEnd>(event);
    mark(ms_of(event), "round_end",
         place + ": " + end.status.text + (end.reason.empty() ? "" : " – " + end.reason));
  } else if (kind == store::JournalEvent::rank_start) {
    if (round != rounds_.rend())
      rank_starts_[{static_cast<std::size_t>(rounds_.rend() - round - 1),
                    fields_from_any<store::RankStart>(event).rank,
                    static_cast<int>(integer_at(event, "part", 1))}] = ms_of(event);
  } else if (kind == store::JournalEvent::rank_exit) {
    const auto exit = fields_from_any<store::RankExit>(event);
    if (exit.code == 0 || (!exit.code && !exit.signal)) return;
    mark(ms_of(event), "rank",
         fmt::format("rank {} ended with {} {}", exit.rank, exit.code ? "exit code" : "signal",
                     exit.code ? *exit.code : *exit.signal));
  } else if (kind == store::JournalEvent::gap) {
    mark(ms_of(event), "gap",
         fmt::format("node {}: no data of {}: {}", integer_at(event, "node", 0),
                     text_at(event, "source"), text_at(event, "reason")));
  } else if (kind == store::JournalEvent::case_skipped) {
    mark(ms_of(event), "case", case_name + " is skipped: " + text_at(event, "reason"));
  } else if (kind == store::JournalEvent::clock_offset) {
    offsets_[static_cast<int>(integer_at(event, "node", 0))] = number_at(event, "offset_s", 0.0);
  } else if (store::starts_run(kind)) {
    mark(ms_of(event), "run",
         kind == store::JournalEvent::run_start ? "run started" : "run goes on");
  } else if (kind == store::JournalEvent::run_end) {
    mark(ms_of(event), "run", "run ended: " + fields_from_any<store::RunEnd>(event).status.text);
  }
}

void RunWatch::list(std::size_t round) {
  const WatchedRound& known = rounds_[round];
  const fs::path folder = run_ / known.case_name / layout::round_folder(known.round);
  if (!is_plain_folder(run_ / known.case_name) || !is_plain_folder(folder)) return;
  std::error_code ec;
  std::vector<fs::path> nodes;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string name = it->path().filename().string();
    if (name == layout::kHookLog)
      add_log({.file = it->path(),
               .case_name = known.case_name,
               .round = known.round,
               .start_ms = known.start_ms,
               .round_index = round});
    else if (name.find("_noderank") != std::string::npos && is_plain_folder(it->path()))
      nodes.push_back(it->path());
  }
  std::ranges::sort(nodes);
  for (const fs::path& node : nodes) list_node(round, node, /*sent=*/false);
}

void RunWatch::list_sent(std::size_t round) {
  const WatchedRound& known = rounds_[round];
  const fs::path place = fs::path(known.case_name) / layout::round_folder(known.round);
  const fs::path all = run_ / fs::path(layout::kLiveLogs).parent_path();
  const fs::path folder = all / place;
  for (const fs::path& part : {all, all / known.case_name, folder})
    if (!is_plain_folder(part)) return;
  late_.clear();
  std::error_code ec;
  std::vector<fs::path> nodes;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string name = it->path().filename().string();
    const fs::path evidence = run_ / place / name;
    if (name.find("_noderank") == std::string::npos || !is_plain_folder(it->path()) ||
        is_plain_folder(evidence))
      continue;
    nodes.push_back(it->path());
    sent_[it->path()] = evidence;
  }
  std::ranges::sort(nodes);
  for (const fs::path& node : nodes) list_node(round, node, /*sent=*/true);
}

void RunWatch::list_node(std::size_t round, const fs::path& folder, bool sent) {
  const WatchedRound& known = rounds_[round];
  const std::string name = folder.filename().string();
  const std::size_t split_at = name.rfind("_noderank");
  // A node that came back to its round has a folder for each part of its work.
  std::string_view numbers = std::string_view(name).substr(split_at);
  int part = 1;
  if (const auto at = numbers.find(".part"); at != std::string_view::npos) {
    part = number_behind(numbers.substr(at), ".part").value_or(0);
    numbers = numbers.substr(0, at);
  }
  const auto node = part > 0 ? number_behind(numbers, "_noderank") : std::nullopt;
  if (!node) return;
  const std::string host = name.substr(0, split_at);
  std::error_code ec;
  std::vector<int> ranks;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    const std::string file = it->path().filename().string();
    if (const auto rank = rank_of_log(file)) ranks.push_back(*rank);
    if (file == layout::kTelemetry && telemetry_.size() < kMaxLogs &&
        known_.emplace(it->path(), true).second)
      telemetry_.push_back({it->path(), *node, host, round});
  }
  std::ranges::sort(ranks);
  const auto repeated = std::ranges::unique(ranks);
  ranks.erase(repeated.begin(), repeated.end());
  for (const int rank : ranks) {
    const auto start = rank_starts_.find({round, rank, part});
    add_log({.file = folder / layout::rank_log(rank),
             .case_name = known.case_name,
             .round = known.round,
             .node = *node,
             .host = host,
             .rank = rank,
             .start_ms = start == rank_starts_.end() ? known.start_ms : start->second,
             .round_index = round,
             .sent = sent});
  }
}

void RunWatch::add_log(LogFile log) {
  if (logs_.size() < kMaxLogs && known_.emplace(log.file, true).second)
    logs_.push_back(std::move(log));
}

}  // namespace assay::live
