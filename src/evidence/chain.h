#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "evidence/file_record.h"

namespace assay::evidence {

/// What an agent had written by a moment of its clocks: a line of evidence.jsonl (docs/evidence.md
/// has the format).
struct Link {
  Instant at;
  std::vector<FileRecord> files;  ///< those that grew since the link before, as far as they go
  std::string head;               ///< of the chain up to here, this link included
};

/// The head of a chain without links. It depends on the round's id (unique over all runs and
/// attempts: `id` of the journal's round_start) and the node, so that no other chain fits.
[[nodiscard]] std::string first_head(std::string_view round_id, int node);

/// Writes a chain.
class Chain {
 public:
  Chain(std::string_view round_id, int node) : head_(first_head(round_id, node)) {}

  /// The line of evidence.jsonl with its newline; the head is the new one then.
  [[nodiscard]] std::string append(const Instant& at, const std::vector<FileRecord>& files);
  [[nodiscard]] const std::string& head() const noexcept { return head_; }

 private:
  std::string head_;
};

/// A chain as it was read. `links` are those before the first place that does not fit.
struct ChainCheck {
  std::vector<Link> links;
  std::string head;          ///< after these links
  std::size_t bad_line = 0;  ///< counted from 1; 0: all of it fits
  std::string problem;       ///< of that line, in words; empty: all of it fits

  [[nodiscard]] bool ok() const noexcept { return bad_line == 0; }
};

/// Reads the text of an evidence.jsonl: every line is JSON of its form with sound records, follows
/// from the line before, is whole and not earlier (monotonic clock) than it. A chain that was cut
/// at a line's end fits: whether it is whole is for who knows the last head. Never throws.
[[nodiscard]] ChainCheck verify_chain(std::string_view text, std::string_view round_id, int node);

}  // namespace assay::evidence
