#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "evidence/chain.h"
#include "telemetry/log_file.h"

namespace assay::agent {

/// Writes a round's evidence.jsonl in a node's folder: what the files held at which time. If a line
/// cannot be written (a full disk), the next one includes what it would have said.
class EvidenceLog {
 public:
  /// Begins a chain and removes one left by an earlier attempt. Throws Error of kind environment.
  EvidenceLog(std::filesystem::path directory, std::string_view round_id, int node);

  /// Adds a link for those `files` that changed since their last link, if any. Every call may do so
  /// while the log is small, from 16 MiB on only one in ten seconds. Returns 0 or errno.
  [[nodiscard]] int add(const Instant& at, const std::vector<evidence::FileRecord>& files);

  /// Ends the round: writes a last link and returns all files of the folder that the judge reads.
  /// `written` are files that were hashed while being written; others are read now. Files that are
  /// unreadable, or too large to read in time, are left out and named in `problems`.
  [[nodiscard]] std::vector<evidence::FileRecord> finish(
      const Instant& at, const std::vector<evidence::FileRecord>& written,
      std::vector<std::string>& problems);

  [[nodiscard]] const std::string& head() const noexcept { return chain_.head(); }

  /// errno if finish() could not write the chain's last link; 0 if the chain is complete.
  [[nodiscard]] int last_error() const noexcept { return last_error_; }

 private:
  [[nodiscard]] int write(const Instant& at, const std::vector<evidence::FileRecord>& files);

  std::filesystem::path directory_;
  telemetry::LogFile file_;
  evidence::Chain chain_;
  std::map<std::string, evidence::FileRecord> last_;  // each file's record, as in the chain
  std::int64_t written_ns_ = 0;
  int last_error_ = 0;
};

}  // namespace assay::agent
