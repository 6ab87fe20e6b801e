#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "launch/cloud/cloud_job.h"
#include "launch/cloud/result_files.h"
#include "store/journal_event.h"

namespace assay::launch {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kPiece = 8 << 20;  // of a log, at once

}  // namespace

bool CloudJob::mirror(const ServiceJob& job) {
  ServiceJob seen = job;
  if (seen.log_name.empty()) seen.log_name = state_.logs;
  if (seen.log_name != state_.logs) {
    state_.logs = seen.log_name;
    save();
  }
  const RoundJob round = this->job();
  log_sizes_ = retry_("reading the logs of " + named(),
                      [&] { return context_.cloud.jobs->log_sizes(round, seen, working()); });
  bool grown = false;
  for (auto& [node, have] : state_.mirrored) {
    const auto size = log_sizes_.find(node);
    if (size == log_sizes_.end() || size->second == have) continue;
    if (size->second < have) {  // an instance that was started again has a new log
      journal(store::JournalEvent::gap,
              {{"node", node},
               {"source", "logs"},
               {"seconds", 0},
               {"reason", "the log of " + worker_name(node) + " began again"}});
      state_.earlier[node] += have;
      have = 0;
      save();  // else the next process would go on in the middle of the new one
    }
    const std::uint64_t before = have;
    append_log(seen, node, size->second);
    grown = grown || have > before;
  }
  if (grown) {
    grown_ns_ = mono_now_ns();
    save();
  }
  return grown;
}

std::vector<std::string> CloudJob::silent_instances() const {
  std::vector<std::string> out;
  // Of some services a job may have no logs at all, but not of a part of its instances.
  if (log_sizes_.empty() && !context_.cloud.jobs->tells_every_log()) return out;
  for (int node = 0; node < case_.nodes; ++node)
    if (!log_sizes_.contains(node)) out.push_back(worker_name(node));
  return out;
}

bool CloudJob::has_all_logs() const {
  return silent_instances().empty() && std::ranges::all_of(state_.mirrored, [&](const auto& entry) {
           const auto size = log_sizes_.find(entry.first);
           return size == log_sizes_.end() || entry.second >= size->second;
         });
}

void CloudJob::append_log(const ServiceJob& job, int node, std::uint64_t size) {
  std::uint64_t& have = state_.mirrored[node];
  const RoundJob round = this->job();
  std::ofstream file(log_file(node), std::ios::binary | std::ios::app);
  while (have < size) {
    const std::string piece = retry_("reading the logs of " + named(), [&] {
      return context_.cloud.jobs->read_log(round, job, node, have, std::min(kPiece, size - have),
                                           working());
    });
    if (piece.empty()) break;
    file << piece << std::flush;
    if (!file)
      throw Error(ErrorKind::environment, "the log cannot be written", log_file(node).string(),
                  "free space there, then go on with --resume: the job goes on");
    have += piece.size();
  }
}

std::optional<RoundOutcome> CloudJob::fetch_results() {
  const std::string prefix =
      context_.options.round_prefix(context_.run.plan().run_id, state_.name) + "out/";
  const auto stop = working();
  const auto objects = retry_("listing the results of " + named(),
                              [&] { return context_.cloud.bucket.list(prefix, stop); });
  const ResultFiles results = result_files(objects, prefix);
  for (const auto& [object, below] : results.files) {
    const std::string content = object.size == 0 ? "" : retry_("fetching " + object.key, [&] {
      return context_.cloud.bucket.get(object.key, 0, 0, stop);
    });
    const fs::path file = folder_ / layout::kJobResults / below;
    make_directories(file.parent_path());
    write_file_atomic(file, content, /*sync=*/false);
  }
  journal(store::JournalEvent::fetched, {{"files", results.files.size()}, {"of", objects.size()}});
  if (results.impossible.empty()) return std::nullopt;
  return RoundOutcome{
      RoundStatus::unrecorded,
      fmt::format("not all results of {} can be kept: {}", named(), join(results.impossible, "; ")),
      "let the job give its results names that files of one folder can have"};
}

// What the judge cannot ask the service for any more.
void CloudJob::journal_job(const ServiceJob& job) {
  Json fields{{"job", state_.name},
              {"id", state_.id},
              {"upload_start_ns", state_.sync_start_ns},
              {"created_ns", state_.created_ns},
              {"service_created_ms", job.created_ms},
              {"started_ms", job.started_ms},
              {"duration_ms", job.duration_ms}};
  if (const auto util = device_utilization()) fields["device_util_percent"] = *util;
  journal(store::JournalEvent::job_ended, fields);
}

std::optional<double> CloudJob::device_utilization() {
  try {
    return context_.cloud.jobs->device_utilization(state_.id, case_.nodes, working());
  } catch (const Error& e) {
    context_.warning("the service gave no utilization: " + e.message());
    return std::nullopt;
  }
}

}  // namespace assay::launch
