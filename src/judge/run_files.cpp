#include "judge/run_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_access.h"
#include "core/json_fields.h"
#include "core/run_layout.h"
#include "evidence/file_record.h"
#include "store/journal_records.h"

namespace assay::judge {

namespace {

using evidence::FileRecord;

struct RecordedFiles {
  bool begun = false;  // the journal records such files
  std::map<std::string, std::vector<FileRecord>, std::less<>> by_name;
};

// A record that cannot be read counts as one of the plan, and fits nothing.
FileRecord record_in(const Json& json) {
  try {
    return fields_from_json<FileRecord>(json, "");
  } catch (const Error&) {
    FileRecord none;
    none.name = layout::kPlan;
    return none;
  }
}

RecordedFiles recorded_files(const store::JournalReading& journal) {
  RecordedFiles recorded;
  for (const Json& event : journal.events) {
    const auto kind = store::event_of(event);
    if (!store::starts_run(kind) && kind != store::JournalEvent::run_files) continue;
    recorded.begun = recorded.begun || event.contains("files");
    for (const Json& file : list_at(event, "files")) {
      FileRecord record = record_in(file);
      recorded.by_name[record.name].push_back(std::move(record));
    }
  }
  return recorded;
}

std::optional<FileRecord> found_file(const store::RunDir& run, std::string_view name) {
  try {
    return evidence::measure_file(run.path() / name, std::string(name));
  } catch (const Error&) {
    return FileRecord{};  // irregular or unreadable: fits nothing
  }
}

bool is_recorded(const FileRecord& record, const FileRecord& found) {
  return evidence::is_sound(record) &&
         evidence::compare(record, found) == evidence::FileMatch::same;
}

Finding about_file(std::string_view name, const std::string& what) {
  return {"run-files-fit",
          Severity::invalid,
          fmt::format("{} {}", name, what),
          "the files of a run must stay as they were: restore them from a copy, or run the suite "
          "again",
          "",
          {},
          Aspect::integrity};
}

}  // namespace

std::vector<Finding> run_file_findings(const store::RunDir& run,
                                       const store::JournalReading& journal) {
  std::vector<Finding> findings;
  const RecordedFiles recorded = recorded_files(journal);
  if (!recorded.begun) return findings;
  for (const std::string_view name : {layout::kPlan, layout::kSystem}) {
    const std::optional<FileRecord> found = found_file(run, name);
    if (!found) continue;  // its reader reports that it is missing
    const auto known = recorded.by_name.find(name);
    if (known == recorded.by_name.end()) {
      findings.push_back(about_file(name, "was recorded by nobody when the run wrote its files"));
      continue;
    }
    const std::vector<FileRecord>& records = known->second;
    // system.json is written twice and recorded before each write, so a kill in between leaves the
    // previous one. A plan never changes.
    const bool once = name == layout::kPlan;
    const bool as_before =
        !once && records.size() > 1 && is_recorded(records[records.size() - 2], *found);
    if (!is_recorded(records.back(), *found) && !as_before)
      findings.push_back(about_file(name, "is not what the journal recorded: it was changed"));
    else if (once &&
             !std::ranges::all_of(records, [&](const auto& r) { return is_recorded(r, *found); }))
      findings.push_back(about_file(name, "was changed before the run went on"));
  }
  return findings;
}

}  // namespace assay::judge
