#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "evidence/chain.h"
#include "telemetry/log_file.h"

namespace assay::agent {

/// Writes a round's evidence.jsonl in a node's folder: what the files held, by when. A line that
/// cannot be written (a full disk) is left out, and what it would have said is in the next one.
class EvidenceLog {
 public:
  /// Begins a chain; one that lies there from an earlier attempt is removed. Throws Error of kind
  /// environment.
  EvidenceLog(std::filesystem::path directory, std::string_view round_id, int node);

  /// Adds a link of those `files` that are not as in their last link; none when all are. While the
  /// log is small every call does so, from 16 MiB on at most one in ten seconds. 0, or an errno.
  [[nodiscard]] int add(const Instant& at, const std::vector<evidence::FileRecord>& files);

  /// The end of the round: a last link, and the list of all files of the folder that the judge
  /// reads. `written` are those that were hashed as they were written; others are read now, and
  /// what is too large to be read in time or cannot be read is left out and named in `problems`.
  [[nodiscard]] std::vector<evidence::FileRecord> finish(
      const Instant& at, const std::vector<evidence::FileRecord>& written,
      std::vector<std::string>& problems);

  [[nodiscard]] const std::string& head() const noexcept { return chain_.head(); }

  /// errno of the chain's last link, where finish() could not write it; 0: the chain is whole.
  [[nodiscard]] int last_error() const noexcept { return last_error_; }

 private:
  [[nodiscard]] int write(const Instant& at, const std::vector<evidence::FileRecord>& files);

  std::filesystem::path directory_;
  telemetry::LogFile file_;
  evidence::Chain chain_;
  std::map<std::string, evidence::FileRecord> last_;  // of every file, as the chain has it
  std::int64_t written_ns_ = 0;
  int last_error_ = 0;
};

}  // namespace assay::agent
