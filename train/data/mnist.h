#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "train/data/image_set.h"

namespace assay::train::data {

/// An array of bytes in MNIST's idx format.
struct IdxArray {
  std::vector<std::int64_t> sizes;     ///< of every dimension, at least 1 each
  std::span<const std::uint8_t> data;  ///< view of the file; size is the product of the sizes
};

/// Throws Error of kind environment at `where` unless `file` is an idx file of unsigned bytes with
/// `dimensions` dimensions and exactly the data that its header declares.
[[nodiscard]] IdxArray parse_idx(std::span<const std::uint8_t> file, std::size_t dimensions,
                                 const std::string& where);

/// {train,t10k}-{images-idx3,labels-idx1}-ubyte in options.path (or its MNIST/raw); also for
/// Fashion-MNIST and other sets of that form with up to 256 classes.
[[nodiscard]] ImageSet open_mnist(const ImageSetOptions& options);

}  // namespace assay::train::data
