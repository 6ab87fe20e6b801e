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

/// A file of events as TensorBoard reads it: records as in TFRecord, each a protocol buffer Event
/// with a Summary of scalars. Nothing is written before flush(). One thread.
class EventFile {
 public:
  /// `file` is made anew with the first flush(), and its folder with it. TensorBoard takes files
  /// with "tfevents" in their names. `at` is in Unix seconds, as everywhere here.
  EventFile(std::filesystem::path file, double at);

  void add(double at, std::int64_t step, std::span<const Scalar> scalars);

  /// Appends what was added since. Throws Error of kind environment where that fails; the next one
  /// tries again in the same place, so that the file never has a torn record in its middle.
  void flush();

 private:
  std::filesystem::path file_;
  std::string pending_;
  std::uint64_t written_ = 0;
};

/// One record of a TFRecord file: length, checksum, data, checksum.
[[nodiscard]] std::string tf_record(std::string_view data);

}  // namespace assay::tensorboard
