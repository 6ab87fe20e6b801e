#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "store/run_dir.h"

namespace assay::history {

/// Disk space of the files below a folder, in bytes; links are not followed, and a file with
/// several names counts once for each.
[[nodiscard]] std::uint64_t disk_use(const std::filesystem::path& folder);

/// The path without a final slash: "runs/a/" means "runs/a" but has no file name.
[[nodiscard]] std::filesystem::path plain_folder(const std::filesystem::path& path);

/// Throws Error of kind usage unless `path` is itself a run's folder and the run is not in
/// progress: not a link, with a plan.json that is a regular file, or archived.
void check_removable(const std::filesystem::path& path);

/// Removes a run. It disappears at once and is then deleted file by file, so that nobody sees a
/// part of it; links in it are removed but not followed. The run is locked meanwhile, so nobody can
/// resume it. `latest` is removed with the run it points at. Throws what check_removable throws,
/// and Error of kind environment.
void remove_run(const std::filesystem::path& path);

/// Replaces a run's folder with another one at once: an observer sees either, even after a power
/// loss. Nothing of the run is touched before. Single-threaded.
class Replacement {
 public:
  /// Creates a hidden folder beside the run, locked against other processes.
  explicit Replacement(const std::filesystem::path& run);
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  /// Removes whatever did not take the run's place.
  ~Replacement();
  /// The place for the new folder, which the caller creates.
  [[nodiscard]] std::filesystem::path path() const;
  /// Syncs the new folder, moves it to the run's place, syncs that, and removes the old one. Throws
  /// Error of kind environment; the run's folder is then the old one or the complete new one.
  void take_its_place();

 private:
  std::filesystem::path run_;
  std::filesystem::path building_;
  std::optional<store::RunLock> lock_;
  bool done_ = false;
};

/// Completes interrupted removals and replacements in a folder of results; a run that was about to
/// be replaced is put back. Returns the number of folders removed.
std::size_t finish_removals(const std::filesystem::path& results);

}  // namespace assay::history
