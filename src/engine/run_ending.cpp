#include "engine/run_ending.h"

#include <optional>

#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/round_status.h"
#include "core/run_layout.h"
#include "store/journal.h"
#include "store/journal_records.h"

namespace assay::engine {

namespace {

constexpr int kSignalBase = 128;  // as a shell says it
// An agent that hears nothing ends by itself after 30 s, its ranks have 2 s, and what removes its
// containers 10 s (docs/reliability.md).
constexpr Nanoseconds kRunsOnAlone = std::chrono::seconds(45);

struct JournalEnd {
  std::optional<RunStatus> status{};
  int code = 0;
  std::string reason{};               ///< why the first round failed that did
  std::string lost{};                 ///< RunEnding::lost
  std::set<std::string> unreached{};  ///< RunEnding::unreached
  bool began = false;                 ///< a round of it, whatever became of that
  bool rested = false;                ///< its ranks came to their `sleep infinity`
};

JournalEnd read_journal_end(const std::vector<Json>& journal) {
  JournalEnd out;
  for (const Json& event : journal) {
    const auto kind = store::event_of(event);
    if (store::starts_run(kind)) out.status.reset();
    if (kind == store::JournalEvent::rest) out.rested = true;
    if (kind == store::JournalEvent::run_end)
      out.status = fields_from_any<store::RunEnd>(event).status.value;
    if (kind == store::JournalEvent::round_start) {
      out.began = true;
      out.unreached.clear();
    }
    // A node that was lost is swept before its logs are fetched, over the same way.
    if (kind == store::JournalEvent::gap && text_at(event, "source") == "logs")
      out.unreached.insert(store::node_of(event).host);
    if (kind == store::JournalEvent::round_end) {
      const auto end = fields_from_any<store::RoundEnd>(event);
      if (out.reason.empty() && end.status != RoundStatus::completed) out.reason = end.reason;
      out.lost = end.status == RoundStatus::lost ? end.reason : "";
    }
    if (kind != store::JournalEvent::rank_exit || out.code != 0) continue;
    const auto exit = fields_from_any<store::RankExit>(event);
    if (exit.ended_by != EndedBy::itself) continue;
    if (exit.code) out.code = *exit.code;
    if (exit.signal && *exit.signal >= 0 && *exit.signal < kSignalBase)
      out.code = kSignalBase + *exit.signal;
  }
  return out;
}

jobs::Verdict read_verdict(const std::filesystem::path& run) {
  const Json result = parse_json_or_null(read_regular_file_or_empty(run / layout::kResult));
  return parse_enum<jobs::Verdict>(text_at(result, "validity")).value_or(jobs::Verdict::none);
}

jobs::Ending ending_of(RunStatus status) {
  switch (status) {
    case RunStatus::completed:
      return jobs::Ending::completed;
    case RunStatus::interrupted:
      return jobs::Ending::interrupted;
    case RunStatus::failed:
      break;
  }
  return jobs::Ending::failed;
}

/// Whether the job itself is to blame, and not where it was to run.
bool is_jobs_fault(const std::string& kind) {
  return kind == to_string(ErrorKind::config) || kind == to_string(ErrorKind::usage) ||
         kind == to_string(ErrorKind::round_failed) || kind == to_string(ErrorKind::invalid);
}

}  // namespace

RunEnding read_ending(const ExecutionFolder& folder, bool stopped) {
  RunEnding out;
  jobs::Event& event = out.event;
  event.kind = jobs::EventKind::exited;
  event.exit.ending = stopped ? jobs::Ending::interrupted : jobs::Ending::failed;
  const std::filesystem::path run = folder.run();
  JournalEnd journal;
  if (!run.empty()) {
    try {
      journal = read_journal_end(store::Journal::read(run / layout::kJournal));
    } catch (const std::exception& error) {
      event.detail = error.what();
    }
    event.exit.code = journal.code;
    if (!stopped) out.lost = journal.lost;
    out.unreached = std::move(journal.unreached);
    if (!out.unreached.empty()) event.may_run_on = kRunsOnAlone;
    event.exit.verdict = read_verdict(run);
  }
  if (journal.status) {
    event.exit.ending = ending_of(*journal.status);
    if (*journal.status == RunStatus::failed) event.detail = journal.reason;
    if (*journal.status == RunStatus::completed && journal.rested)
      event.detail = "its training had ended, and only 'sleep infinity' was left";
    return out;
  }
  const std::optional<ControllerEnd> end = folder.end();
  if (stopped) return out;
  if (!end) {
    event.kind = jobs::EventKind::engine_error;
    event.detail = "its controller was killed, or the machine was restarted";
  } else if (!end->error.empty()) {
    event.detail = end->error;
    if (!is_jobs_fault(end->kind)) event.kind = jobs::EventKind::engine_error;
    out.never_began = end->kind == to_string(ErrorKind::launch) && !journal.began;
  } else {
    event.detail = "its run has no end";
  }
  return out;
}

}  // namespace assay::engine
