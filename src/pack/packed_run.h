#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"

/// A run as a single file that can be checked and opened anywhere (docs/travel.md has the format).
namespace assay::pack {

inline constexpr int kFormat = 1;
inline constexpr std::string_view kExtension = ".assay";

struct PackedFile {
  std::string path;  ///< relative to the run directory, with '/'
  std::uint64_t bytes = 0;
  std::string sha256{};  ///< of the content, 64 lower-case hex digits
};

/// The content of a packed run, sorted by path.
struct Contents {
  std::string run_id;
  std::vector<PackedFile> files;

  [[nodiscard]] std::uint64_t bytes() const noexcept;  ///< of all files
};

/// A hash of all paths, sizes and hashes, in hex: identical for identical files. Requires contents
/// with file hashes, as write and verify return them.
[[nodiscard]] std::string digest(const Contents& contents);

/// Called with bytes of content on the thread that packs or unpacks.
using Progress = std::function<void(std::uint64_t done, std::uint64_t of)>;

struct Options {
  int threads = 0;      ///< for (de)compression; 0: one per processor. Does not affect the result
  Progress progress{};  ///< may throw to stop it
};

struct Written {
  Contents contents;
  std::uint64_t packed_bytes = 0;
  /// Paths of regular files that are not part of a finished run (locks, the controller's notes),
  /// links and devices.
  std::vector<std::string> left_out;
};

/// Packs the run in `run_dir` into the new file `out`; the same run yields the same bytes with the
/// same version of zstd. `out` appears, replacing any existing file, once it is complete and on
/// disk. Throws Error of kind usage if it is not a run or in progress, and of kind environment if a
/// file cannot be read or changes meanwhile.
Written write(const std::filesystem::path& run_dir, const std::filesystem::path& out,
              const Options& options = {});

/// A flaw of a file in a packed run.
enum class Flaw {
  changed,  ///< its content differs from when it was packed
  damaged,  ///< part of it, or its hash, cannot be decompressed
  cut,      ///< the packed run ends within it
  missing,  ///< the packed run ends before it
};

constexpr auto enum_names(Flaw /*flaw*/) {
  using enum Flaw;
  return std::to_array<EnumName<Flaw>>(
      {{changed, "changed"}, {damaged, "damaged"}, {cut, "cut"}, {missing, "missing"}});
}

struct FlawedFile {
  std::string path;
  Flaw flaw = Flaw::changed;
};

struct Check {
  Contents contents;
  std::vector<FlawedFile> files{};   ///< sorted by path
  std::vector<std::string> whole{};  ///< flaws beyond single files: "3 bytes after its end"

  [[nodiscard]] bool ok() const noexcept { return files.empty() && whole.empty(); }
};

// All of these throw Error of kind config if the file is not a packed run, has a newer format, or
// its file list is damaged or unsafe to unpack (a path outside the folder, a repeated path, a file
// where another needs a folder), and of kind environment if something cannot be read or written.
// Nothing in the file is trusted: no more than it declares is written, and memory is bounded.

/// Reads only the list of files, without hashes.
[[nodiscard]] Contents list(const std::filesystem::path& file);

/// Checks every file against its hash without writing anything.
[[nodiscard]] Check verify(const std::filesystem::path& file, const Options& options = {});

/// Called with the unpacked files while their folder has a temporary name; false removes them.
using Accept = std::function<bool(const std::filesystem::path& unpacked)>;

/// Unpacks into the new folder `folder`, which appears once every file is right and `accept`, if
/// given, has agreed. Throws Error of kind usage if `folder` exists and is not an empty folder, of
/// kind environment if the disk has less room than the packed run declares.
[[nodiscard]] Check extract(const std::filesystem::path& file, const std::filesystem::path& folder,
                            const Options& options = {}, const Accept& accept = {});

}  // namespace assay::pack
