#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"

namespace assay::pack {

// A stream of bytes in pieces of up to kPieceBytes, each a zstd frame with its size and checksum,
// followed by the table of Zstandard's seekable format, which locates the pieces after a damaged
// one. 'zstd -d' can also read it.

inline constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

/// Compresses on its own threads, writes on the caller's.
class PieceWriter {
 public:
  /// `out` must be open for writing and outlive this. `path` is for errors.
  PieceWriter(int out, std::filesystem::path path, int threads);
  ~PieceWriter();
  PieceWriter(const PieceWriter&) = delete;
  PieceWriter& operator=(const PieceWriter&) = delete;

  /// Throws Error of kind environment if writing fails.
  void append(std::string_view bytes);
  /// Ends the piece here if it holds at least `least` bytes: damage stays within a piece.
  void end_piece(std::size_t least);
  /// Writes the last piece and the table; returns the total number of bytes written.
  std::uint64_t finish();

 private:
  struct Packed {
    std::string bytes;
    std::uint32_t size = 0;  // uncompressed
  };
  struct Entry {
    std::uint32_t packed = 0;
    std::uint32_t size = 0;
  };
  static Packed compress(std::string piece);
  void start();
  void write_one();

  int out_;
  std::filesystem::path path_;
  std::size_t ahead_;
  std::string piece_;
  std::deque<std::future<Packed>> packing_;
  std::vector<Entry> table_;
  std::uint64_t written_ = 0;
};

/// Reads pieces in order and decompresses ahead on its own threads.
class PieceReader {
 public:
  /// Throws Error of kind environment if the file cannot be read.
  PieceReader(const std::filesystem::path& file, int threads);
  ~PieceReader();
  PieceReader(const PieceReader&) = delete;
  PieceReader& operator=(const PieceReader&) = delete;

  struct Piece {
    std::size_t size = 0;                ///< of its content
    std::optional<std::string> bytes{};  ///< nothing if it is damaged
  };
  /// Returns nothing at the end.
  [[nodiscard]] std::optional<Piece> next();
  /// Whether all of the file's bytes belong to pieces or their table.
  [[nodiscard]] bool whole() const noexcept { return whole_; }
  [[nodiscard]] std::uint64_t file_bytes() const noexcept { return file_bytes_; }

 private:
  struct Frame {
    std::uint64_t at = 0;
    std::size_t packed = 0;
    std::size_t size = 0;
  };
  bool read_table();
  void walk();
  [[nodiscard]] std::string read_at(std::uint64_t at, std::size_t size) const;
  [[nodiscard]] Piece decompress(const Frame& frame) const;

  std::filesystem::path path_;
  UniqueFd file_;
  std::uint64_t file_bytes_ = 0;
  bool whole_ = false;
  std::size_t ahead_;
  std::vector<Frame> frames_;
  std::size_t started_ = 0;
  std::deque<std::future<Piece>> unpacking_;
};

}  // namespace assay::pack
