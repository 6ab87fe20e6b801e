#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/protobuf.h"

namespace assay::exports {

/// The log of Weights & Biases' client, a file NAME.wandb: a 7-byte header, then Record messages of
/// wandb_internal.proto as records of LevelDB's log, in blocks of 32 KiB that include the header.
/// Unlike LevelDB's, its checksums are plain CRC-32. The header's version is 0, which wandb reads
/// up to 0.30.0.
class WandbLog {
 public:
  static constexpr std::size_t kBlock = 32U << 10;
  static constexpr std::size_t kHeader = 7;  ///< of the file, and of each part of a record

  /// Replaces `file`; its folder must exist.
  explicit WandbLog(std::filesystem::path file);

  /// Adds a Record with `message` in `field`; records are counted from 1. Throws as finish() does.
  void add(std::uint32_t field, const ProtoMessage& message, const ProtoMessage* control = nullptr);
  void add(std::string_view record);

  /// Writes everything to the file. Throws Error of kind environment if anything could not be
  /// written.
  void finish();

 private:
  enum class Part : std::uint8_t { full = 1, first = 2, middle = 3, last = 4 };
  void put(Part part, std::string_view data);
  void write();
  void must_be_written() const;

  std::filesystem::path file_;
  std::ofstream out_;
  std::string pending_;
  std::uint64_t size_ = 0;
  std::int64_t records_ = 0;
};

}  // namespace assay::exports
