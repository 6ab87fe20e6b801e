#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace assay::train::data {

/// What an image's tf.Example says: the first value of "image/encoded" and "image/class/label".
struct ImageExample {
  std::span<const std::uint8_t> encoded;  ///< into the message
  std::optional<std::int64_t> label;
};

/// Reads a serialized tf.Example, of which it needs only the two features. Any bytes are
/// safe: false, with the reason in `error`, when this is not a well-formed message or a feature has
/// the wrong type. A feature that is absent is left empty. Allocates nothing unless it fails.
[[nodiscard]] bool parse_image_example(std::span<const std::uint8_t> message, ImageExample& example,
                                       std::string& error);

}  // namespace assay::train::data
