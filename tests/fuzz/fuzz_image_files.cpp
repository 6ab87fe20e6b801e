// Any bytes as an idx or CIFAR-10 file or as a JPEG: an Error or a result that fits, no crash.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "core/error.h"
#include "train/data/cifar.h"
#include "train/data/jpeg_sample.h"
#include "train/data/mnist.h"

namespace {

using namespace assay::train::data;

void idx(const std::vector<std::uint8_t>& bytes, std::size_t dimensions) {
  try {
    const IdxArray array = parse_idx(bytes, dimensions, "fuzz");
    std::size_t total = 1;
    for (const std::int64_t size : array.sizes) total *= static_cast<std::size_t>(size);
    if (array.sizes.size() != dimensions || array.data.size() != total) std::abort();
  } catch (const assay::Error&) {
  }
}

void cifar(const std::vector<std::uint8_t>& bytes) {
  MemoryImages images;
  try {
    append_cifar10(bytes, "fuzz", images);
    if (images.pixels.size() != images.labels.size() * 3072) std::abort();
  } catch (const assay::Error&) {
  }
}

void jpeg(const std::vector<std::uint8_t>& bytes) {
  static JpegSampler sampler;
  static std::vector<std::uint8_t> out(16 * 16 * 3);
  Random random(bytes.size());
  static_cast<void>(sampler.make(bytes, 16, &random, out.data()));
  static_cast<void>(sampler.make(bytes, 16, nullptr, out.data()));
}

}  // namespace

// The first byte chooses the format.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<std::uint8_t> bytes(data + 1, data + size);
  switch (data[0] % 4) {
    case 0:
      idx(bytes, 1);
      break;
    case 1:
      idx(bytes, 3);
      break;
    case 2:
      cifar(bytes);
      break;
    default:
      jpeg(bytes);
      break;
  }
  return 0;
}
