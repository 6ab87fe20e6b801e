#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/time.h"

namespace assay::transfer {

// A folder as one stream of bytes, for any pipe. Everything before the line {"begin": true} is
// ignored: a login shell may print a banner. Each file has a header line of JSON,
//
//   {"path": "rank0.out.log", "size": 1048576, "offset": 0}
//
// and then bytes [offset, size) as zstd frames of up to kPiece bytes, each with its checksum (XXH64
// of the content). After the last file comes {"end": true, "files": 3}. A receiver writes a piece
// once its checksum is right; so what it has of a file is right, and it asks only for the rest.
inline constexpr std::size_t kPiece = std::size_t{1} << 20;

/// The bytes that a receiver has of each file; `path` is relative to the folder.
using Have = std::map<std::string, std::uint64_t>;

/// Sizes of the regular files below `folder`; empty when it does not exist.
[[nodiscard]] Have list_files(const std::filesystem::path& folder);

/// Writes the regular files below `folder` that `have` lacks to `fd`, sorted by path. A file that
/// grows meanwhile is sent up to the size it had. Blocks, but gives up when the reader takes no
/// byte for `silence`; `fd` is made non-blocking. Throws Error of kind environment.
void send_folder(const std::filesystem::path& folder, const Have& have, int fd,
                 Nanoseconds silence = std::chrono::seconds(60));

/// Reads such a stream, in pieces of any size, into a folder. Memory is constant.
class Receiver {
 public:
  /// Creates `folder` when the first file comes.
  explicit Receiver(std::filesystem::path folder);
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  /// Throws Error of kind environment for bytes that are not such a stream (more than 64 KiB before
  /// its begin, a wrong checksum, a path that leaves the folder, an offset that does not fit) or
  /// when a file cannot be written. What was received before stays.
  void feed(std::string_view bytes);
  /// Whether the end was announced: nothing is missing.
  [[nodiscard]] bool complete() const noexcept;
  [[nodiscard]] std::uint64_t files() const noexcept;
  /// The bytes of content so far, uncompressed.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::transfer
