#include "history/run_record.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/json_error.h"
#include "core/regular_file.h"
#include "core/run_layout.h"
#include "core/sha256.h"
#include "core/text.h"
#include "judge/case_identity.h"
#include "report/html_page.h"
#include "report/mllog.h"
#include "report/result_file.h"
#include "store/archived_run.h"
#include "store/run_dir.h"

namespace assay::history {

namespace {

namespace fs = std::filesystem;

// Clocks may be wrong: a time after the year 2200 is not one.
constexpr std::int64_t kLastMs = 7'258'118'400'000;

std::int64_t time_of(const std::string& iso) {
  const std::int64_t ms = report::parse_iso_ms(iso).value_or(0);
  return ms > 0 && ms < kLastMs ? ms : 0;
}

void read_times(const judge::RunResult& run, RunRecord& record) {
  Sha256 hash;
  for (const judge::CaseResult& result : run.cases)
    for (const judge::RoundResult& round : result.rounds) {
      hash.update(
          fmt::format("{}\n{}\n{}\n{}\n", result.name, round.round, round.started, round.ended));
      const std::int64_t started = time_of(round.started);
      if (started != 0 && (record.started_ms == 0 || started < record.started_ms))
        record.started_ms = started;
      record.ended_ms = std::max(record.ended_ms, time_of(round.ended));
    }
  record.rounds = hash.hex();
}

std::vector<std::string> hosts_of(const Json& system) {
  std::vector<std::string> out;
  for (const Json& node : list_at(system, "nodes")) {
    std::string host = text_at(node, "host", text_at(node, "hostname"));
    std::ranges::replace(host, '\n', ' ');
    if (!host.empty()) out.push_back(printable(host));
  }
  std::ranges::sort(out);
  return out;
}

void take_result(const judge::RunResult& run, RunRecord& record) {
  record.run_id = run.run_id;
  record.suite = run.suite;
  record.state = RunState::ended;
  record.validity = run.validity;
  record.hosts = hosts_of(run.system);
  record.version = report::html::version_of(run.provenance);
  record.environment = compare::run_leaves(run);
  read_times(run, record);
  for (const judge::CaseResult& result : run.cases)
    record.cases.push_back({judge::case_identity(result), result.validity, result.headline,
                            result.summary, compare::case_leaves(result)});
}

// A run without a result is identified by its plan.
void take_plan(const fs::path& folder, RunRecord& record) {
  const store::RunDir run = store::RunDir::open(folder);
  record.run_id = run.plan().run_id;
  record.suite = run.plan().suite;
  for (const plan::CasePlan& plan_case : run.plan().cases)
    record.cases.push_back(
        {judge::case_identity(plan_case), judge::Validity::incomplete, "", {}, {}});
}

void read_files(const fs::path& folder, RunRecord& record) {
  const fs::path result = folder / layout::kResult;
  std::error_code ec;
  const fs::file_status status = fs::symlink_status(result, ec);
  if (fs::is_regular_file(status)) {
    if (fs::file_size(result) > kMaxResultBytes)
      throw Error(ErrorKind::config, "the file is larger than 512 MiB", result.string());
    return take_result(report::read_result_summary(read_regular_file(result), result.string()),
                       record);
  }
  if (fs::exists(status))
    throw Error(ErrorKind::config, "this is not a plain file", result.string());
  record.state = store::RunLock::held(folder) ? RunState::running : RunState::no_result;
  take_plan(folder, record);
}

}  // namespace

RunRecord read_run(const fs::path& run) {
  RunRecord record;
  record.folder = run.filename().string();
  record.run_id = record.folder;
  const auto keep = [&](const std::string& problem) {
    if (!record.problem.empty()) record.problem += "; ";
    record.problem += problem;
  };
  try {
    read_files(run, record);
  } catch (const std::exception& error) {
    const bool running = record.state == RunState::running;
    RunRecord empty;
    empty.folder = empty.run_id = record.folder;
    record = std::move(empty);
    record.state = running ? RunState::running : RunState::unreadable;
    keep(plain_error(error));
  }
  try {
    record.labels = read_labels(run);
  } catch (const std::exception& error) {
    keep(plain_error(error));
  }
  if (store::is_archived(run)) {
    try {
      record.archived = store::read_archived(run).pack.string();
    } catch (const std::exception& error) {
      // Its evidence may be lost: the remains must not pass for a run.
      record.state = RunState::unreadable;
      keep(error.what());
    }
  }
  if (record.started_ms == 0) record.started_ms = time_of_run_id(record.run_id);
  return record;
}

std::string machine_name(const std::vector<std::string>& hosts) {
  if (hosts.empty()) return "unknown";
  if (hosts.size() <= 3) return join(hosts, ", ");
  return fmt::format("{} … {} ({} nodes)", hosts.front(), hosts.back(), hosts.size());
}

std::int64_t time_of_run_id(const std::string& run_id) {
  // run20261115T101500Z-3f2a
  if (!run_id.starts_with("run") || run_id.size() < 19 || run_id[11] != 'T' || run_id[18] != 'Z')
    return 0;
  const auto part = [&](std::size_t at, std::size_t size) { return run_id.substr(at, size); };
  return time_of(fmt::format("{}-{}-{}T{}:{}:{}Z", part(3, 4), part(7, 2), part(9, 2), part(12, 2),
                             part(14, 2), part(16, 2)));
}

}  // namespace assay::history
