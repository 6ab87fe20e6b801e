#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace assay::tensorboard {

struct Scalar {
  std::string_view tag;
  double value = 0;
};

/// A TensorBoard event file: records as in TFRecord, each a protocol buffer Event with a Summary of
/// scalars. Nothing is written before flush(). Single-threaded.
class EventFile {
 public:
  /// The first flush() replaces `file` and creates its folder. TensorBoard reads files with
  /// "tfevents" in their names. `at` is in Unix seconds, like all times here.
  EventFile(std::filesystem::path file, double at);

  void add(double at, std::int64_t step, std::span<const Scalar> scalars);

  /// Appends what was added since the last call. Throws Error of kind environment on failure; the
  /// next call tries again in the same place, so the file never has a torn record in the middle.
  void flush();

 private:
  std::filesystem::path file_;
  std::string pending_;
  std::uint64_t written_ = 0;
};

/// A record of a TFRecord file: length, checksum, data, checksum.
[[nodiscard]] std::string tf_record(std::string_view data);

}  // namespace assay::tensorboard
