#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/data/image_set.h"

namespace assay::train::data {

/// Where a record's data lies in its file.
struct RecordPlace {
  std::int64_t offset = 0;
  std::int64_t size = 0;
};

/// The records of a TFRecord file, from their headers alone (the checksum of every length is
/// checked, the data is not read). Throws Error of kind environment that names file and byte.
[[nodiscard]] std::vector<RecordPlace> index_tfrecord(const std::string& path);

/// tf.Example records with image/encoded (JPEG) and image/class/label, in the files below
/// options.path whose names begin with "train", and "val" or "validation"; or all files of the
/// folders train/ and val/ or validation/.
[[nodiscard]] ImageSet open_tfrecord(const ImageSetOptions& options);

}  // namespace assay::train::data
