#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace assay::agent {

/// A piece of output for onlookers.
struct LivePiece {
  std::string data;
  std::uint64_t skipped_bytes = 0;  ///< before `data`
};

/// The newest unsent output of a rank; bounded, whatever the rank prints.
class LiveOutput {
 public:
  /// 0 keeps nothing.
  explicit LiveOutput(std::size_t most) : most_(most) {}

  void append(std::string_view bytes);
  /// Takes whole lines; the rest of a line waits for its end until the next call. Output that did
  /// not fit is skipped, oldest first. Returns nothing when there is nothing new.
  [[nodiscard]] std::optional<LivePiece> take();

 private:
  std::size_t most_;
  std::string data_;
  std::uint64_t skipped_ = 0;
  bool waited_ = false;  // the last call left the rest of a line
};

/// Reads the new part of a file that this process appends to.
class LiveFile {
 public:
  explicit LiveFile(std::filesystem::path path) : path_(std::move(path)) {}
  /// At most `most` bytes of whole lines; empty when nothing is new.
  [[nodiscard]] std::string take(std::size_t most);

 private:
  std::filesystem::path path_;
  std::uint64_t read_ = 0;
};

}  // namespace assay::agent
