#include "launch/cloud/cloud_job.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "cloud/service_error.h"
#include "cloud/sync.h"
#include "core/error.h"
#include "core/files.h"
#include "core/run_layout.h"
#include "core/secrets.h"
#include "core/text.h"
#include "core/units.h"
#include "http/retry.h"
#include "launch/round_folder.h"
#include "store/journal_records.h"

namespace assay::launch {

namespace fs = std::filesystem;

namespace {

constexpr Nanoseconds kMaxPause = std::chrono::seconds(15);
constexpr Nanoseconds kStopLimit = std::chrono::minutes(2);
constexpr Nanoseconds kLookLimit = std::chrono::seconds(30);
constexpr Nanoseconds kSilenceLimit = std::chrono::seconds(10);  // after limits.time
constexpr Nanoseconds kFetchLimit = std::chrono::minutes(30);
constexpr int kLastLooks = 20;
// What the clocks of the machine that asked for a job and of the one that goes on with it may
// differ by.
constexpr Nanoseconds kOtherClock = std::chrono::minutes(1);

}  // namespace

CloudJob::CloudJob(Context context, const plan::CasePlan& plan_case, int round)
    : context_(std::move(context)),
      case_(plan_case),
      round_(round),
      folder_(context_.run.round_dir(plan_case.name, round)),
      retry_(plan_case.limits.time, context_.options.poll, std::chrono::seconds(30), context_.asked,
             context_.waiting) {}

void CloudJob::journal(store::JournalEvent event, const Json& fields) {
  Json all = fields_to_json(store::RoundName{case_.name, round_});
  all.update(fields);
  context_.journal.append(event, all);
}

void CloudJob::journal_of_node(store::JournalEvent event, int node, const Json& fields) {
  Json all = fields_to_json(store::NodeName{node, worker_name(node)});
  all.update(fields);
  journal(event, all);
}

fs::path CloudJob::log_file(int node) const {
  return context_.run.node_dir(case_.name, round_, worker_name(node), node) /
         fmt::format("rank{}.out.log", node * case_.procs);
}

RoundOutcome CloudJob::run() {
  store::RoundStart start;
  for (int node = 0; node < case_.nodes; ++node) start.nodes.push_back({node, worker_name(node)});
  RoundOutcome outcome;
  try {
    prepare();
    if (!state_.id.empty() && is_gone()) make_anew();
    start.job = state_.name;
    journal(store::JournalEvent::round_start, fields_to_json(start));
    if (state_.id.empty()) create();
    journal_executed();
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

std::function<void(std::uint64_t, std::uint64_t)> CloudJob::said(const std::string& what) {
  return [this, what, last = std::int64_t{0}](std::uint64_t done, std::uint64_t total) mutable {
    const std::int64_t now = mono_now_ns();
    if (now - last < 1'000'000'000) return;
    last = now;
    context_.waiting(fmt::format("{}: {} of {}", what, format_bytes(static_cast<double>(done)),
                                 format_bytes(static_cast<double>(total))));
  };
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
    const std::uint64_t kept = state_.earlier[node] + bytes;
    if (!ec && size > kept) fs::resize_file(log_file(node), kept, ec);
    if (ec)
      throw system_error(ErrorKind::environment, "the log cannot be gone on with",
                         log_file(node).string(), ec.value());
  }
}

bool CloudJob::is_gone() {
  if (case_.limits.time.count() > 0) bound(case_.limits.time, "limits.time");
  const bool gone = !ask();
  retry_.end_at(0);
  bound_.reset();
  return gone;
}

void CloudJob::make_anew() {
  context_.warning(
      fmt::format("{} ({}) does not exist any more; a new one is made", named(), state_.id));
  state_.over = true;
  save();
  state_ = {};
  prepare();
}

void CloudJob::create() {
  StartClock clock(context_.options.start, key("start"));
  // It may have been made by a process that died before it could note that.
  if (const auto found = ask_before(
          "looking for " + named(), clock,
          [&](const std::stop_token& stop) { return context_.cloud.jobs->find(job(), stop); })) {
    state_.id = found->id;
    return save();
  }
  state_.code = upload_code(clock);
  save();
  asked_for_ns_ = boot_now_ns();
  const ServiceJob made =
      own(ask_before("creating " + named(), clock, [&](const std::stop_token& stop) {
        if (const auto found = context_.cloud.jobs->find(job(), stop)) return *found;
        return context_.cloud.jobs->create(job(), stop);
      }));
  state_.id = made.id;
  state_.created_ns = wall_now_ns();
  save();
  journal(store::JournalEvent::job_created, {{"job", state_.name}, {"id", state_.id}});
}

RoundJob CloudJob::job() const {
  return round_job(context_.options, context_.run.plan(), case_, state_.name, state_.code);
}

std::string CloudJob::key(const std::string& name) const {
  return fmt::format("cluster.{}.{}", context_.run.plan().cluster.launcher(), name);
}

cloud::FolderFiles CloudJob::code_files() const {
  return context_.cloud.jobs->code_files(context_.options.code, case_, folder_);
}

std::string CloudJob::upload_code(StartClock& clock) {
  const fs::path& folder = context_.options.code;
  const cloud::FolderFiles files = code_files();
  clock.add(files);
  std::string hash = cloud::hash_of(files);
  const std::string what = "uploading the code";
  const cloud::SyncReport report = retry_before(what, clock, [&](const std::stop_token& stop) {
    return cloud::sync_files(context_.cloud.bucket, files, context_.options.code_prefix(hash),
                             {.stop = stop, .progress = said(what)});
  });
  // Under a hash there is only what has it: a folder that changed meanwhile is another one.
  if (cloud::hash_of(code_files()) != hash)
    throw Error(ErrorKind::environment, "the code was changed while it was uploaded",
                folder.string(), "leave it as it is until the job is created, then --resume");
  journal(store::JournalEvent::uploaded, {{"files", report.uploaded},
                                          {"bytes", report.uploaded_bytes},
                                          {"unchanged", report.unchanged},
                                          {"removed", report.removed},
                                          {"sha256", hash}});
  return hash;
}

void CloudJob::journal_executed() {
  const Executed executed = context_.cloud.jobs->executed(job());
  Json given = Json::object();
  for (const auto& [name, value] : executed.environment) given[name] = without_secret(name, value);
  Json what{{"node", 0},
            {"host", worker_name(0)},
            {"command", case_.command},
            {"image", executed.image},
            {"given", std::move(given)}};
  // The job has nothing else: its code is its program.
  if (!state_.code.empty()) what["program"] = {{"path", executed.program}, {"sha256", state_.code}};
  journal(store::JournalEvent::executed, what);
}

double CloudJob::within_s() const {
  const Nanoseconds since =
      asked_for_ns_ != 0
          ? Nanoseconds(boot_now_ns() - asked_for_ns_)
          : std::max(Nanoseconds(wall_now_ns() - state_.sync_start_ns), Nanoseconds{}) +
                kOtherClock;
  return seconds(since);
}

double CloudJob::late_s() const {
  const std::int64_t since = looked_ns_ != 0          ? mono_now_ns() - looked_ns_
                             : state_.created_ns != 0 ? wall_now_ns() - state_.created_ns
                                                      : 0;
  return std::max(0.0, static_cast<double>(since) / 1e9);
}

void CloudJob::bound(Nanoseconds limit, const std::string& name) {
  const Nanoseconds end = limit + kSilenceLimit;
  bound_.emplace(context_.asked, end);
  bounded_by_ = fmt::format("{} ({})", name, format_duration(limit));
  retry_.end_at(mono_now_ns() + end.count());
}

std::optional<ServiceJob> CloudJob::ask() {
  try {
    return own(retry_("asking about " + named(),
                      [&] { return context_.cloud.jobs->get(state_.id, working()); }));
  } catch (const cloud::ServiceError& e) {
    // Services say in many ways that there is no such job, the old interface of ModelArts with a
    // 200: only the list of jobs is clear.
    if (e.status() != 200 && e.status() != 400 && e.status() != 404) throw;
    const auto listed = retry_("looking for " + named(),
                               [&] { return context_.cloud.jobs->find(job(), working()); });
    if (listed) throw;
    return std::nullopt;
  }
}

ServiceJob CloudJob::own(ServiceJob told) const {
  if (!told.key.empty() && told.key != state_.name)
    throw Error(ErrorKind::environment,
                fmt::format("the service was asked about {}, and answers with a job of the key "
                            "'{}'",
                            named(), printable(told.key)),
                context_.options.endpoint,
                "the service is wrong: a job keeps the key that it was asked for with");
  return told;
}

RoundOutcome CloudJob::follow() {
  Nanoseconds pause = context_.options.poll;
  cloud::JobPhase phase = cloud::JobPhase::unknown;
  bound(context_.options.wait, key("wait"));
  try {
    for (;;) {
      const std::int64_t asked_ns = mono_now_ns();
      const auto job = ask();
      if (!job) return deleted();
      seen_ = *job;
      if (job->phase != phase) {
        phase = job->phase;
        pause = context_.options.poll;
        context_.waiting(named() + ": " + job->phase_text);
      }
      if (mirror(*job)) pause = context_.options.poll;
      if (cloud::has_ended(job->phase)) break;
      if (auto outcome = look(*job)) return *outcome;
      looked_ns_ = asked_ns;
      retry_.pause(pause);
      pause = std::min(pause * 3 / 2, kMaxPause);
    }
  } catch (const OutOfTime& silence) {
    return given_up(silence);
  }
  // Fetching has its own time: the job used its.
  if (case_.limits.time > kFetchLimit)
    bound(case_.limits.time, "limits.time");
  else
    bound(kFetchLimit, "the time to fetch results");
  return *look(seen_);
}

RoundOutcome CloudJob::deleted() {
  journal_ends(seen_, EndedBy::lost);
  state_.over = true;
  save();
  return {RoundStatus::lost, fmt::format("{} ({}) does not exist any more", named(), state_.id),
          "it was deleted from outside; --resume makes a new one, and so does cluster.retries"};
}

RoundOutcome CloudJob::given_up(const OutOfTime& silence) {
  RoundOutcome outcome{RoundStatus::timed_out,
                       fmt::format("{} had more time than {}, and {} does not tell what became of "
                                   "it: {}",
                                   named(), bounded_by_, silence.where(), silence.message()),
                       "look for the job in the console"};
  stop_job(outcome.reason);
  journal_ends(seen_, EndedBy::time_limit);
  state_.over = true;
  save();
  return outcome;
}

std::optional<RoundOutcome> CloudJob::look(const ServiceJob& job) {
  const std::int64_t now = mono_now_ns();
  if (job.phase == cloud::JobPhase::waiting) {
    if (waiting_ns_ == 0) {  // also when it was taken away and waits again
      waiting_ns_ = now;
      bound(context_.options.wait, key("wait"));
    }
    running_ns_ = 0;
    return check_limits(job);
  }
  waiting_ns_ = 0;
  if (job.started_ms > 0 && !state_.running) {
    state_.running = true;
    for (int node = 0; node < case_.nodes; ++node)
      journal_of_node(
          store::JournalEvent::rank_start, node,
          fields_to_json(store::RankStart{
              .rank = node * case_.procs, .late_s = late_s(), .service_ms = job.started_ms}));
    save();
  }
  if (cloud::has_ended(job.phase)) return conclude(job);
  if (running_ns_ == 0) {
    running_ns_ = grown_ns_ = now;
    // Normally check_limits() ends it; this is for a service that does not answer then.
    if (case_.limits.time.count() > 0) bound(case_.limits.time, "limits.time");
  }
  RoundProgress progress;
  progress.ranks = progress.started = case_.nodes;
  context_.progress(progress);
  return check_limits(job);
}

std::optional<RoundOutcome> CloudJob::check_limits(const ServiceJob& job) {
  const std::int64_t now = mono_now_ns();
  const auto over = [&](std::int64_t since, Nanoseconds limit) {
    return since != 0 && limit.count() > 0 && now - since > limit.count();
  };
  RoundOutcome outcome;
  if (over(waiting_ns_, context_.options.wait)) {
    outcome = {RoundStatus::launch_failed,
               fmt::format("{} did not start within {} ({})", named(),
                           format_duration(context_.options.wait), job.phase_text),
               "the service is busy or too small: raise " + key("wait") +
                   ", or ask for less, or elsewhere"};
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
                           format_duration(case_.limits.stall), worker_name(least->first)),
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

RoundOutcome CloudJob::conclude(const ServiceJob& job) {
  // What came between the last look and its end, and what the service still uploads.
  for (int look = 0; look < kLastLooks && (mirror(job) || !has_all_logs()); ++look)
    retry_.pause(context_.options.poll);
  const std::string what = fmt::format("{} ({}) {}{}{}", named(), job.id, job.phase_text,
                                       job.message.empty() ? "" : ": ", printable(job.message));
  // Jobs that were taken away or stopped from outside do not count as results: they can be run
  // again.
  const bool taken = job.taken || job.phase == cloud::JobPhase::stopped;
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
  auto wrong = fetch_results();
  journal_job(job);
  if (const auto silent = silent_instances(); !wrong && !silent.empty())
    wrong = RoundOutcome{
        RoundStatus::unrecorded,
        fmt::format("the service says nothing of a log of {} of {}", join(silent, ", "), named()),
        "what these instances did is not known; run the round again (--resume --failed)"};
  if (!wrong) return {};
  state_.over = true;  // its results stay as they are
  save();
  return *wrong;
}

void CloudJob::journal_ends(const ServiceJob& job, EndedBy how) {
  if (!state_.running) return;
  for (int node = 0; node < case_.nodes; ++node) {
    const auto told = job.exit_codes.find(node);
    const std::int64_t code = told == job.exit_codes.end() ? 0 : told->second;
    store::RankExit end{.rank = node * case_.procs, .ended_by = how, .late_s = late_s()};
    end.within_s = within_s();
    // Logs are final when the job is: what the service has not handed out is missing.
    if (const auto size = log_sizes_.find(node);
        size != log_sizes_.end() && cloud::has_ended(job.phase))
      end.log_bytes = state_.earlier[node] + size->second;
    if (cloud::has_ended(job.phase) && job.started_ms > 0 && job.duration_ms > 0)
      end.service_ms = job.started_ms + job.duration_ms;
    if (how == EndedBy::itself && (code != 0 || job.phase == cloud::JobPhase::completed))
      end.code = static_cast<int>(std::clamp<std::int64_t>(code, INT_MIN, INT_MAX));
    else if (how == EndedBy::itself)
      end.ended_by = EndedBy::stop;
    journal_of_node(store::JournalEvent::rank_exit, node, fields_to_json(end));
  }
}

RoundOutcome CloudJob::interrupted() {
  if (state_.id.empty() && !find_unseen())
    return {RoundStatus::interrupted, "before " + named() + " was created", "go on with --resume"};
  if (cloud::has_ended(seen_.phase))
    return {RoundStatus::interrupted,
            fmt::format("{} ({}) {}; its results were not fetched", named(), state_.id,
                        seen_.phase_text),
            "--resume fetches them"};
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
    const TimedStop bound(context_.at_once, kLookLimit);
    const auto found = context_.cloud.jobs->find(job(), bound.token());
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
  const TimedStop bound(context_.at_once, kStopLimit);
  const std::stop_token stop = bound.token();
  try {
    context_.cloud.jobs->stop(state_.id, stop);
    journal(store::JournalEvent::job_stopped,
            {{"job", state_.name}, {"id", state_.id}, {"reason", why}});
    while (!cloud::has_ended(context_.cloud.jobs->get(state_.id, stop).phase)) {
      if (stop.stop_requested())
        throw Error(ErrorKind::environment, "it does not end", context_.options.endpoint);
      (void)http::pause_unless_stopped(context_.options.poll, stop);
    }
  } catch (const Error& e) {
    context_.warning(fmt::format("{} ({}) may still run: {}; stop it in the console", named(),
                                 state_.id, e.what()));
  }
}

}  // namespace assay::launch
