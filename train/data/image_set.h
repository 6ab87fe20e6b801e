#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/data/source.h"

namespace assay::train::data {

/// The best accuracy that any model can reach on the evaluation split, and the reason.
struct BestAccuracy {
  double value = 0;  ///< 0…1
  std::string how;   ///< one sentence
};

struct ImageSetInfo {
  std::string name;
  std::int64_t classes = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  /// Mean and deviation of every channel, for pixels scaled to 0…1; the first `channels` entries
  /// are used. The trainer normalizes on the device: (pixel / 255 - mean) / std.
  std::array<float, 3> mean{};
  std::array<float, 3> std{};
  std::int64_t train_size = 0;
  std::int64_t eval_size = 0;
  std::optional<BestAccuracy> best_accuracy;
};

/// `done` of `total` units (bytes or files) are indexed; called from the thread that opens the set.
using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

struct ImageSetOptions {
  /// "glyphs" (generated), "cifar10", "mnist", "folder" or "tfrecord".
  std::string set = "glyphs";
  /// The folder with the files; not for glyphs.
  std::filesystem::path path;
  /// Seed of the generated set; each seed gives a different set.
  std::uint64_t seed = 1;
  /// Samples of the generated set; 0 means the default (8,192 and 2,000).
  std::int64_t train_size = 0;
  std::int64_t eval_size = 0;
  /// Height and width of glyphs: a multiple of 32.
  std::int64_t glyph_size = 32;
  /// Fraction of glyphs' labels that are wrong, 0…0.5.
  double label_noise = 0.05;
  /// The required number of classes; 0 accepts any. "tfrecord" needs it (its files do not contain
  /// it) and uses 1000 for 0. glyphs makes as many as requested, 10 for 0.
  std::int64_t classes = 0;
  /// For "tfrecord": the label of the first class; ImageNet's files count from 1.
  std::int64_t label_base = 1;
  /// Height and width of the samples of "folder" and "tfrecord".
  std::int64_t image_size = 224;
  /// Random crop and flip in training. If off, training samples are made like evaluation's.
  bool augment = true;
  /// Damaged JPEGs are replaced by the next good one until more than this fraction of the split's
  /// samples (but at least one sample) is damaged; reading is then an error that names them.
  double max_damaged = 0.01;
  Progress progress;
};

struct ImageSet {
  ImageSetInfo info;
  std::shared_ptr<const ImageSource> train;
  std::shared_ptr<const ImageSource> eval;
};

/// Opens a set: reads headers, indexes files, checks everything possible without decoding. Throws
/// Error of kind config for invalid options, of kind environment for missing, unreadable or wrong
/// files.
[[nodiscard]] ImageSet open_image_set(const ImageSetOptions& options);

/// The valid names for `set`.
[[nodiscard]] const std::vector<std::string>& image_set_names();

}  // namespace assay::train::data
