#include "judge/load.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>

#include "automl/experiment_journal.h"
#include "core/error.h"
#include "core/node_part.h"
#include "core/parallel.h"
#include "core/pattern.h"
#include "core/rank_log_name.h"
#include "core/text.h"
#include "judge/arrivals.h"
#include "judge/clock_alignment.h"
#include "judge/rank_log.h"
#include "perflog/parser.h"
#include "perflog/token.h"

namespace assay::judge {

namespace fs = std::filesystem;

namespace {

// Steps kept for all ranks together; each rank keeps at least kMinSteps.
constexpr std::size_t kTotalSteps = 16'000'000;
constexpr std::size_t kMinSteps = 20'000;

// The ranks with a rank<r>.out.log file.
std::vector<int> logged_ranks(const fs::path& node_dir) {
  static const Pattern kName(R"(^rank([0-9]{1,9})\.out\.log(\.head|\.1)?$)");
  std::vector<int> ranks;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(node_dir, ec)) {
    const std::string name = entry.path().filename().string();
    if (const auto match = kName.search(name))
      ranks.push_back(std::stoi(std::string(*(*match)[1])));
  }
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

// If a round was cut off, the journal may lack a rank's start, but its log shows that it ran. The
// journal of a completed round is complete.
void add_unrecorded_ranks(const plan::CasePlan& plan, const fs::path& dir, const NodeEvidence& node,
                          RoundEvidence& evidence) {
  if (evidence.status == RoundStatus::completed) return;
  for (const int number : logged_ranks(dir)) {
    const auto at = std::ranges::lower_bound(evidence.ranks, number, {}, &RankEvidence::rank);
    if (number >= plan.world_size() || (at != evidence.ranks.end() && at->rank == number)) continue;
    RankEvidence rank;
    rank.rank = number;
    rank.node = node.node;
    rank.host = node.host;
    evidence.ranks.insert(at, std::move(rank));
  }
}

// Logs in a node's folder that no rank of the round wrote: a rank can create any number of such
// files.
std::vector<std::string> foreign_logs(const fs::path& dir, int node,
                                      const std::vector<RankEvidence>& ranks) {
  std::set<std::string> own;
  for (const RankEvidence& rank : ranks)
    if (rank.node == node)
      for (const fs::path& part : store::rank_logs(dir, rank.rank))
        own.insert(part.filename().string());
  std::vector<std::string> foreign;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(dir, ec))
    if (std::string name = entry.path().filename().string();
        layout::is_rank_log_name(name) && !own.contains(name))
      foreign.push_back(std::move(name));
  std::ranges::sort(foreign);
  return foreign;
}

// The last lines of ordinary output: an exception, a loader's message, an assertion.
std::vector<std::string> last_output_lines(const fs::path& log) {
  constexpr std::size_t kTail = 16 << 10;
  constexpr std::size_t kLines = 8;
  constexpr std::size_t kColumns = 300;
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::int64_t>(file.tellg());
  file.seekg(std::max<std::int64_t>(0, size - static_cast<std::int64_t>(kTail)));
  std::string tail(kTail, '\0');
  file.read(tail.data(), static_cast<std::streamsize>(kTail));
  tail.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  std::vector<std::string_view> lines = split(tail, '\n');
  // The first line began before the tail.
  if (tail.size() == kTail && lines.size() > 1) lines.erase(lines.begin());
  std::vector<std::string> last;
  for (const std::string_view line : lines)
    if (!trim(line).empty() && line.find(perflog::detail::kToken) == std::string_view::npos)
      last.push_back(ellipsize(printable(line), kColumns));
  if (last.size() > kLines) last.erase(last.begin(), last.end() - kLines);
  return last;
}

void read_log(const plan::CasePlan& plan, const fs::path& node_dir, RankEvidence& rank,
              std::size_t step_limit) {
  const std::vector<fs::path> parts = store::rank_logs(node_dir, rank.rank);
  rank.log.found = !parts.empty();
  Arrivals arrivals;
  // For a rotated log, the chain counts the bytes of each part separately.
  if (parts.size() == 1) arrivals = read_arrivals(node_dir, layout::rank_log(rank.rank));
  RankLogReader reader(plan, rank.log, step_limit);
  reader.use(&arrivals);
  perflog::Parser::OnText on_text;
  if (reader.wants_text())
    on_text = [&](std::string_view text, std::uint64_t line, bool ends) {
      reader.on_text(text, line, ends);
    };
  perflog::Parser parser([&](const perflog::Event& event) { reader.on_event(event); }, on_text);
  // A log may be cut anywhere, even within lines and numbers.
  for (const fs::path& part : parts) {
    if (part != parts.front() && rank.dropped_bytes > 0) {
      parser.cut();
      reader.on_hole();
    }
    perflog::feed_file(part, parser);
  }
  parser.finish();
  reader.on_end();
  const perflog::ParseStats& stats = parser.stats();
  rank.log.bytes = stats.bytes;
  rank.log.first_malformed = stats.first_malformed;
  rank.log.malformed_lines = stats.malformed;
  rank.log.truncated = stats.truncated_tail;
  if (!parts.empty() && (!rank.exit || !rank.exit->ok()))
    rank.log.last_lines = last_output_lines(parts.back());
}

// Where a rank wrote in a part of its node's.
fs::path node_dir(const store::RunDir& run, const plan::CasePlan& plan, int round,
                  const std::string& host, int node, int part) {
  return layout::part_folder(run.node_dir(plan.name, round, host, node).string(), part);
}

// What it trained before its node left the round and came back.
void add_earlier_trials(const plan::CasePlan& plan, const fs::path& dir, RankEvidence& rank) {
  RankEvidence earlier;
  earlier.rank = rank.rank;
  read_log(plan, dir, earlier, kMinSteps);
  rank.earlier_missing = rank.earlier_missing || !earlier.log.found;
  rank.log.trials.insert(rank.log.trials.begin(), earlier.log.trials.begin(),
                         earlier.log.trials.end());
}

void add_rows(NodeEvidence& node, telemetry::Table part) {
  telemetry::Table& all = node.telemetry;
  if (!part.rows.empty())
    node.came_back.push_back({part.rows.front().mono_ns, part.rows.front().wall_ns});
  std::vector<std::uint32_t> known;
  for (const std::string& source : part.sources) {
    const auto at = std::ranges::find(all.sources, source);
    known.push_back(static_cast<std::uint32_t>(at - all.sources.begin()));
    if (at == all.sources.end()) all.sources.push_back(source);
  }
  for (telemetry::Row& row : part.rows) {
    row.source = known.at(row.source);
    all.rows.push_back(row);
  }
  all.malformed_rows += part.malformed_rows;
  if (all.impossible_values == 0) all.first_impossible = part.first_impossible;
  all.impossible_values += part.impossible_values;
}

// Everything about an experiment comes from its own journal.
void load_experiment(const store::RunDir& run, const plan::CasePlan& plan, RoundEvidence& evidence,
                     const std::function<void(const std::string&, const std::string&)>& problem) {
  const fs::path file = run.round_dir(plan.name, evidence.round) / layout::kExperimentJournal;
  try {
    std::size_t skipped = 0;
    const std::vector<Json> events = automl::ExperimentJournal::read(file, &skipped);
    evidence.automl_check = automl::check_journal(events, skipped, *plan.automl,
                                                  evidence.status == RoundStatus::completed);
    if (!events.empty())
      evidence.automl = Experiment{automl::record_of(events), automl::timeline_of(events)};
  } catch (const std::exception&) {
    problem(file.lexically_relative(run.path()).generic_string(), "cannot be read");
  }
}

}  // namespace

