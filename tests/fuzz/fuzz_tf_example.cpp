// Any bytes as a tf.Example: no crash, and what is found lies within the bytes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "train/data/tf_example.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> copy(data, data + size);  // so that reading beyond it is seen
  assay::train::data::ImageExample example;
  std::string error;
  const bool read = assay::train::data::parse_image_example(copy, example, error);
  if (read != error.empty()) std::abort();
  if (read && !example.encoded.empty()) {
    const std::uint8_t* const begin = example.encoded.data();
    if (begin < copy.data() || begin + example.encoded.size() > copy.data() + copy.size())
      std::abort();
  }
  return 0;
}
