#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/error.h"
#include "train/data/source.h"

namespace assay::train::data::testing {

/// An RGB picture with soft structure, different for every seed.
[[nodiscard]] std::vector<std::uint8_t> picture(std::int64_t width, std::int64_t height,
                                                std::uint64_t seed);

struct JpegStyle {
  int quality = 90;
  int channels = 3;  ///< of the pixels given: 1 grey, 3 RGB, 4 CMYK (inverted, as Adobe's)
  bool progressive = false;
  bool subsampled = true;  ///< 4:2:0, else 4:4:4
};
/// The bytes of a JPEG file.
[[nodiscard]] std::string encode_jpeg(const std::vector<std::uint8_t>& pixels, std::int64_t width,
                                      std::int64_t height, const JpegStyle& style = {});

void write(const std::filesystem::path& path, const std::string& content);

/// The Error that `action` throws; a test failure if it throws none.
[[nodiscard]] Error error_of(const std::function<void()>& action);

/// Label and first pixel of a sample are its index; `before` runs ahead of every sample.
class CountingSource final : public ImageSource {
 public:
  explicit CountingSource(std::int64_t samples,
                          std::function<void(const SampleKey&)> before = nullptr)
      : samples_(samples), before_(std::move(before)) {}
  [[nodiscard]] std::int64_t size() const noexcept override { return samples_; }
  [[nodiscard]] ImageBatch::Shape shape() const noexcept override { return {2, 2, 3}; }
  [[nodiscard]] std::unique_ptr<Reader<ImageBatch>> make_reader() const override;

 private:
  std::int64_t samples_;
  std::function<void(const SampleKey&)> before_;
};

/// Runs a Python script with Pillow; false when there is no such Python.
[[nodiscard]] bool have_pillow();
void run_python(const std::string& script, const std::vector<std::string>& arguments);

}  // namespace assay::train::data::testing
