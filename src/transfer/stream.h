#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/time.h"

namespace assay::transfer {

// A folder as a single stream of bytes, for any pipe. Everything before the line {"begin": true} is
// ignored, because a login shell may print a banner. Each file has a JSON header line,
//
//   {"path": "rank0.out.log", "size": 1048576, "offset": 0}
//
// and then bytes [offset, size) as zstd frames of up to kPiece bytes, each with its checksum (XXH64
// of the content). After the last file comes {"end": true, "files": 3}, with "left_out": {"files":
// 1, "bytes": 3221225472, "names": ["junk.bin"]} if not all of the folder was sent. A receiver
// writes a piece only once its checksum is right, so what it has is correct, and it asks only for
// the rest.
inline constexpr std::size_t kPiece = std::size_t{1} << 20;

/// The number of bytes that a receiver has of each file; `path` is relative to the folder.
using Have = std::map<std::string, std::uint64_t>;

/// Sizes of the regular files below `folder`; empty if it does not exist.
[[nodiscard]] Have list_files(const std::filesystem::path& folder);

/// Files that are not sent.
struct LeftOut {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> names{};  ///< the first few
};

/// A node folder's files in sending order.
struct Sending {
  std::vector<std::string> names{};
  LeftOut left_out{};
};

/// Evidence (run_layout.h) goes first, then the files that ranks left beside it, as far as they fit
/// into `most` bytes together: their nature is unknown, and they might fill the disk before the
/// evidence arrives. An evidence file that is larger than any that an agent writes with this output
/// limit is treated like them. Pure; the same for any part that is sent again.
[[nodiscard]] Sending plan_sending(const Have& files, std::uint64_t most);

/// Writes the regular files below `folder` that `have` lacks to `fd`, in plan_sending()'s order. A
/// file that grows meanwhile is sent up to its initial size. Blocks, but gives up if the reader
/// takes nothing for `silence`; makes `fd` non-blocking. Throws Error of kind environment.
void send_folder(const std::filesystem::path& folder, const Have& have, int fd,
                 std::uint64_t most = UINT64_MAX, Nanoseconds silence = std::chrono::seconds(60));

/// Received data cannot be written here, which is this machine's fault, not the sender's.
class NotWritten : public Error {
 public:
  explicit NotWritten(const Error& cause) : Error(cause) {}
};

/// Reads such a stream in pieces of any size into a folder. Uses constant memory.
class Receiver {
 public:
  /// Creates `folder` when the first file comes.
  explicit Receiver(std::filesystem::path folder);
  ~Receiver();
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  /// Throws Error of kind environment if the bytes are not such a stream (more than 4 MiB before
  /// its begin, a wrong checksum, a path outside the folder, an offset that does not fit), and
  /// NotWritten if a file cannot be written. What was received before stays.
  void feed(std::string_view bytes);
  /// Whether the end was announced, so that nothing is missing.
  [[nodiscard]] bool complete() const noexcept;
  [[nodiscard]] std::uint64_t files() const noexcept;
  /// The files that the sender left out; known once complete.
  [[nodiscard]] const LeftOut& left_out() const noexcept;
  /// The bytes of content so far, uncompressed.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::transfer
