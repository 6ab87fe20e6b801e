#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"

/// A run as one file that can be checked and opened anywhere (docs/travel.md has the format).
namespace assay::pack {

inline constexpr int kFormat = 1;
inline constexpr std::string_view kExtension = ".assay";

struct PackedFile {
  std::string path;  ///< relative to the run directory, with '/'
  std::uint64_t bytes = 0;
  std::string sha256{};  ///< of its content, 64 lower-case hex digits
};

/// The contents of a packed run, sorted by path.
struct Contents {
  std::string run_id;
  std::vector<PackedFile> files;

  [[nodiscard]] std::uint64_t bytes() const noexcept;  ///< of all files
};

/// A hash of all paths, sizes and hashes, in hex: the same for the same files. Of contents with the
/// hashes of their files, as write and verify give them.
[[nodiscard]] std::string digest(const Contents& contents);

/// Called on the thread that packs or unpacks, with bytes of content.
using Progress = std::function<void(std::uint64_t done, std::uint64_t of)>;

struct Options {
  int threads = 0;      ///< that compress or decompress; 0: one a processor. No byte depends on it
  Progress progress{};  ///< may throw to end it
};

struct Written {
  Contents contents;
  std::uint64_t packed_bytes = 0;
  /// Regular files that are not part of a finished run (locks, notes of the controller), links and
  /// devices, by their paths.
  std::vector<std::string> left_out;
};

/// Packs the run in `run_dir` into the new file `out`; the same run gives the same bytes with the
/// same version of zstd. `out` appears when it is whole and on the disk; what was there before is
/// replaced. Throws Error of kind usage for what is no run or goes on, and of kind environment for
/// a file that cannot be read or changes meanwhile.
Written write(const std::filesystem::path& run_dir, const std::filesystem::path& out,
              const Options& options = {});

/// A problem with a file of a packed run.
enum class Flaw {
  changed,  ///< it has another content than when it was packed
  damaged,  ///< a part of it, or its hash, cannot be decompressed
  cut,      ///< the packed run ends inside it
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
  std::vector<std::string> whole{};  ///< problems of the whole: "3 bytes after its end"

  [[nodiscard]] bool ok() const noexcept { return files.empty() && whole.empty(); }
};

// All of these throw Error of kind config for a file that is no packed run, is of a newer format,
// or whose list of files is damaged or must not be unpacked: a path that leaves the folder, a path
// twice, a file that another one needs as its folder; and of kind environment when something
// cannot be read or written. Nothing in the file is trusted: what it declares is the most that is
// written, and memory is bounded.

/// The list of files, without hashes. Reads no more than that.
[[nodiscard]] Contents list(const std::filesystem::path& file);

/// Checks every file against its hash, and writes nothing.
[[nodiscard]] Check verify(const std::filesystem::path& file, const Options& options = {});

/// Asked about the unpacked files, in a folder that has another name yet; false: they are removed.
using Accept = std::function<bool(const std::filesystem::path& unpacked)>;

/// Unpacks into the new folder `folder`, which appears when every file was right and `accept`
/// (when there is one) has said yes. Throws Error of kind usage when `folder` exists and is not an
/// empty folder, of kind environment when the disk has less room than the packed run declares.
[[nodiscard]] Check extract(const std::filesystem::path& file, const std::filesystem::path& folder,
                            const Options& options = {}, const Accept& accept = {});

}  // namespace assay::pack
