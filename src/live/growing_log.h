#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace assay::live {

/// A file that another process writes, with its rotated parts (docs/run-directory.md), as one
/// stream of bytes that only grows. Parts are told apart by their inodes: a part that is renamed
/// keeps its place, one that was dropped leaves a gap. Opens regular files only, and never waits.
/// One thread.
class GrowingLog {
 public:
  struct Part {
    std::uint64_t begin = 0;  ///< in the stream
    std::uint64_t end = 0;    ///< as far as it is known
    bool gone = false;        ///< its bytes cannot be read any more
  };

  /// `file` without a rotation's suffix; it need not exist.
  explicit GrowingLog(std::filesystem::path file) : file_(std::move(file)) {}

  /// Looks at the parts. False: earlier contents have changed (a file was cut or
  /// replaced), so that everything known about the log is void; it then begins anew.
  [[nodiscard]] bool look();

  [[nodiscard]] std::uint64_t size() const noexcept {
    return files_.empty() ? 0 : files_.back().end;
  }
  [[nodiscard]] std::size_t parts() const noexcept { return files_.size(); }
  [[nodiscard]] Part part(std::size_t index) const { return files_[index]; }
  /// Why a part cannot be read; empty: all can be.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

  /// Reads bytes of one part at `offset` into `to`: how many. 0: behind its end, or gone.
  [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<char> to) const;

 private:
  // A number of an inode is given again at once: its birth tells them apart.
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t born_ns = 0;  // 0: the file system does not tell
    bool operator==(const Identity&) const = default;
  };
  struct Found {
    Identity identity;
    std::uint64_t size = 0;
    bool regular = false;
  };
  [[nodiscard]] static bool find(const std::filesystem::path& path, int fd, Found& found);
  struct File : Part {
    Identity identity;
    std::filesystem::path path;
  };

  std::filesystem::path file_;
  std::vector<File> files_;
  std::string problem_;
};

}  // namespace assay::live
