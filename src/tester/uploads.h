#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>

#include "tester/manifest.h"

namespace assay::tester {

/// The evidence on the disk: DATA/tests/<id>/files/<n> for a file that is whole and whose hash was
/// checked, <n>.part for one that is still arriving. A .part file is the only state of an upload,
/// so that a server that was killed continues with it. Thread-safe.
class Uploads {
 public:
  explicit Uploads(std::filesystem::path data);

  [[nodiscard]] std::filesystem::path folder(const std::string& id) const;

  /// How many bytes of the file have arrived.
  [[nodiscard]] std::uint64_t received(const std::string& id, std::int64_t n,
                                       const ManifestFile& file);

  /// Appends `part` at `offset`, and returns how many bytes have arrived then; they are on the
  /// disk. Throws Refusal: 409 with "received" when the offset is another, 413 when the file would
  /// be longer than it was declared, 422 when it is whole but its hash is wrong: it then begins
  /// again; 507 when the disk is full.
  std::uint64_t append(const std::string& id, std::int64_t n, const ManifestFile& file,
                       std::uint64_t offset, const std::string& part);

  /// Makes DATA/tests/<id>/work with the evidence (links, not copies) under its own names, and
  /// nothing that a judge would compute. Throws Refusal 409 "incomplete" with the first missing
  /// file.
  [[nodiscard]] std::filesystem::path make_work_folder(const std::string& id,
                                                       const Manifest& manifest);

  /// Removes all files of a test, or only what is no longer needed of a finished one.
  void remove(const std::string& id);
  void remove_work(const std::string& id);
  void remove_evidence(const std::string& id);

 private:
  /// received() with the file's lock held; checks a file that is complete and gives it its name.
  [[nodiscard]] std::uint64_t received_locked(const std::string& id, std::int64_t n,
                                              const ManifestFile& file);
  /// Where the file is once it is complete.
  [[nodiscard]] std::filesystem::path file_path(const std::string& id, std::int64_t n) const;
  [[nodiscard]] std::mutex& lock_of(const std::string& id, std::int64_t n) const;

  std::filesystem::path data_;
  mutable std::array<std::mutex, 64> locks_;  // a file has one of them, by its hash
};

/// The content of a zstd stream of at most `max` bytes; a Refusal 413 when it has more, 400 when
/// it is not valid. Memory does not depend on the sizes that the stream claims.
[[nodiscard]] std::string unpack_zstd(const std::string& packed, std::size_t max);

}  // namespace assay::tester
