#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "evidence/file_record.h"

namespace assay::launch {

/// Fields of the journal's round_files.
struct RoundFiles {
  std::vector<evidence::FileRecord> files;  ///< names are relative to the round's folder
  std::vector<std::string> unreadable{};

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("files", self.files);
    field.optional("unreadable", self.unreadable);
  }
};

/// The files of a round that the judge reads and that no agent listed: what the controller wrote
/// (an experiment's journal, a cloud job's logs and results), and what is there of nodes whose
/// agent did not come to list it. `listed`: folders of nodes that are left out. Reads the files;
/// blocks.
[[nodiscard]] RoundFiles list_round_files(const std::filesystem::path& round_dir,
                                          const std::set<std::string>& listed);

/// What is wrong with files of `folder` against their records, one text each with the file's name.
/// Reads the files; blocks.
[[nodiscard]] std::vector<std::string> misfits(const std::filesystem::path& folder,
                                               const std::vector<evidence::FileRecord>& records);

}  // namespace assay::launch
