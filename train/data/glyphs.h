#pragma once

#include "train/data/image_set.h"

namespace assay::train::data {

/// Ten shapes, each 32×32×3 with its own position, size, rotation, colors and noise, drawn on
/// demand; larger ones on request. More than ten classes are numbers written with these shapes as
/// digits, side by side (at most 1,000, in images with 32 pixels per digit). Exactly round(size ·
/// label_noise) labels of each split are wrong, evenly over the other classes, and nothing in an
/// image shows which: no model can expect more than 1 minus that fraction. docs/data.md describes
/// how they are made.
[[nodiscard]] ImageSet open_glyphs(const ImageSetOptions& options);

}  // namespace assay::train::data
