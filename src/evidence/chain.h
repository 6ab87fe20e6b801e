#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "evidence/file_record.h"

namespace assay::evidence {

/// The files that an agent had written at a time of its clocks: a line of evidence.jsonl
/// (docs/evidence.md has the format).
struct Link {
  Instant at;
  std::vector<FileRecord> files;  ///< files that grew since the previous link, up to their end
  std::string head;               ///< of the chain up to and including this link
};

/// The head of a chain without links. It depends on the round's id (unique over all runs and
/// attempts: `id` of the journal's round_start) and the node, so that no other chain matches.
[[nodiscard]] std::string first_head(std::string_view round_id, int node);

/// Writes a chain.
class Chain {
 public:
  Chain(std::string_view round_id, int node) : head_(first_head(round_id, node)) {}

  /// The line of evidence.jsonl with its newline; the head is then the new one.
  [[nodiscard]] std::string append(const Instant& at, const std::vector<FileRecord>& files);
  [[nodiscard]] const std::string& head() const noexcept { return head_; }

 private:
  std::string head_;
};

/// A chain as it was read. `links` are those before the first invalid line.
struct ChainCheck {
  std::vector<Link> links;
  std::string head;          ///< after these links
  std::size_t bad_line = 0;  ///< counted from 1; 0: all lines are valid
  std::string problem;       ///< of that line, in words; empty: all lines are valid

  [[nodiscard]] bool ok() const noexcept { return bad_line == 0; }
};

/// Reads the text of an evidence.jsonl: every line is JSON of its form with sound records, follows
/// from the line before, is complete and not earlier (monotonic clock) than it. A chain that was
/// cut at a line's end is valid: the caller compares it with the last head. Never throws.
[[nodiscard]] ChainCheck verify_chain(std::string_view text, std::string_view round_id, int node);

}  // namespace assay::evidence
