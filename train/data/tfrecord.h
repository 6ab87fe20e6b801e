#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/data/image_set.h"

namespace assay::train::data {

/// The place of a record's data in its file.
struct RecordPlace {
  std::int64_t offset = 0;
  std::int64_t size = 0;
};

/// The records of a TFRecord file, from their headers alone (verifies the checksum of every length,
/// does not read the data). Throws Error of kind environment that names file and byte.
[[nodiscard]] std::vector<RecordPlace> index_tfrecord(const std::string& path);

/// tf.Example records with image/encoded (JPEG) and image/class/label, in the files below
/// options.path whose names begin with "train", and with "val" or "validation"; or in all files of
/// the folders train/ and val/ or validation/.
[[nodiscard]] ImageSet open_tfrecord(const ImageSetOptions& options);

}  // namespace assay::train::data
