#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"
#include "evidence/file_record.h"

namespace assay::evidence {

/// An agent's record at a moment on its clocks: one line of evidence.jsonl (docs/evidence.md has
/// the format).
struct Link {
  Instant at;
  std::vector<FileRecord> files;  ///< those that grew since the previous link, up to this point
  std::string head;               ///< of the chain up to and including this link
};

/// The head of a chain without links. It depends on the round's id (unique over all runs and
/// attempts: `id` in the journal's round_start) and on the node, so that no other chain fits.
[[nodiscard]] std::string first_head(std::string_view round_id, int node);

/// Writes a chain.
class Chain {
 public:
  Chain(std::string_view round_id, int node) : head_(first_head(round_id, node)) {}

  /// Returns the line for evidence.jsonl with its newline, and advances the head.
  [[nodiscard]] std::string append(const Instant& at, const std::vector<FileRecord>& files);
  [[nodiscard]] const std::string& head() const noexcept { return head_; }

 private:
  std::string head_;
};

/// The result of reading a chain. `links` are those before the first place that does not fit.
struct ChainCheck {
  std::vector<Link> links;
  std::string head;          ///< after these links
  std::size_t bad_line = 0;  ///< counted from 1; 0 if all of it fits
  std::string problem;       ///< of that line, in words; empty if all of it fits

  [[nodiscard]] bool ok() const noexcept { return bad_line == 0; }
};

/// Checks the text of an evidence.jsonl: every line must be complete JSON of its form with sound
/// records, follow from the line before, and not be earlier (monotonic clock). A chain cut at the
/// end of a line fits: only the last head can show whether it is complete. Never throws.
[[nodiscard]] ChainCheck verify_chain(std::string_view text, std::string_view round_id, int node);

}  // namespace assay::evidence
