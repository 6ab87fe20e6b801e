#include "launch/modelarts/cloud_job.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "cloud/service_error.h"
#include "cloud/sync.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json_access.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "core/units.h"
#include "http/retry.h"
#include "launch/modelarts/cloud_job_spec.h"
#include "launch/round_folder.h"

namespace assay::launch {

namespace fs = std::filesystem;

namespace {

constexpr Nanoseconds kMaxPause = std::chrono::seconds(15);
constexpr Nanoseconds kStopLimit = std::chrono::minutes(2);
constexpr int kLastLooks = 20;
constexpr std::uint64_t kPiece = 8 << 20;       // of a log, at once
constexpr std::uint64_t kMaxResult = 16 << 20;  // larger files are checkpoints, not results

std::string worker(int node) {
  return fmt::format("worker-{}", node);
}

}  // namespace

CloudJob::CloudJob(Context context, const plan::CasePlan& plan_case, int round)
    : context_(std::move(context)),
      case_(plan_case),
      round_(round),
      folder_(context_.run.round_dir(plan_case.name, round)),
      retry_(plan_case.limits.time, context_.options.poll, std::chrono::seconds(30), context_.asked,
             context_.waiting) {}

void CloudJob::journal(const std::string& event, Json fields) {
  Json all{{"case", case_.name}, {"round", round_}};
  all.update(fields);
  context_.journal.append(event, all);
}

fs::path CloudJob::log_file(int node) const {
  return context_.run.node_dir(case_.name, round_, worker(node), node) /
         fmt::format("rank{}.out.log", node * case_.procs);
}

RoundOutcome CloudJob::run() {
  Json start{{"job", ""}, {"nodes", Json::array()}};
  for (int node = 0; node < case_.nodes; ++node)
    start["nodes"].push_back({{"node", node}, {"host", worker(node)}});
  RoundOutcome outcome;
  try {
    prepare();
    start["job"] = state_.name;
    journal("round_start", start);
    if (state_.id.empty()) create();
    outcome = follow();
  } catch (const Interrupted&) {
    outcome = interrupted();
  } catch (const Error&) {
    if (!state_.id.empty() && !state_.over)
      context_.warning(named() + " (" + state_.id +
                       ") goes on in the cloud; follow it again with --resume");
    throw;
  }
  return outcome;
}

void CloudJob::prepare() {
  if (auto known = load_job_state(folder_); known && !known->over) {
    state_ = *known;
    state_.running = false;  // its ranks are journaled again, after this round_start
    context_.waiting("following " + named() + " again");
  } else {
    const int attempt = set_aside(context_.run, case_, round_);
    state_.name = job_name(context_.options, context_.run.plan(), case_, round_, attempt);
    for (int node = 0; node < case_.nodes; ++node) state_.mirrored[node] = 0;
    state_.sync_start_ns = wall_now_ns();
    save();
  }
  // What was written after the state was saved is fetched again.
  for (const auto& [node, bytes] : state_.mirrored) {
    make_directories(log_file(node).parent_path());
    std::ofstream(log_file(node), std::ios::app).close();
    std::error_code ec;
    const std::uint64_t size = fs::file_size(log_file(node), ec);
    if (!ec && size > bytes) fs::resize_file(log_file(node), bytes, ec);
    if (ec)
      throw system_error(ErrorKind::environment, "the log cannot be gone on with",
                         log_file(node).string(), ec.value());
  }
}

void CloudJob::create() {
  const auto stop = context_.asked;
  const cloud::TrainingJobSpec spec = job_spec(context_.run.plan(), case_, state_.name);
  // It may have been made by a process that died before it could note that.
  if (const auto found =
          retry_("looking for " + named(), [&] { return context_.cloud.jobs->find(spec, stop); })) {
    state_.id = found->id;
    return save();
  }
  const cloud::SyncReport report = retry_("uploading the code", [&] {
    return cloud::sync_folder(context_.cloud.bucket, context_.options.code,
                              context_.options.code_prefix(), stop);
  });
  journal("uploaded", {{"files", report.uploaded},
                       {"bytes", report.uploaded_bytes},
                       {"unchanged", report.unchanged},
                       {"removed", report.removed}});
  const cloud::TrainingJob made = retry_("creating " + named(), [&] {
    if (const auto found = context_.cloud.jobs->find(spec, stop)) return *found;
    return context_.cloud.jobs->create(spec, stop);
  });
  state_.id = made.id;
  state_.created_ns = wall_now_ns();
  save();
  journal("job_created", {{"job", state_.name}, {"id", state_.id}});
}

RoundOutcome CloudJob::follow() {
  Nanoseconds pause = context_.options.poll;
  cloud::JobPhase phase = cloud::JobPhase::unknown;
  for (;;) {
    const cloud::TrainingJob job = retry_("asking about " + named(), [&] {
      return context_.cloud.jobs->get(state_.id, context_.asked);
    });
    if (job.phase != phase) {
      phase = job.phase;
      pause = context_.options.poll;
      context_.waiting(named() + ": " + job.phase_text);
    }
    if (mirror(job)) pause = context_.options.poll;
    if (auto outcome = look(job)) return *outcome;
    retry_.pause(pause);
    pause = std::min(pause * 3 / 2, kMaxPause);
  }
}

std::optional<RoundOutcome> CloudJob::look(const cloud::TrainingJob& job) {
  const std::int64_t now = mono_now_ns();
  if (job.phase == cloud::JobPhase::waiting) {
    if (waiting_ns_ == 0) waiting_ns_ = now;
    running_ns_ = 0;
    return check_limits(job);
  }
  waiting_ns_ = 0;
  if (job.started_ms > 0 && !state_.running) {
    state_.running = true;
    for (int node = 0; node < case_.nodes; ++node)
      journal("rank_start", {{"node", node},
                             {"host", worker(node)},
                             {"rank", node * case_.procs},
                             {"local_rank", 0}});
    save();
  }
  if (cloud::has_ended(job.phase)) return conclude(job);
  if (running_ns_ == 0) running_ns_ = grown_ns_ = now;
  RoundProgress progress;
  progress.ranks = progress.started = case_.nodes;
  context_.progress(progress);
  return check_limits(job);
}

std::optional<RoundOutcome> CloudJob::check_limits(const cloud::TrainingJob& job) {
  const std::int64_t now = mono_now_ns();
  const auto over = [&](std::int64_t since, Nanoseconds limit) {
    return since != 0 && limit.count() > 0 && now - since > limit.count();
  };
  RoundOutcome outcome;
  if (over(waiting_ns_, context_.options.wait)) {
    outcome = {RoundStatus::launch_failed,
               fmt::format("{} did not start within {} ({})", named(),
                           format_duration(context_.options.wait), job.phase_text),
               "the pool is busy or too small: raise cluster.modelarts.wait, or choose another "
               "flavor or pool"};
  } else if (over(running_ns_, case_.limits.time)) {
    outcome = {RoundStatus::timed_out,
               fmt::format("{} ran longer than limits.time ({})", named(),
                           format_duration(case_.limits.time)),
               "raise limits.time, or look for the instance that hangs in the logs"};
  } else if (over(running_ns_, case_.limits.stall) && over(grown_ns_, case_.limits.stall)) {
    const auto least = std::ranges::min_element(state_.mirrored, {},
                                                [](const auto& entry) { return entry.second; });
    outcome = {RoundStatus::stalled,
               fmt::format("{} wrote nothing for {}; {} wrote least", named(),
                           format_duration(case_.limits.stall), worker(least->first)),
               "look at the ends of the logs; limits.stall is the bound"};
  } else {
    return std::nullopt;
  }
  stop_job(outcome.reason);
  journal_ends(job, outcome.status == RoundStatus::stalled ? EndedBy::stall : EndedBy::time_limit);
  state_.over = true;
  save();
  return outcome;
}

RoundOutcome CloudJob::conclude(const cloud::TrainingJob& job) {
  // What came between the last look and its end, and what the service still uploads.
  for (int look = 0; look < kLastLooks && mirror(job); ++look) retry_.pause(context_.options.poll);
  const std::string what = fmt::format("{} ({}) {}{}{}", named(), job.id, job.phase_text,
                                       job.message.empty() ? "" : ": ", printable(job.message));
  // Jobs that were taken away or stopped from outside do not count as results: they can be run
  // again.
  const bool taken = job.phase_text == "Abnormal" || job.phase_text == "JOBSTAT_LOST" ||
                     job.phase == cloud::JobPhase::stopped;
  journal_ends(job, taken ? EndedBy::lost : EndedBy::itself);
  state_.over = job.phase != cloud::JobPhase::completed;
  save();
  if (taken)
    return {RoundStatus::lost, what,
            job.phase == cloud::JobPhase::stopped
                ? "it was stopped from outside; go on with --resume, or set cluster.retries"
                : "it was taken away; go on with --resume, or set cluster.retries"};
  if (job.phase == cloud::JobPhase::failed)
    return {RoundStatus::failed, what,
            "the last lines of that instance's log usually name the cause"};
  fetch_results();
  journal_job(job);
  return {};
}

void CloudJob::journal_ends(const cloud::TrainingJob& job, EndedBy how) {
  if (!state_.running) return;
  // Read tolerantly: the old interface has a number for its status, and no tasks.
  const Json& tasks = list_at(object_at(job.raw, "status"), "task_statuses");
  for (int node = 0; node < case_.nodes; ++node) {
    std::int64_t code = 0;
    for (const auto& task : tasks)
      if (any_text_at(task, "task") == worker(node)) code = any_integer_at(task, "exit_code");
    Json end{{"node", node},
             {"host", worker(node)},
             {"rank", node * case_.procs},
             {"ended_by", to_text(how)}};
    if (how == EndedBy::itself && (code != 0 || job.phase == cloud::JobPhase::completed))
      end["code"] = code;
    else if (how == EndedBy::itself)
      end["ended_by"] = to_text(EndedBy::stop);
    journal("rank_exit", end);
  }
}

bool CloudJob::mirror(const cloud::TrainingJob& job) {
  const std::string start = context_.options.round_prefix(context_.run.plan().run_id, state_.name) +
                            "log/" + context_.cloud.jobs->log_name(job);
  const auto logs = retry_("reading the logs of " + named(),
                           [&] { return context_.cloud.bucket.list(start, context_.asked); });
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
      return context_.cloud.bucket.get(key, have, std::min(kPiece, size - have), context_.asked);
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
  const auto stop = context_.asked;
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
           context_.cloud.jobs->metrics(state_.id, worker(node), context_.asked)) {
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

RoundOutcome CloudJob::interrupted() {
  if (state_.id.empty() && !find_unseen())
    return {RoundStatus::interrupted, "before " + named() + " was created", "go on with --resume"};
  if (!context_.options.stop_on_interrupt) {
    const std::string text = named() + " (" + state_.id + ") goes on in the cloud";
    context_.warning(text + "; follow it again with --resume");
    return {RoundStatus::interrupted, text, "go on with --resume"};
  }
  stop_job("the user asked to end");
  state_.over = true;
  save();
  return {RoundStatus::interrupted, named() + " was stopped", "go on with --resume"};
}

// The request that makes the job may have been sent when the user asked to end.
bool CloudJob::find_unseen() {
  try {
    const auto found = context_.cloud.jobs->find(job_spec(context_.run.plan(), case_, state_.name),
                                                 context_.at_once);
    if (!found) return false;
    state_.id = found->id;
    save();
    return true;
  } catch (const Error& e) {
    context_.warning("whether " + named() + " was created is not known: " + e.what() +
                     "; --resume looks for it");
    return false;
  }
}

void CloudJob::stop_job(const std::string& why) {
  const auto stop = context_.at_once;
  try {
    context_.cloud.jobs->stop(state_.id, stop);
    journal("job_stopped", {{"job", state_.name}, {"id", state_.id}, {"reason", why}});
    const std::int64_t until = mono_now_ns() + kStopLimit.count();
    while (!cloud::has_ended(context_.cloud.jobs->get(state_.id, stop).phase)) {
      if (mono_now_ns() > until || stop.stop_requested())
        throw Error(ErrorKind::environment, "it does not end", context_.options.endpoint);
      (void)http::pause_unless_stopped(context_.options.poll, stop);
    }
  } catch (const Error& e) {
    context_.warning(fmt::format("{} ({}) may still run: {}; stop it in the console", named(),
                                 state_.id, e.what()));
  }
}

}  // namespace assay::launch
