#include "launch/cloud/job_machine.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cloud/service_error.h"
#include "core/text.h"
#include "core/units.h"
#include "store/journal_records.h"

namespace assay::launch {

namespace {

constexpr Nanoseconds kMaxPause = std::chrono::seconds(15);
constexpr Nanoseconds kStopLimit = std::chrono::minutes(2);
constexpr Nanoseconds kLookLimit = std::chrono::seconds(30);
constexpr Nanoseconds kSilenceLimit = std::chrono::seconds(10);  // after limits.time
constexpr Nanoseconds kFetchLimit = std::chrono::minutes(30);
constexpr int kLastLooks = 20;
// Of what a service says of a job.
constexpr std::size_t kMaxPhase = 100;
constexpr std::size_t kMaxMessage = 2000;

}  // namespace

JobMachine::JobMachine(Setup setup) : setup_(std::move(setup)) {}

JobMachine::Actions JobMachine::then(Do next) {
  todo_.next = next_ = next;
  todo_.end_ns = end_ns_;
  todo_.insists = phase_ == Phase::stopping || phase_ == Phase::leaving;
  return std::exchange(todo_, {});
}

JobMachine::Actions JobMachine::pause(Nanoseconds duration) {
  todo_.pause = duration;
  return then(Do::pause);
}

JobMachine::Actions JobMachine::end(const RoundOutcome& outcome) {
  todo_.outcome = outcome;
  return then(Do::end);
}

JobMachine::Actions JobMachine::raise(const Error& error) {
  todo_.error = error;
  return then(Do::end);
}

void JobMachine::give_up() {
  state_.over = todo_.save = true;
}

void JobMachine::journal(store::JournalEvent event, Json fields, int node) {
  todo_.journal.push_back({event, node, std::move(fields)});
}

void JobMachine::bound(Now now, Nanoseconds limit, const std::string& name) {
  end_ns_ = now.mono_ns + (limit + kSilenceLimit).count();
  bounded_by_ = fmt::format("{} ({})", name, format_duration(limit));
}

JobMachine::Actions JobMachine::prepared(Now now, JobState state, bool again) {
  state_ = std::move(state);
  state_.running = false;  // its ranks are journaled again, after the next round_start
  todo_.save = !again;
  if (again) todo_.waiting = "following " + named() + " again";
  if (state_.id.empty()) return begin_round(now);
  bound(now, setup_.limits.time, "limits.time");
  return then(Do::ask);
}

JobMachine::Actions JobMachine::begin_round(Now now) {
  store::RoundStart start;
  for (int node = 0; node < setup_.nodes; ++node) start.nodes.push_back({node, worker_name(node)});
  start.job = state_.name;
  journal(store::JournalEvent::round_start, fields_to_json(start));
  if (!state_.id.empty()) return follow(now);
  phase_ = Phase::starting;
  start_.emplace(now.mono_ns, setup_.service.start, key("start"));
  return question(now, Do::find);
}

JobMachine::Actions JobMachine::question(Now now, Do next) {
  clock_.emplace(now.mono_ns, setup_.limits.time, "limits.time");
  if (start_->end_ns() <= clock_->end_ns()) clock_ = start_;
  end_ns_ = clock_->end_ns();
  return then(next);
}

// A job that nobody has asked for yet may have been made by a process that died before it could
// note that. One that cannot be asked about may be gone.
JobMachine::Actions JobMachine::found(Now now, const std::optional<ServiceJob>& job) {
  if (phase_ == Phase::starting && !job) return then(Do::list_code);
  if (phase_ == Phase::leaving && !job) return never_created();
  if (phase_ == Phase::starting || phase_ == Phase::leaving) {
    state_.id = job->id;
    todo_.save = true;
    return phase_ == Phase::starting ? follow(now) : leave(now);
  }
  if (job) return raise(*refused_);
  give_up();
  if (phase_ == Phase::preparing) {  // nobody has to ask twice for a new one
    todo_.warning =
        fmt::format("{} ({}) does not exist any more; a new one is made", named(), state_.id);
    return then(Do::prepare);
  }
  journal_ends(now, EndedBy::lost);
  return end({RoundStatus::lost, fmt::format("{} ({}) does not exist any more", named(), state_.id),
              "it was deleted from outside; --resume makes a new one, and so does "
              "cluster.retries"});
}

JobMachine::Actions JobMachine::listed(const std::string& hash, std::size_t files,
                                       std::uint64_t bytes) {
  hash_ = hash;
  start_->add(files, bytes);
  clock_ = start_;
  end_ns_ = clock_->end_ns();
  return then(Do::upload);
}

JobMachine::Actions JobMachine::uploaded(Now now, const std::string& hash,
                                         const cloud::SyncReport& report) {
  // Under a hash there is only what has it: a folder that changed meanwhile is another one.
  if (hash != hash_)
    return raise(Error(ErrorKind::environment, "the code was changed while it was uploaded",
                       setup_.service.code.string(),
                       "leave it as it is until the job is created, then --resume"));
  state_.code = hash;
  asked_for_ns_ = now.boot_ns;
  todo_.save = true;
  journal(store::JournalEvent::uploaded, {{"files", report.uploaded},
                                          {"bytes", report.uploaded_bytes},
                                          {"unchanged", report.unchanged},
                                          {"removed", report.removed},
                                          {"sha256", hash}});
  return question(now, Do::create);
}

JobMachine::Actions JobMachine::created(Now now, const ServiceJob& job) {
  if (const auto wrong = of_another(job)) return raise(*wrong);
  state_.id = job.id;
  state_.created_ns = now.wall_ns;
  todo_.save = true;
  journal(store::JournalEvent::job_created, {{"job", state_.name}, {"id", state_.id}});
  return follow(now);
}

std::optional<Error> JobMachine::of_another(const ServiceJob& job) const {
  if (job.key.empty() || job.key == state_.name) return std::nullopt;
  return Error(ErrorKind::environment,
               fmt::format("the service was asked about {}, and answers with a job of the key "
                           "'{}'",
                           named(), printable(job.key)),
               setup_.service.endpoint,
               "the service is wrong: a job keeps the key that it was asked for with");
}

JobMachine::Actions JobMachine::follow(Now now) {
  phase_ = Phase::following;
  pause_ = setup_.service.poll;
  bound(now, setup_.service.wait, key("wait"));
  todo_.executed = true;
  return ask(now);
}

JobMachine::Actions JobMachine::ask(Now now) {
  asked_ns_ = now.mono_ns;
  return then(Do::ask);
}

JobMachine::Actions JobMachine::told(Now now, const ServiceJob& job) {
  if (phase_ == Phase::stopping) {
    if (cloud::has_ended(job.phase)) return end_stopped(now);
    if (now.mono_ns < end_ns_) return pause(setup_.service.poll);
    return failed(now, Error(ErrorKind::environment, "it does not end", setup_.service.endpoint));
  }
  if (const auto wrong = of_another(job)) return raise(*wrong);
  if (phase_ == Phase::preparing) return begin_round(now);
  const bool changed = job.phase != seen_.phase;
  seen_ = job;
  seen_.phase_text = printable(ellipsize(job.phase_text, kMaxPhase));
  seen_.message = printable(ellipsize(job.message, kMaxMessage));
  if (changed) {
    pause_ = setup_.service.poll;
    todo_.waiting = named() + ": " + seen_.phase_text;
  }
  if (seen_.log_name.empty()) seen_.log_name = state_.logs;
  todo_.save = seen_.log_name != state_.logs;
  state_.logs = seen_.log_name;
  return then(Do::size_logs);
}

JobMachine::Actions JobMachine::logs_are_read(Now now) {
  if (grown_) {
    grown_ns_ = now.mono_ns;
    pause_ = setup_.service.poll;
    todo_.save = true;
  }
  // What came between the last look and its end, and what the service still uploads.
  if (phase_ == Phase::settling && (grown_ || !has_all_logs())) return pause(setup_.service.poll);
  if (phase_ == Phase::settling) return conclude(now);
  if (!cloud::has_ended(seen_.phase)) return look(now);
  phase_ = Phase::settling;
  // Fetching has its own time: the job used its.
  if (setup_.limits.time > kFetchLimit)
    bound(now, setup_.limits.time, "limits.time");
  else
    bound(now, kFetchLimit, "the time to fetch results");
  if (seen_.started_ms > 0) journal_starts(late_s(now));
  return then(Do::size_logs);
}

JobMachine::Actions JobMachine::tick(Now now) {
  if (phase_ != Phase::settling) return ask(now);
  return ++looks_ < kLastLooks ? then(Do::size_logs) : conclude(now);
}

JobMachine::Actions JobMachine::look(Now now) {
  if (seen_.phase == cloud::JobPhase::waiting) {
    if (waiting_ns_ == 0) {  // also when it was taken away and waits again
      waiting_ns_ = now.mono_ns;
      bound(now, setup_.service.wait, key("wait"));
    }
    running_ns_ = 0;
  } else {
    waiting_ns_ = 0;
    if (seen_.started_ms > 0) journal_starts(late_s(now));
    if (running_ns_ == 0) {
      running_ns_ = grown_ns_ = now.mono_ns;
      // Normally over_limit() ends it; this is for a service that does not answer then.
      bound(now, setup_.limits.time, "limits.time");
    }
  }
  todo_.progress = progress(now);
  if (const auto outcome = over_limit(now.mono_ns)) return stop(now, *outcome);
  looked_ns_ = asked_ns_;
  return pause(std::exchange(pause_, std::min(pause_ * 3 / 2, kMaxPause)));
}

std::optional<RoundOutcome> JobMachine::over_limit(std::int64_t now_ns) const {
  const plan::Limits& limits = setup_.limits;
  const auto over = [&](std::int64_t since, Nanoseconds limit) {
    return since != 0 && limit.count() > 0 && now_ns - since > limit.count();
  };
  if (over(waiting_ns_, setup_.service.wait))
    return RoundOutcome{RoundStatus::launch_failed,
                        fmt::format("{} did not start within {} ({})", named(),
                                    format_duration(setup_.service.wait), seen_.phase_text),
                        "the service is busy or too small: raise " + key("wait") +
                            ", or ask for less, or elsewhere"};
  if (over(running_ns_, limits.time))
    return RoundOutcome{
        RoundStatus::timed_out,
        fmt::format("{} ran longer than limits.time ({})", named(), format_duration(limits.time)),
        "raise limits.time, or look for the instance that hangs in the logs"};
  if (over(running_ns_, limits.stall) && over(grown_ns_, limits.stall)) {
    const auto least = std::ranges::min_element(state_.mirrored, {},
                                                [](const auto& entry) { return entry.second; });
    return RoundOutcome{RoundStatus::stalled,
                        fmt::format("{} wrote nothing for {}; {} wrote least", named(),
                                    format_duration(limits.stall), worker_name(least->first)),
                        "look at the ends of the logs; limits.stall is the bound"};
  }
  if (const auto node =
          running_ns_ != 0 && limits.stall.count() > 0 ? steps_no_more(now_ns) : std::nullopt)
    return RoundOutcome{
        RoundStatus::stalled,
        fmt::format("{} made no step for {} (limits.stall); {} is at step {}", named(),
                    format_duration(limits.stall), worker_name(*node),
                    followed_.at(*node).progress.last_step().value_or(0)),
        "look at the end of its log, and raise limits.stall where a step may take that long",
        {*node * setup_.procs}};
  return std::nullopt;
}

JobMachine::Actions JobMachine::conclude(Now now) {
  // Jobs that were taken away or stopped from outside do not count as results: they can be run
  // again.
  const bool from_outside = seen_.phase == cloud::JobPhase::stopped;
  const bool taken = seen_.taken || from_outside;
  journal_ends(now, taken ? EndedBy::lost : EndedBy::itself);
  state_.over = seen_.phase != cloud::JobPhase::completed;
  todo_.save = true;
  const std::string what = fmt::format("{} ({}) {}{}{}", named(), seen_.id, seen_.phase_text,
                                       seen_.message.empty() ? "" : ": ", seen_.message);
  if (taken)
    return end({RoundStatus::lost, what,
                from_outside
                    ? "it was stopped from outside; go on with --resume, or set cluster.retries"
                    : "it was taken away; go on with --resume, or set cluster.retries"});
  if (seen_.phase == cloud::JobPhase::failed)
    return end({RoundStatus::failed, what,
                "the last lines of that instance's log usually name the cause"});
  phase_ = Phase::fetching;
  return then(Do::fetch);
}

JobMachine::Actions JobMachine::stop(Now now, const RoundOutcome& outcome) {
  phase_ = Phase::stopping;
  outcome_ = outcome;
  end_ns_ = now.mono_ns + kStopLimit.count();
  return then(Do::stop);
}

JobMachine::Actions JobMachine::stopped(Now now) {
  const bool asked = outcome_.status == RoundStatus::interrupted;
  journal(store::JournalEvent::job_stopped,
          {{"job", state_.name},
           {"id", state_.id},
           {"reason", asked ? "the user asked to end" : outcome_.reason}});
  return ask(now);
}

JobMachine::Actions JobMachine::end_stopped(Now now) {
  if (outcome_.status != RoundStatus::interrupted)
    journal_ends(now,
                 outcome_.status == RoundStatus::stalled ? EndedBy::stall : EndedBy::time_limit);
  give_up();
  return end(outcome_);
}

JobMachine::Actions JobMachine::failed(Now now, const Error& error) {
  if (phase_ == Phase::stopping) {
    todo_.warning = fmt::format("{} ({}) may still run: {}; stop it in the console", named(),
                                state_.id, error.what());
    return end_stopped(now);
  }
  if (phase_ == Phase::leaving) {
    todo_.warning = "whether " + named() + " was created is not known: " + error.what() +
                    "; --resume looks for it";
    return never_created();
  }
  if (next_ == Do::measure) {
    todo_.warning = "the service gave no utilization: " + error.message();
    return measured({});
  }
  const auto* refusal = dynamic_cast<const cloud::ServiceError*>(&error);
  if (refusal != nullptr && next_ == Do::ask &&
      (refusal->status() == 200 || refusal->status() == 400 || refusal->status() == 404)) {
    // Services say in many ways that there is no such job, the old interface of ModelArts with a
    // 200: only the list of jobs is clear.
    refused_ = error;
    return then(Do::find);
  }
  const auto* silence = dynamic_cast<const OutOfTime*>(&error);
  if (silence != nullptr && phase_ == Phase::starting) return raise(clock_->over(*silence));
  if (silence != nullptr && phase_ == Phase::following)
    return stop(now, {RoundStatus::timed_out,
                      fmt::format("{} had more time than {}, and {} does not tell what became of "
                                  "it: {}",
                                  named(), bounded_by_, error.where(), error.message()),
                      "look for the job in the console"});
  return raise(error);
}

JobMachine::Actions JobMachine::interrupted(Now now) {
  if (!state_.id.empty()) return leave(now);
  // The request that makes the job may have been sent.
  phase_ = Phase::leaving;
  end_ns_ = now.mono_ns + kLookLimit.count();
  return then(Do::find);
}

JobMachine::Actions JobMachine::never_created() {
  return end(
      {RoundStatus::interrupted, "before " + named() + " was created", "go on with --resume"});
}

JobMachine::Actions JobMachine::leave(Now now) {
  if (cloud::has_ended(seen_.phase))
    return end({RoundStatus::interrupted,
                fmt::format("{} ({}) {}; its results were not fetched", named(), state_.id,
                            seen_.phase_text),
                "--resume fetches them"});
  if (setup_.service.stop_on_interrupt)
    return stop(now, {RoundStatus::interrupted, named() + " was stopped", "go on with --resume"});
  const std::string text = named() + " (" + state_.id + ") goes on in the cloud";
  todo_.warning = text + "; follow it again with --resume";
  return end({RoundStatus::interrupted, text, "go on with --resume"});
}

}  // namespace assay::launch