void load_files(const store::RunDir& run, const plan::CasePlan& plan, RoundEvidence& evidence,
                unsigned threads) {
  if (evidence.status == RoundStatus::not_run) return;
  std::mutex problems_lock;
  std::map<std::string, std::string> problems;  // sorted by place, independent of threads
  const auto problem = [&](const std::string& where, const std::string& what) {
    const std::scoped_lock lock(problems_lock);
    problems.emplace(where, what);
  };

  for (std::size_t n = 0; n < evidence.nodes.size(); ++n) {
    NodeEvidence& node = evidence.nodes[n];
    const fs::path dir = run.node_dir(plan.name, evidence.round, node.host, node.node);
    const std::string place = dir.lexically_relative(run.path()).generic_string();
    try {
      node.telemetry = telemetry::read_table(dir / layout::kTelemetry);
    } catch (const std::exception&) {
      problem(place + "/" + std::string(layout::kTelemetry), "cannot be read");
    }
    for (int part = 2; part <= node.parts; ++part) try {
        add_rows(node, telemetry::read_table(
                           node_dir(run, plan, evidence.round, node.host, node.node, part) /
                           layout::kTelemetry));
      } catch (const std::exception&) {
        problem(layout::part_folder(place, part) + "/" + std::string(layout::kTelemetry),
                "cannot be read");
      }
    add_unrecorded_ranks(plan, dir, node, evidence);
    for (const std::string& name : foreign_logs(dir, node.node, evidence.ranks))
      evidence.foreign_logs.push_back(place + "/" + printable(name));
  }

  if (plan.automl) load_experiment(run, plan, evidence, problem);

  const std::size_t step_limit =
      std::max(kMinSteps, kTotalSteps / std::max<std::size_t>(1, evidence.ranks.size()));
  const auto load_rank = [&](std::size_t i, const std::stop_token& /*stop*/) {
    RankEvidence& rank = evidence.ranks[i];
    const auto node = std::ranges::lower_bound(evidence.nodes, rank.node, {}, &NodeEvidence::node);
    if (rank.host.empty() && node != evidence.nodes.end() && node->node == rank.node)
      rank.host = node->host;
    const auto dir_of = [&](int part) {
      return node_dir(run, plan, evidence.round, rank.host, rank.node, part);
    };
    const fs::path dir = dir_of(rank.part);
    rank.log_path =
        (dir.lexically_relative(run.path()) / layout::rank_log(rank.rank)).generic_string();
    try {
      read_log(plan, dir, rank, step_limit);
      for (int part = rank.part - 1; part > 0; --part) add_earlier_trials(plan, dir_of(part), rank);
    } catch (const Error& error) {
      problem(rank.log_path,
              error.kind() == ErrorKind::config ? error.message() : "cannot be read");
    } catch (const std::exception&) {
      problem(rank.log_path, "cannot be read");
    }
  };
  run_parallel(evidence.ranks.size(), static_cast<int>(threads), {}, load_rank);
  for (const auto& [where, what] : problems) evidence.problems.push_back(where + ": " + what);
  align_clocks(evidence);
}

}  // namespace assay::judge
