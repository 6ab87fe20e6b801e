#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

#include "tester/manifest.h"

namespace assay::tester {

/// The evidence on disk: DATA/tests/<id>/files/<n> is a complete file with a verified hash,
/// <n>.part one that is still arriving. A .part file is an upload's only state, so a killed server
/// continues with it. Thread-safe.
class Uploads {
 public:
  explicit Uploads(std::filesystem::path data);

  [[nodiscard]] std::filesystem::path folder(const std::string& id) const;

  /// How many bytes of the file have arrived.
  [[nodiscard]] std::uint64_t received(const std::string& id, std::int64_t n,
                                       const ManifestFile& file);

  /// Appends `part` at `offset`, and returns the number of bytes received, which are on disk.
  /// Throws Refusal: 409 with "received" if the offset is wrong, 413 if the file would be longer
  /// than declared, 422 if it is complete but its hash is wrong (it then starts over), 507 if the
  /// disk is full.
  std::uint64_t append(const std::string& id, std::int64_t n, const ManifestFile& file,
                       std::uint64_t offset, const std::string& part);

  /// Creates DATA/tests/<id>/work with the evidence (links, not copies) under its own names, and
  /// nothing that a judge would compute. Throws Refusal 409 "incomplete" with the first missing
  /// file.
  [[nodiscard]] std::filesystem::path make_work_folder(const std::string& id,
                                                       const Manifest& manifest);

  /// Remove all files of a test, or only those that a finished one no longer needs.
  void remove(const std::string& id);
  void remove_work(const std::string& id);
  void remove_evidence(const std::string& id);

 private:
  /// received() with the file's lock held; verifies and renames a complete file.
  [[nodiscard]] std::uint64_t received_locked(const std::string& id, std::int64_t n,
                                              const ManifestFile& file);
  /// The path of a complete file.
  [[nodiscard]] std::filesystem::path file_path(const std::string& id, std::int64_t n) const;
  [[nodiscard]] std::mutex& lock_of(const std::string& id, std::int64_t n) const;

  std::filesystem::path data_;
  mutable std::array<std::mutex, 64> locks_;  // each file uses one of them, by its hash
};

/// Decompresses a zstd stream of at most `max` bytes; Refusal 413 if it has more, 400 if it is
/// invalid. Memory use does not depend on sizes claimed by the stream.
[[nodiscard]] std::string unpack_zstd(const std::string& packed, std::size_t max);

}  // namespace assay::tester
