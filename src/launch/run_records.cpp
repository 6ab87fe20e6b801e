#include "launch/run_records.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <unistd.h>

#include "core/files.h"
#include "core/host.h"
#include "core/json_access.h"
#include "core/regular_file.h"
#include "core/version.h"
#include "launch/round_listing.h"
#include "launch/seal_run.h"
#include "store/journal_records.h"

namespace assay::launch {

namespace {

/// First the journal has what is in the file, then the file has it: what nobody recorded is never
/// there.
void write_listed(const store::RunDir& run, store::Journal& journal, std::string_view name,
                  const std::string& content) {
  evidence::FileHash hash;
  hash.append(content);
  Json files = Json::array();
  files.push_back(fields_to_json(hash.record(std::string(name))));
  journal.append(store::JournalEvent::run_files, {{"files", std::move(files)}});
  write_file_atomic(run.path() / name, content, /*sync=*/false);
}

}  // namespace

Json run_start(const store::RunDir& run) {
  Json files = Json::array();
  for (const std::string_view name : {layout::kPlan, layout::kSystem})
    if (const auto file = evidence::measure_file(run.path() / name, std::string(name)))
      files.push_back(fields_to_json(*file));
  store::RunStart start{.run = run.plan().run_id,
                        .host = host_name(),
                        .pid = ::getpid(),
                        .assay = version_string(),
                        .evidence = evidence::kVersion,
                        .files = std::move(files)};
  if (const char* job = std::getenv("SLURM_JOB_ID")) start.job = job;
  std::error_code ec;
  start.folder = std::filesystem::current_path(ec).string();
  return fields_to_json(start);
}

void write_system(const store::RunDir& run, store::Journal& journal, Json nodes,
                  const Json& declared) {
  const BuildInfo& build = build_info();
  Json system{{"assay",
               {{"version", build.version},
                {"revision", build.revision},
                {"dirty", build.dirty},
                {"compiler", build.compiler},
                {"build_type", build.build_type}}},
              {"launcher", run.plan().cluster.launcher()},
              {"nodes", std::move(nodes)}};
  if (!declared.is_null()) system["declared"] = declared;
  write_listed(run, journal, layout::kSystem, dump_pretty(system));
}

void add_states_after(const store::RunDir& run, store::Journal& journal, const Json& states) {
  if (states.empty()) return;
  Json system = parse_json_or_null(read_regular_file_or_empty(run.system_file()));
  if (!system.is_object() || !system.contains("nodes") || !system["nodes"].is_array()) return;
  for (Json& node : system["nodes"])
    for (const Json& state : states)
      if (node.is_object() && member_at(node, "node") == state["node"])
        node["device_state_after"] = state["state"];
  write_listed(run, journal, layout::kSystem, dump_pretty(system));
}

void note_unproven(store::Journal& journal, const std::vector<std::string>& reasons) {
  if (!reasons.empty()) journal.append(store::JournalEvent::run_unproven, {{"reasons", reasons}});
}

std::map<std::string, int> last_started(const std::vector<Json>& journal) {
  std::map<std::string, int> started;
  for (const Json& event : journal)
    if (store::event_of(event) == store::JournalEvent::round_start) {
      const store::RoundName round = store::round_of(event);
      int& last = started[round.case_name];
      last = std::max(last, round.round);
    }
  return started;
}

RoundStatuses finished_rounds(const std::vector<Json>& journal) {
  RoundStatuses finished;
  for (const Json& event : journal) {
    const auto [name, number] = store::round_of(event);
    const std::pair key(name, number);
    const auto kind = store::event_of(event);
    if (kind == store::JournalEvent::round_start || kind == store::JournalEvent::round_reopened)
      finished.erase(key);
    if (kind != store::JournalEvent::round_end) continue;
    const auto status = fields_from_any<store::RoundEnd>(event).status.value;
    if (status && is_result(*status)) finished[key] = *status;
  }
  return finished;
}

int reopen_failed_rounds(const store::RunDir& run, const std::vector<std::string>& unproven) {
  const store::RunLock lock(run.path());
  std::optional<store::Journal> journal;
  int reopened = 0;
  for (const auto& [round, status] : finished_rounds(store::Journal::read(run.journal_file()))) {
    // What is run again brings its hooks with it.
    if (status == RoundStatus::completed || run.plan().find_case(round.first) == nullptr) continue;
    if (!journal) {
      break_seal(run);
      journal.emplace(run.journal_file());
      note_unproven(*journal, unproven);
    }
    journal->append(store::JournalEvent::round_reopened,
                    {{"case", round.first}, {"round", round.second}, {"status", to_text(status)}});
    ++reopened;
  }
  if (journal) journal->sync();
  return reopened;
}

}  // namespace assay::launch
