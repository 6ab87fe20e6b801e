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

/// A line of a journal that is not one of its records.
struct UnreadableLine {
  std::size_t line = 0;  ///< counted from 1
  /// The writer was killed or lost power while it wrote: the file ends inside the line, or a
  /// resumed run went on after it.
  bool torn = false;
};

struct JournalReading {
  std::vector<Json> events;
  std::vector<UnreadableLine> unreadable;
};

/// The append-only history of a run, one JSON object a line (docs/run-directory.md lists the
/// events). Every line is one write(2), so that a crash can tear only the last one. Where the file
/// system can, space for the next lines is set aside: when the disk is full, the journal can still
/// say so and how the run ended.
class Journal {
 public:
  /// Opens `path` for appending, creating it when needed; a torn last line is closed first.
  explicit Journal(std::filesystem::path path);
  /// Gives back what was set aside and is not used.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// Appends {"event": event, "wall_ns": …, "mono_ns": …} + fields. Throws Error of kind
  /// environment; the journal is then as it was before.
  void append(JournalEvent event, const Json& fields);
  /// Makes everything appended so far survive a power loss.
  void sync();

  /// All whole lines, and which are not.
  [[nodiscard]] static JournalReading read_all(const std::filesystem::path& path);
  /// The same without those that are not.
  [[nodiscard]] static std::vector<Json> read(const std::filesystem::path& path);

 private:
  void reserve() noexcept;

  std::filesystem::path path_;
  UniqueFd fd_;
  off_t reserved_ = 0;  // the file's blocks go so far
};

/// The cases that are repeated until their result is certain and need no further round: case → why,
/// by the newest `repeats_end` that no round of the case follows.
[[nodiscard]] std::map<std::string, std::string> ended_repeats(const std::vector<Json>& events);

}  // namespace assay::store
