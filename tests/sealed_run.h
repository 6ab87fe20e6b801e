#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/json_access.h"
#include "core/json_fields.h"
#include "core/run_layout.h"
#include "evidence/seal.h"
#include "store/journal.h"

namespace assay::testing {

/// The key that hand-made runs are sealed with.
inline const evidence::SigningKey& test_key() {
  static const evidence::SigningKey key = evidence::SigningKey::generate();
  return key;
}

/// Writes seal.json for the files of a run directory as they are.
inline void write_seal(const std::filesystem::path& run, const evidence::SigningKey* key) {
  std::vector<evidence::FileRecord> files;
  for (const std::string_view name : {layout::kPlan, layout::kJournal, layout::kSystem})
    if (auto file = evidence::measure_file(run / name, std::string(name)))
      files.push_back(std::move(*file));
  const Json plan = parse_json(read_file(run / layout::kPlan), "plan.json");
  write_file_atomic(run / layout::kSeal,
                    evidence::make_seal(text_at(plan, "run_id"), std::move(files), 0, key));
}

/// Makes a run that a test wrote by hand whole, as the controller does at its end: lists the files
/// of every round that the journal has and no list of, adds system.json and run_end where they are
/// missing, and seals it.
inline void seal_by_hand(const std::filesystem::path& run) {
  namespace fs = std::filesystem;
  std::set<std::pair<std::string, int>> rounds;
  bool ended = false;
  for (const Json& event : store::Journal::read(run / layout::kJournal)) {
    const std::string kind = text_at(event, "event");
    const std::pair key(text_at(event, "case"),
                        static_cast<int>(integer_at(event, "round").value_or(0)));
    if (kind == "round_start") rounds.insert(key);
    if (kind == "round_files") rounds.erase(key);
    ended = kind == "run_end";
  }
  store::Journal journal(run / layout::kJournal);
  for (const auto& [name, number] : rounds) {
    const fs::path folder = run / name / layout::round_folder(number);
    Json files = Json::array();
    std::error_code ec;
    for (const auto& entry : fs::recursive_directory_iterator(folder, ec)) {
      const std::string path = entry.path().lexically_relative(run).generic_string();
      const layout::RunFile* known = layout::find_run_file(path);
      if (known == nullptr || !known->judged || !entry.is_regular_file()) continue;
      files.push_back(fields_to_json(*evidence::measure_file(
          entry.path(), entry.path().lexically_relative(folder).generic_string())));
    }
    journal.append(store::JournalEvent::round_files,
                   {{"case", name}, {"round", number}, {"files", files}});
  }
  if (!ended) journal.append(store::JournalEvent::run_end, {{"status", "completed"}});
  if (!fs::exists(run / layout::kSystem)) write_file_atomic(run / layout::kSystem, "{}\n");
  write_seal(run, &test_key());
}

}  // namespace assay::testing
