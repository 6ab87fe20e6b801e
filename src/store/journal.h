#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include "core/files.h"
#include "core/json.h"
#include "store/journal_event.h"

namespace assay::store {

/// A journal line that is not one of its records.
struct UnreadableLine {
  std::size_t line = 0;  ///< counted from 1
  /// The writer was killed or lost power while writing: the file ends within the line, or a resumed
  /// run continued after it.
  bool torn = false;
};

struct JournalReading {
  std::vector<Json> events;
  std::vector<UnreadableLine> unreadable;
};

/// The append-only history of a run, one JSON object per line (docs/run-directory.md lists the
/// events). Every line is one write(2), so a crash can tear only the last one. Where the file
/// system allows, space for further lines is reserved, so that the journal of a full disk can still
/// record that and how the run ended.
class Journal {
 public:
  /// Opens `path` for appending and creates it if needed; a torn last line is ended first.
  explicit Journal(std::filesystem::path path);
  /// Releases the unused reserved space.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Appends {"event": event, "wall_ns": …, "mono_ns": …} + fields. Throws Error of kind
  /// environment and leaves the journal as it was.
  void append(JournalEvent event, const Json& fields);
  /// Makes everything appended so far survive power loss.
  void sync();

  /// All complete lines, and which lines are unreadable.
  [[nodiscard]] static JournalReading read_all(const std::filesystem::path& path);
  /// Only the readable ones.
  [[nodiscard]] static std::vector<Json> read(const std::filesystem::path& path);

 private:
  void reserve() noexcept;

  std::filesystem::path path_;
  UniqueFd fd_;
  off_t reserved_ = 0;  // the file's blocks extend to here
};

/// The cases that repeat until their result is certain and need no further round: case → reason,
/// from the newest `repeats_end` that no round of the case follows.
[[nodiscard]] std::map<std::string, std::string> ended_repeats(const std::vector<Json>& events);

/// Whether the run has ended and its seal could not be written (`run_unsealed`).
[[nodiscard]] bool ended_unsealed(const std::vector<Json>& events);
/// Why the run could not be signed when it last ended (`run_unsigned`), or empty.
[[nodiscard]] std::string unsigned_reason(const std::vector<Json>& events);

}  // namespace assay::store
