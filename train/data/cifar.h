#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "train/data/image_set.h"
#include "train/data/memory_images.h"

namespace assay::train::data {

/// Appends the records of a file in CIFAR-10's binary version (a label, then 32×32 red, green and
/// blue). Throws Error of kind environment at `where` if its size or a label is invalid.
void append_cifar10(std::span<const std::uint8_t> file, const std::string& where,
                    MemoryImages& images);

/// data_batch_1…5.bin and test_batch.bin, in options.path or its subfolder cifar-10-batches-bin.
[[nodiscard]] ImageSet open_cifar10(const ImageSetOptions& options);

}  // namespace assay::train::data
