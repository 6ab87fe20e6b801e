#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/run_layout.h"
#include "launch/cloud/cloud_job.h"

namespace assay::launch {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kPiece = 8 << 20;       // of a log, at once
constexpr std::uint64_t kMaxResult = 16 << 20;  // larger files are checkpoints, not results

}  // namespace

bool CloudJob::mirror(const cloud::TrainingJob& job) {
  if (state_.logs.empty()) {
    state_.logs = context_.cloud.jobs->log_name(job);
    if (state_.logs.empty()) return false;
    save();
  }
  const std::string start =
      context_.options.round_prefix(context_.run.plan().run_id, state_.name) + "log/" + state_.logs;
  const auto logs = retry_("reading the logs of " + named(),
                           [&] { return context_.cloud.bucket.list(start, working()); });
  bool grown = false;
  for (auto& [node, have] : state_.mirrored) {
    const std::string key = fmt::format("{}{}.log", start, node);
    const auto log = std::ranges::find(logs, key, &cloud::ObjectInfo::key);
    if (log == logs.end() || log->size == have) continue;
    if (log->size < have) {  // an instance that was started again has a new log
      journal("gap", {{"node", node},
                      {"source", "logs"},
                      {"seconds", 0},
                      {"reason", "the log of " + worker(node) + " began again"}});
      have = 0;
    }
    append_log(node, key, log->size);
    grown = true;
  }
  if (grown) {
    grown_ns_ = mono_now_ns();
    save();
  }
  return grown;
}

void CloudJob::append_log(int node, const std::string& key, std::uint64_t size) {
  std::uint64_t& have = state_.mirrored[node];
  std::ofstream file(log_file(node), std::ios::binary | std::ios::app);
  while (have < size) {
    const std::string piece = retry_("reading the logs of " + named(), [&] {
      return context_.cloud.bucket.get(key, have, std::min(kPiece, size - have), working());
    });
    if (piece.empty()) break;
    file << piece << std::flush;
    if (!file)
      throw Error(ErrorKind::environment, "the log cannot be written", log_file(node).string(),
                  "free space there, then go on with --resume: the job goes on");
    have += piece.size();
  }
}

void CloudJob::fetch_results() {
  const std::string prefix =
      context_.options.round_prefix(context_.run.plan().run_id, state_.name) + "out/";
  const auto stop = working();
  const auto objects = retry_("listing the results of " + named(),
                              [&] { return context_.cloud.bucket.list(prefix, stop); });
  std::uint64_t fetched = 0;
  for (const auto& object : objects) {
    const fs::path below = fs::path(object.key.substr(prefix.size())).lexically_normal();
    const bool wanted = below.extension() == ".json" && object.size <= kMaxResult &&
                        below.is_relative() && !below.string().starts_with("..");
    if (!wanted) continue;
    const std::string content = object.size == 0 ? "" : retry_("fetching " + object.key, [&] {
      return context_.cloud.bucket.get(object.key, 0, 0, stop);
    });
    const fs::path file = folder_ / layout::kJobResults / below;
    make_directories(file.parent_path());
    write_file_atomic(file, content, /*sync=*/false);
    ++fetched;
  }
  journal("fetched", {{"files", fetched}, {"of", objects.size()}});
}

// What the judge cannot ask the service for any more.
void CloudJob::journal_job(const cloud::TrainingJob& job) {
  Json fields{{"job", state_.name},
              {"id", state_.id},
              {"upload_start_ns", state_.sync_start_ns},
              {"created_ns", state_.created_ns},
              {"service_created_ms", job.created_ms},
              {"started_ms", job.started_ms},
              {"duration_ms", job.duration_ms}};
  if (context_.options.ais_results())
    if (const auto util = device_utilization()) fields["device_util_percent"] = *util;
  journal("job_ended", fields);
}

std::optional<double> CloudJob::device_utilization() {
  double sum = 0;
  std::size_t count = 0;
  try {
    for (int node = 0; node < case_.nodes; ++node)
      for (const cloud::TaskMetric& metric :
           context_.cloud.jobs->metrics(state_.id, worker(node), working())) {
        if (metric.name != "npuUtil" && metric.name != "gpuUtil") continue;
        for (const double value : metric.values) {
          if (!std::isfinite(value)) continue;
          sum += value;
          ++count;
        }
      }
  } catch (const Error& e) {
    context_.warning("the service gave no utilization: " + e.message());
    return std::nullopt;
  }
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}

}  // namespace assay::launch
