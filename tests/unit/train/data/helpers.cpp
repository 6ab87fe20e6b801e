#include "unit/train/data/helpers.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <jpeglib.h>

#include "core/text.h"
#include "needs.h"
#include "train/data/random.h"

namespace assay::train::data::testing {

std::vector<std::uint8_t> picture(std::int64_t width, std::int64_t height, std::uint64_t seed) {
  Random random(seed, 77);
  double wave[3][3];
  for (auto& channel : wave)
    for (double& parameter : channel) parameter = random.uniform(0.01, 0.15);
  std::vector<std::uint8_t> pixels;
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (const auto& channel : wave)
        pixels.push_back(static_cast<std::uint8_t>(
            127.5 +
            90 * std::sin(channel[0] * static_cast<double>(x) + channel[2] * 50) *
                std::cos(channel[1] * static_cast<double>(y)) +
            random.uniform(-20, 20)));
  return pixels;
}

std::string encode_jpeg(const std::vector<std::uint8_t>& pixels, std::int64_t width,
                        std::int64_t height, const JpegStyle& style) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(width);
  info.image_height = static_cast<JDIMENSION>(height);
  info.input_components = style.channels;
  info.in_color_space = style.channels == 1   ? JCS_GRAYSCALE
                        : style.channels == 3 ? JCS_RGB
                                              : JCS_CMYK;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, style.quality, TRUE);
  if (style.progressive) jpeg_simple_progression(&info);
  if (!style.subsampled) info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
  jpeg_start_compress(&info, TRUE);
  for (std::int64_t y = 0; y < height; ++y) {
    auto* row = const_cast<JSAMPROW>(pixels.data() + y * width * style.channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<const char*>(memory), size);
  std::free(memory);
  return file;
}

void write(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no Error was thrown";
  return Error(ErrorKind::internal, "");
}

namespace {

class CountingReader final : public Reader<ImageBatch> {
 public:
  explicit CountingReader(const std::function<void(const SampleKey&)>& before) : before_(before) {}
  void read(const SampleKey& key, ImageBatch& batch, std::int64_t row) override {
    if (before_) before_(key);
    batch.labels[row] = key.index;
    batch.image(row)[0] = static_cast<std::uint8_t>(key.index);
    batch.image(row)[1] = static_cast<std::uint8_t>(key.epoch);
  }

 private:
  const std::function<void(const SampleKey&)>& before_;
};

}  // namespace

std::unique_ptr<Reader<ImageBatch>> CountingSource::make_reader() const {
  return std::make_unique<CountingReader>(before_);
}

namespace {

const std::string& python_with_pillow() {
  static const std::string python = needs::python_with("PIL");
  return python;
}

}  // namespace

bool have_pillow() {
  return !python_with_pillow().empty();
}

void run_python(const std::string& script, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"timeout", "50", python_with_pillow(), "-c", script};
  command.insert(command.end(), arguments.begin(), arguments.end());
  if (std::system(shell_join(command).c_str()) != 0) throw std::runtime_error("Python failed");
}

}  // namespace assay::train::data::testing
