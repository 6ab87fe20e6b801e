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

/// The newest output of a rank that has not been sent: bounded, whatever the rank prints.
class LiveOutput {
 public:
  /// 0: nothing is kept.
  explicit LiveOutput(std::size_t most) : most_(most) {}

  void append(std::string_view bytes);
  /// What there is, in whole lines: the rest of a line waits for its end until the next call. What
  /// did not fit is skipped, the oldest first. Nothing: there is nothing new.
  [[nodiscard]] std::optional<LivePiece> take();

 private:
  std::size_t most_;
  std::string data_;
  std::uint64_t skipped_ = 0;
  bool waited_ = false;  // the rest of a line was there at the last call
};

/// A file that this process appends to, read as far as it is new.
class LiveFile {
 public:
  explicit LiveFile(std::filesystem::path path) : path_(std::move(path)) {}
  /// Whole lines, at most `most` bytes of them; empty: nothing new.
  [[nodiscard]] std::string take(std::size_t most);

 private:
  std::filesystem::path path_;
  std::uint64_t read_ = 0;
};

}  // namespace assay::agent
