#pragma once

#include <filesystem>
#include <vector>

#include "core/files.h"
#include "core/json.h"

namespace assay::automl {

/// What happened in an experiment, one JSON object a line (docs/automl.md lists the events): all
/// that its score and its report are made of, and what it goes on from. One thread.
class ExperimentJournal {
 public:
  /// Opens `path` for appending, creating it when needed; a torn last line is closed first. Holds a
  /// lock on it until the end: a second coordinator on the same experiment throws Error of kind
  /// environment.
  explicit ExperimentJournal(std::filesystem::path path);

  /// Appends one event; it is safe from a power loss after the next commit(). Throws Error of kind
  /// environment (a full disk); what the line had begun is then taken back.
  void append(const Json& event);
  void commit();

  /// All whole events; torn or unreadable lines are skipped and counted. No file: none.
  [[nodiscard]] static std::vector<Json> read(const std::filesystem::path& path,
                                              std::size_t* skipped = nullptr);

 private:
  std::filesystem::path path_;
  UniqueFd fd_;
  bool dirty_ = false;
};

}  // namespace assay::automl
