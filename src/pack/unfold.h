#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/sha256.h"
#include "pack/contents.h"
#include "pack/packed_run.h"

namespace assay::pack {

/// Receives the files' content, one file after another.
class FileSink {
 public:
  virtual ~FileSink() = default;
  /// Begins the list's next file.
  virtual void begin(const PackedFile& file) = 0;
  virtual void append(std::string_view bytes) = 0;
  virtual void end() = 0;
};

/// Splits a packed run's stream after its head into content and hashes. Pure except for the sink.
class Unfolder {
 public:
  /// `sink` may be null.
  Unfolder(Contents contents, FileSink* sink);
  /// Handles the next bytes of the stream.
  void feed(std::string_view bytes);
  /// Skips this many unknown bytes.
  void skip(std::uint64_t count);
  /// Ends the stream. `whole`: no part is known to be missing.
  [[nodiscard]] Check finish(bool whole);
  /// Bytes of content so far.
  [[nodiscard]] std::uint64_t done() const noexcept { return done_; }

 private:
  void begin_files();
  void end_file();
  void take_content(std::string_view bytes, std::uint64_t count);
  void take_tail(std::string_view bytes, std::uint64_t count);
  void take(std::string_view bytes, std::uint64_t count);

  Contents contents_;
  FileSink* sink_;
  std::vector<std::string> found_;          // hashes of complete files
  std::vector<std::optional<Flaw>> flaws_;  // by file
  std::size_t file_ = 0;                    // index of the file receiving content
  std::uint64_t at_ = 0;                    // within that file
  bool begun_ = false;
  Sha256 hash_;
  std::uint64_t done_ = 0;
  std::string tail_;  // unknown bytes are NUL
  std::uint64_t extra_ = 0;
};

}  // namespace assay::pack
