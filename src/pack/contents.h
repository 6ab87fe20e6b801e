#pragma once

#include <string>
#include <string_view>

#include "pack/packed_run.h"

namespace assay::pack {

// The text before the files' content:
//
//     assay pack 1
//     run <run id>
//     files <how many>
//     <bytes> <path>        for every file, sorted by path
//
// and after it:
//
//     <sha256>              for every file, in the same order
//     end
//
// each line with a newline.

inline constexpr std::size_t kMaxHead = std::size_t{64} << 20;
inline constexpr std::size_t kHashLine = 65;  ///< 64 digits and a newline

[[nodiscard]] std::string head_text(const Contents& contents);
[[nodiscard]] std::string tail_text(const Contents& contents);
[[nodiscard]] std::size_t tail_size(const Contents& contents) noexcept;

/// Reads the text before the content from pieces of any size.
class HeadReader {
 public:
  explicit HeadReader(std::string where) : where_(std::move(where)) {}
  /// Returns the number of bytes consumed: all of them unless the head ends within. Throws Error of
  /// kind config at `where` if it is not a head.
  std::size_t feed(std::string_view bytes);
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  [[nodiscard]] const Contents& contents() const noexcept { return contents_; }

 private:
  void take_line(std::string_view line);
  void take_file(std::string_view line);
  void finish();
  [[noreturn]] void not_a_list() const;
  [[noreturn]] void fail(const std::string& what, const std::string& advice = {}) const;

  std::string where_;
  std::string line_;  // an incomplete line
  std::size_t lines_ = 0;
  std::size_t taken_ = 0;
  std::size_t expected_ = 0;  // files
  std::uint64_t total_ = 0;   // total size of the files so far
  bool complete_ = false;
  Contents contents_;
};

}  // namespace assay::pack
