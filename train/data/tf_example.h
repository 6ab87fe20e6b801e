#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace assay::train::data {

/// An image's tf.Example: the first values of "image/encoded" and "image/class/label".
struct ImageExample {
  std::span<const std::uint8_t> encoded;  ///< into the message
  std::optional<std::int64_t> label;
};

/// Reads the two required features from a serialized tf.Example. Any bytes are safe: returns false,
/// with the reason in `error`, if this is not a well-formed message or a feature has the wrong
/// type. An absent feature stays empty. Allocates nothing unless it fails.
[[nodiscard]] bool parse_image_example(std::span<const std::uint8_t> message, ImageExample& example,
                                       std::string& error);

}  // namespace assay::train::data
