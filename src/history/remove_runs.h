#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "store/run_dir.h"

namespace assay::history {

/// Bytes that the files below a folder take on the disk; links are not followed, and a file with
/// several names counts once a name.
[[nodiscard]] std::uint64_t disk_use(const std::filesystem::path& folder);

/// "runs/a/" is another name of "runs/a", and has no file name.
[[nodiscard]] std::filesystem::path plain_folder(const std::filesystem::path& path);

/// Throws Error of kind usage unless `path` is itself the folder of a run that is not in progress:
/// not a link, with a plan.json that is a plain file, or archived.
void check_removable(const std::filesystem::path& path);

/// Removes a run. It disappears at once and is then removed file by file, so that nobody sees a
/// part of it; links in it are removed and not followed. Meanwhile the run is locked: nobody can
/// resume it. `latest` is removed with the run that it points at. Throws the errors of
/// check_removable, and Error of kind environment.
void remove_run(const std::filesystem::path& path);

/// Replaces a run's folder in one step: every reader sees one or the other, even after a loss of
/// power. Nothing of the run changes before. For one thread.
class Replacement {
 public:
  /// Makes a hidden folder beside the run, locked for other processes.
  explicit Replacement(const std::filesystem::path& run);
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  /// Removes a new folder that did not replace the run's.
  ~Replacement();
  /// The path of the new folder; the caller makes it.
  [[nodiscard]] std::filesystem::path path() const;
  /// Syncs the new folder, puts it in the run's place, syncs that, and removes the old one. Throws
  /// Error of kind environment; the run's folder is the old one then, or the whole new one.
  void take_its_place();

 private:
  std::filesystem::path run_;
  std::filesystem::path building_;
  std::optional<store::RunLock> lock_;
  bool done_ = false;
};

/// Removes the remains of interrupted removals and replacements in a folder of results; a run that
/// was about to be replaced is put back. Returns the number of folders removed.
std::size_t finish_removals(const std::filesystem::path& results);

}  // namespace assay::history
